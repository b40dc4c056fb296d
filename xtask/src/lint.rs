//! Gate: clippy on every target of every crate.

use anyhow::Result;

use crate::ci::Outcome;
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let arguments = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    succeed(&mut workspace.cargo(arguments))?;
    Ok(Outcome::passed())
}
