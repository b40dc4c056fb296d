//! Starts an Envoy.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};

/// A running Envoy, stopped when dropped.
pub(crate) struct Proxy {
    _process: Child,
    _directory: TempDir,
}

pub(crate) fn start(envoy: &Path, bootstrap: &str) -> io::Result<Proxy> {
    let directory = TempDir::with_prefix("portolan-quickstart-")?;
    let file = directory.path().join("envoy.yaml");
    std::fs::write(&file, bootstrap)?;
    let process = Command::new(envoy)
        .arg("-c")
        .arg(&file)
        .args(["--log-level", "warning", "--disable-hot-restart"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", envoy.display())))?;
    println!(
        "started {}; its admin interface is http://127.0.0.1:9901",
        envoy.display()
    );
    Ok(Proxy {
        _process: process,
        _directory: directory,
    })
}
