//! Gate: the documentation builds without a warning, which covers every link in it.

use anyhow::Result;

use crate::ci::Outcome;
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let mut doc = workspace.cargo(["doc", "--quiet", "--workspace", "--no-deps"]);
    succeed(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Outcome::passed())
}
