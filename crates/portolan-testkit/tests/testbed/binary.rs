use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::client::{Adapter, CDS, Change, Delta, connect, request};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary as a process of its own, which ends with the test.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_testbed"))
            .args([
                "--xds-listen",
                "127.0.0.1:0",
                "--adapter-listen",
                "127.0.0.1:0",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        line.expect("a line in time").unwrap().expect("a line")
    }

    async fn address(&mut self, what: &str) -> SocketAddr {
        let line = self.line().await;
        let address = line.strip_prefix(what).expect(&line);
        address.parse().unwrap()
    }

    async fn say(&mut self, line: &str) -> String {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).await.unwrap();
        stdin.write_all(b"\n").await.unwrap();
        self.line().await
    }

    async fn ended(&mut self) -> Option<i32> {
        let status = timeout(PATIENCE, self.child.wait()).await;
        status.expect("an end in time").unwrap().code()
    }
}

#[tokio::test]
async fn the_binary_serves_what_both_ways_set_until_it_is_to_quit() {
    let mut process = Process::start();
    let xds = process.address("listening xds ").await;
    let adapter = process.address("listening adapter ").await;

    assert_eq!(process.say("set test-id 1 CDS=A CDS=B").await, "ok");
    let mut client = Delta::open(xds).await;
    client.subscribe(CDS, &["*"]);
    assert_eq!(client.accept(CDS).await, Change::new("1", &["A", "B"], &[]));

    let mut adapter = Adapter::new(connect(adapter).await);
    adapter
        .update_resource(request(CDS, "B", "2"))
        .await
        .unwrap();
    assert_eq!(client.accept(CDS).await, Change::new("2", &["B"], &[]));

    assert_eq!(process.say("quit").await, "ok");
    assert_eq!(process.ended().await, Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn the_end_of_standard_input_ends_nothing_and_a_signal_does() {
    let mut process = Process::start();
    let _ = process.address("listening xds ").await;
    let adapter = process.address("listening adapter ").await;
    drop(process.child.stdin.take());
    // Nothing says that it has noticed. One that ends would do so at once, as nobody is connected.
    let ended = timeout(Duration::from_millis(500), process.child.wait()).await;
    assert!(ended.is_err(), "{ended:?}");

    let mut adapter = Adapter::new(connect(adapter).await);
    let state = crate::client::state("1", [CDS.named("A")]);
    adapter.set_state(state).await.unwrap();

    let id = process.child.id().unwrap().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status().await;
    assert!(killed.unwrap().success());
    assert_eq!(process.ended().await, Some(0));
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let (testbed, _) = crate::client::start().await;
    let taken = testbed.xds_address();
    let output = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .args(["--adapter-listen", "127.0.0.1:0", "--xds-listen"])
        .arg(taken.to_string())
        .stdin(Stdio::null())
        .output();
    let output = timeout(PATIENCE, output).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with(&format!("error: cannot listen at {taken}: ")),
        "{said}"
    );
}
