//! A control plane that conformance harnesses drive, over gRPC or by lines on standard input.
//!
//! ```text
//! cargo run -p portolan-testkit --features testbed --bin testbed -- --help
//! ```

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use portolan_testkit::testbed::{HELP, Testbed};
use tokio::sync::mpsc;

/// Serves xDS to tests: what is served is set over gRPC (`adapter.Adapter`), or by lines on standard input.
#[derive(Debug, Parser)]
#[command(name = "testbed", version, after_help = HELP)]
struct Args {
    /// Where to serve xDS; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18000")]
    xds_listen: SocketAddr,
    /// Where to serve the adapter; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:17000")]
    adapter_listen: SocketAddr,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> io::Result<()> {
    let interrupted = interrupted()?;
    let testbed = Testbed::start(args.xds_listen, args.adapter_listen)?;
    say(format_args!("listening xds {}", testbed.xds_address()));
    say(format_args!(
        "listening adapter {}",
        testbed.adapter_address()
    ));
    tokio::select! {
        () = follow(&testbed) => {}
        () = interrupted => {}
    }
    testbed.stop().await
}

/// Answers lines until one asks to end. The end of standard input does not: then there is the adapter, and signals.
async fn follow(testbed: &Testbed) {
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let answer = testbed.answer(&line);
        say(&answer);
        if answer.is_last() {
            return;
        }
    }
    std::future::pending().await
}

/// Lines of standard input. They are read by a thread that the end of the process does not wait for.
fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        while stdin
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line).into_owned();
            if sender.blocking_send(text).is_err() {
                break;
            }
            line.clear();
        }
    });
    receiver
}

/// Whether anybody reads it makes no difference to what is served.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// SIGTERM or ctrl-c. They are listened for from now on, not only once it is polled.
#[cfg(unix)]
fn interrupted() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn interrupted() -> io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
