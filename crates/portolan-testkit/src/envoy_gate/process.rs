//! One run of `envoy --mode validate`.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::EnvoyGateError;

/// How much of Envoy's output is kept: the end, where the reason stands.
const MAX_OUTPUT: usize = 64 * 1024;

/// How much of a reason is kept.
const MAX_REASON: usize = 4 * 1024;

/// What Envoy says to a bootstrap.
pub(super) enum Run {
    Accepted,
    Rejected(String),
}

pub(super) fn run(
    binary: &Path,
    bootstrap: &[u8],
    until: Instant,
    deadline: Duration,
) -> Result<Run, EnvoyGateError> {
    let timed_out = || EnvoyGateError::TimedOut {
        binary: binary.to_owned(),
        deadline,
    };
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(timed_out());
    }
    let directory = tempfile::Builder::new()
        .prefix("portolan-envoy-gate-")
        .tempdir()?;
    let file = directory.path().join("bootstrap.pb");
    std::fs::write(&file, bootstrap)?;
    let started = Command::new(binary)
        .args([
            "--mode",
            "validate",
            "--concurrency",
            "1",
            "--disable-hot-restart",
        ])
        .args(["--log-level", "critical", "--config-path"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut process = started.map_err(|source| EnvoyGateError::Start {
        binary: binary.to_owned(),
        source,
    })?;
    let output = match said(&mut process).recv_timeout(left) {
        Ok(output) => String::from_utf8_lossy(&output).into_owned(),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            process.kill()?;
            process.wait()?;
            return Err(timed_out());
        }
    };
    let status = process.wait()?;
    match status.code() {
        Some(0) => Ok(Run::Accepted),
        Some(1) if output.contains(CANNOT) || output.contains(BROKEN) => {
            Ok(Run::Rejected(reason(&output)))
        }
        _ => Err(EnvoyGateError::Died {
            binary: binary.to_owned(),
            status,
            output: cut(output.trim()).to_owned(),
        }),
    }
}

/// The end of what a process says to standard error, when it has closed it.
fn said(process: &mut Child) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let stderr = process.stderr.take();
    thread::spawn(move || {
        let mut end = VecDeque::new();
        let mut buffer = [0; 8 * 1024];
        if let Some(mut stderr) = stderr {
            loop {
                match stderr.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => end.extend(&buffer[..read]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
                end.drain(..end.len().saturating_sub(MAX_OUTPUT));
            }
        }
        // Nobody waits for it any more where the time was up.
        let _ = sender.send(end.into());
    });
    receiver
}

const CANNOT: &str = "error initializing configuration '";
const BROKEN: &str = ": Proto constraint validation failed";

/// The reason in Envoy's output. Where a rule of the schema is broken, it stands behind a dump of the message.
fn reason(output: &str) -> String {
    let reason = match output.rfind(BROKEN) {
        Some(at) => &output[at + ": ".len()..],
        None => {
            let behind = output
                .split_once(CANNOT)
                .map_or(output, |(_, behind)| behind);
            behind
                .split_once("': ")
                .map_or(behind, |(_, reason)| reason)
        }
    };
    cut(reason.trim()).to_owned()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_REASON);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_follows_the_file_and_the_dump() {
        let plain = "[critical][main] error initializing configuration 'b.pb': route: unknown cluster 'x'\n";
        assert_eq!(reason(plain), "route: unknown cluster 'x'");
        let dump = "error initializing configuration 'b.pb': node {\n  id: \"a: b\"\n}\n: Proto constraint validation failed (A.B: value must be set)\n";
        assert_eq!(
            reason(dump),
            "Proto constraint validation failed (A.B: value must be set)"
        );
        assert_eq!(reason("it broke\n"), "it broke");
        assert_eq!(reason(&"é".repeat(MAX_REASON)).len(), MAX_REASON);
    }
}
