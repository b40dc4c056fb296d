//! Gate: formatting.

use anyhow::Result;

use crate::ci::Outcome;
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    succeed(&mut workspace.cargo(["fmt", "--all", "--check"]))?;
    Ok(Outcome::passed())
}
