//! Gate: a real Envoy under load loses no request while its configuration changes, and a loss would be seen. And, on
//! demand, what it loses in every scenario, beside another control plane.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::ci::Outcome;
use crate::interop;
use crate::workspace::{Workspace, capture, succeed};

/// What the program ends with when this machine is too busy for its answer to mean anything.
const CANNOT_TELL: i32 = 3;

/// Requests in a second, less than by default: other programs run where this does.
const RATE: &str = "400";

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let status = program(workspace)?
        .args(["--gate", "--rate", RATE])
        .status()?;
    match status.code() {
        Some(0) => Ok(Outcome::passed()),
        Some(CANNOT_TELL) => Ok(Outcome::Skipped("could not keep the pace".to_owned())),
        _ => bail!("requests were lost, or none where some must be: see above"),
    }
}

/// Runs all scenarios, or those that the arguments name, and prints a table. Where there is no Go, or its modules cannot
/// be fetched, there is no peer in it.
pub(crate) fn table(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    let mut program = program(workspace)?;
    match peer(workspace) {
        Ok(peer) => {
            program.arg("--peer").arg(peer);
        }
        Err(error) => eprintln!("without go-control-plane beside: {error:#}"),
    }
    succeed(program.args(arguments))
}

fn program(workspace: &Workspace) -> Result<Command> {
    let envoy = interop::envoy(workspace)?;
    let mut cargo = workspace.cargo([
        "run",
        "--quiet",
        "-p",
        "portolan-tests",
        "--bin",
        "traffic",
        "--",
        "--envoy",
    ]);
    cargo.arg(envoy);
    Ok(cargo)
}

/// The path of the program in `benches/peers/go`, built with the versions that its `go.sum` pins.
fn peer(workspace: &Workspace) -> Result<PathBuf> {
    let program = workspace.path("target/peers/go-control-plane");
    let mut go = workspace.command("go");
    go.current_dir(workspace.path("benches/peers/go"))
        .args(["build", "-mod=readonly", "-o"])
        .arg(&program)
        .arg(".");
    capture(&mut go)?;
    Ok(program)
}
