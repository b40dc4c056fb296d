//! Gate: a real Envoy under load loses no request while its configuration changes, and a loss would be seen.

use anyhow::{Result, bail};

use crate::ci::Outcome;
use crate::interop;
use crate::workspace::Workspace;

/// What the program ends with when this machine is too busy for its answer to mean anything.
const CANNOT_TELL: i32 = 3;

/// Requests in a second, less than by default: other programs run where this does.
const RATE: &str = "400";

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let envoy = interop::envoy(workspace)?;
    let mut cargo = workspace.cargo([
        "run",
        "--quiet",
        "-p",
        "portolan-tests",
        "--bin",
        "traffic",
        "--",
        "--gate",
        "--rate",
        RATE,
        "--envoy",
    ]);
    let status = cargo.arg(&envoy).status()?;
    match status.code() {
        Some(0) => Ok(Outcome::passed()),
        Some(CANNOT_TELL) => Ok(Outcome::Skipped("could not keep the pace".to_owned())),
        _ => bail!("requests were lost, or none where some must be: see above"),
    }
}
