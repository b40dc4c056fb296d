//! Code generation, which has a package of its own: its dependencies would make every other command wait.

use anyhow::Result;

use crate::ci::Outcome;
use crate::workspace::{Workspace, succeed};

const RUN: [&str; 5] = ["run", "--quiet", "--package", "xtask-codegen", "--"];

/// Rewrites the generated code.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    succeed(&mut workspace.cargo(RUN))
}

/// Gate: the committed code is what [`write()`] writes.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    succeed(workspace.cargo(RUN).arg("--check"))?;
    Ok(Outcome::passed())
}
