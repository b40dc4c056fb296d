//! An example as its user meets it: a process, and what it prints.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for a line, or for the end. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Program {
    process: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Program {
    pub(crate) fn start<S: AsRef<OsStr>>(path: &str, args: impl IntoIterator<Item = S>) -> Self {
        let mut process = Command::new(path)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        forward(process.stderr.take().unwrap(), sender.clone());
        forward(process.stdout.take().unwrap(), sender);
        Self {
            process,
            lines,
            seen: Vec::new(),
        }
    }

    /// Waits for a line that contains `text`.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.next_line(deadline) {
                Some(line) if line.contains(text) => return line,
                Some(_) => {}
                None => panic!("no line with {text:?} among:\n{}", self.seen.join("\n")),
            }
        }
    }

    /// What it has printed, as far as it was read.
    pub(crate) fn seen(&self) -> &[String] {
        &self.seen
    }

    /// Presses Ctrl-C, and waits for an end without complaint.
    pub(crate) fn interrupt(self) {
        let pid = self.process.id().to_string();
        let kill = Command::new("kill").args(["-INT", &pid]).status();
        assert!(kill.unwrap().success());
        self.finish();
    }

    /// Waits for an end without complaint; gives all that was printed.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        while self.next_line(deadline).is_some() {}
        while self.process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not stop");
            thread::sleep(Duration::from_millis(5));
        }
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}:\n{}", self.seen.join("\n"));
        std::mem::take(&mut self.seen)
    }

    /// `None` at the end of the output and of patience.
    fn next_line(&mut self, deadline: Instant) -> Option<String> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => {
                self.seen.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn forward(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let _ = to.send(line);
        }
    });
}
