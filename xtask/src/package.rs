//! Gate: each library can be packaged, and builds from its package.

use anyhow::Result;

use crate::ci::Outcome;
use crate::metadata::Metadata;
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let metadata = Metadata::load(workspace)?;
    let mut package = workspace.cargo(["package", "--quiet", "--workspace", "--allow-dirty"]);
    let mut count = 0;
    for member in &metadata.packages {
        match member.directory.starts_with("crates/") {
            true => count += 1,
            false => drop(package.args(["--exclude", &member.name])),
        }
    }
    succeed(&mut package)?;
    Ok(Outcome::Passed(format!("{count} packages")))
}
