//! The quickstart as its user meets it: a process, a file, and what it prints.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its fixtures too"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long to wait for a line. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

struct Quickstart {
    process: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Quickstart {
    fn start(config: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_quickstart"))
            .args(["--listen", "127.0.0.1:0", "--demo-client", "--config"])
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let err_sender = sender.clone();
        let out = process.stdout.take().unwrap();
        let err = process.stderr.take().unwrap();
        let forward = |reader: Box<dyn BufRead + Send>, sender: std::sync::mpsc::Sender<String>| {
            std::thread::spawn(move || {
                for line in reader.lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        };
        forward(Box::new(BufReader::new(out)), sender);
        forward(Box::new(BufReader::new(err)), err_sender);
        Self {
            process,
            lines,
            seen: Vec::new(),
        }
    }

    /// Waits for a line that contains `text`.
    fn expect(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no line with {text:?} among:\n{}", self.seen.join("\n"));
                }
            }
        }
    }

    fn interrupt(mut self) -> ExitStatus {
        let pid = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.process.try_wait().unwrap() {
                Some(status) => return status,
                None if Instant::now() > deadline => panic!("it does not stop"),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

impl Drop for Quickstart {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn config(directory: &TempDir, services: &str) -> PathBuf {
    let path = directory.path().join("services.yaml");
    std::fs::write(&path, services).unwrap();
    path
}

const SERVICES: &str = "\
listener: { port: 10000 }
services:
- name: web
  endpoints: [\"127.0.0.1:9001\"]
routes:
- { prefix: /, service: web }
";

#[test]
fn it_serves_a_file_follows_it_refuses_what_makes_no_sense_and_stops() {
    let directory = TempDir::new().unwrap();
    let path = config(&directory, SERVICES);
    let mut quickstart = Quickstart::start(&path);
    let serving = quickstart.expect("serving xDS on 127.0.0.1:");
    assert!(!serving.ends_with(":0"), "{serving}");
    quickstart.expect("demo-client connected from");
    quickstart.expect("demo client got CDS");
    quickstart.expect("web at version");
    quickstart.expect("demo client got RDS");

    config(&directory, &SERVICES.replace("9001", "9002"));
    quickstart.expect("demo client got EDS");

    config(
        &directory,
        &SERVICES.replace("service: web", "service: wbe"),
    );
    let refusal = quickstart.expect("refused");
    assert!(
        refusal.contains("services.yaml:6") && refusal.contains("\"wbe\""),
        "{refusal}"
    );

    let two = SERVICES.replace(
        "routes:",
        "- name: api\n  endpoints: [\"127.0.0.1:9003\"]\nroutes:",
    );
    config(&directory, &two);
    quickstart.expect("demo client got CDS");
    quickstart.expect("api at version");
    let refusals = quickstart
        .seen
        .iter()
        .filter(|line| line.contains("refused"));
    assert_eq!(refusals.count(), 1, "{:?}", quickstart.seen);

    let status = quickstart.interrupt();
    assert!(status.success(), "{status}");
}

#[test]
fn a_file_that_makes_no_sense_is_an_error_at_the_start() {
    let directory = TempDir::new().unwrap();
    let path = config(&directory, &SERVICES.replace("port: 10000", "prot: 10000"));
    let output = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("services.yaml:1") && text.contains("prot"),
        "{text}"
    );
}
