//! A control plane of another make, which is driven by the lines that `docs/testbed.md` lists.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use portolan::core::Snapshot;
use portolan_tests::TestError;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Within what each line is answered.
const SOON: Duration = Duration::from_secs(10);

/// A program that serves one node. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Peer {
    program: PathBuf,
    node: String,
    address: SocketAddr,
    process: Process,
    /// Counts on when the program starts anew: to it, versions say what has changed.
    version: u32,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts on a free port.
    pub(crate) async fn start(program: &Path, node: &str) -> Result<Self, TestError> {
        let (process, address) = Process::start(program, "127.0.0.1:0").await?;
        Ok(Self {
            program: program.to_owned(),
            node: node.to_owned(),
            address,
            process,
            version: 0,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves this from now on.
    pub(crate) async fn publish(&mut self, snapshot: &Snapshot) -> Result<(), TestError> {
        self.version += 1;
        let mut line = format!("give {} {}", self.node, self.version);
        for (type_url, resources) in snapshot.sets() {
            for resource in resources.iter() {
                write!(line, " {type_url}={}=", resource.name())?;
                for byte in resource.body() {
                    write!(line, "{byte:02x}")?;
                }
            }
        }
        self.process.ask(&line).await.map(drop)
    }

    /// Number of open streams.
    pub(crate) async fn streams(&mut self) -> Result<usize, TestError> {
        let line = format!("status {}", self.node);
        let status: Value = serde_json::from_str(&self.process.ask(&line).await?)?;
        let streams = status["streams"].as_array();
        Ok(streams.ok_or("a status without streams")?.len())
    }

    /// Kills the program.
    pub(crate) async fn stop(&mut self) -> Result<(), TestError> {
        Ok(self.process.child.kill().await?)
    }

    /// Starts it again, where it was, with this to serve.
    pub(crate) async fn resume(&mut self, snapshot: &Snapshot) -> Result<(), TestError> {
        let address = self.address.to_string();
        (self.process, self.address) = Process::start(&self.program, &address).await?;
        self.publish(snapshot).await
    }
}

impl Process {
    /// With the address at which it serves.
    async fn start(program: &Path, address: &str) -> Result<(Self, SocketAddr), TestError> {
        let mut child = Command::new(program)
            .args(["--xds-listen", address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut process = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
        };
        let line = process.line().await?;
        let address = line.strip_prefix("listening xds ");
        let address = address.ok_or_else(|| format!("it begins with {line:?}"))?;
        Ok((process, address.parse()?))
    }

    /// Sends a line, and gives what follows the `ok` of its answer.
    async fn ask(&mut self, line: &str) -> Result<String, TestError> {
        self.input.write_all(format!("{line}\n").as_bytes()).await?;
        let answer = self.line().await?;
        match answer.strip_prefix("ok") {
            Some(text) => Ok(text.trim_start().to_owned()),
            None => Err(format!("the peer answers {answer:?}").into()),
        }
    }

    async fn line(&mut self) -> Result<String, TestError> {
        let line = timeout(SOON, self.output.next_line()).await??;
        Ok(line.ok_or("the peer has ended")?)
    }
}
