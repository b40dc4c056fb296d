//! Gate: the libraries compile with the oldest versions of their dependencies that their manifests allow.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::ci::Outcome;
use crate::workspace::{Workspace, succeed};

/// A workspace of the libraries alone: what the tools of this repository pin would be in the way.
const DIRECTORY: &str = "target/minimal-versions";

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let directory = workspace.path(DIRECTORY);
    let manifest = fs::read_to_string(workspace.path("Cargo.toml"))?;
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("Cargo.toml"), libraries_only(&manifest)?)?;
    link(&workspace.path("crates"), &directory.join("crates"))?;
    for arguments in [
        &["update", "--quiet"][..],
        &["check", "--quiet", "--workspace"][..],
    ] {
        let mut cargo = workspace.cargo(["-Z", "direct-minimal-versions"]);
        cargo.current_dir(&directory).args(arguments);
        // The option is unstable, not the compiler.
        succeed(cargo.env("RUSTC_BOOTSTRAP", "1"))?;
    }
    Ok(Outcome::passed())
}

/// The root manifest with the libraries as its only members.
fn libraries_only(manifest: &str) -> Result<String> {
    let is_members = |line: &&str| line.starts_with("members = ");
    let members = manifest
        .lines()
        .find(is_members)
        .context("Cargo.toml lists no members")?;
    Ok(manifest.replacen(members, "members = [\"crates/*\"]", 1))
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<()> {
    if to.is_symlink() {
        fs::remove_file(to)?;
    }
    std::os::unix::fs::symlink(from, to).with_context(|| to.display().to_string())
}

#[cfg(not(unix))]
fn link(_: &Path, to: &Path) -> Result<()> {
    anyhow::bail!("{}: links are made on Unix only", to.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_left_out() {
        let manifest = "[workspace]\nmembers = [\"crates/*\", \"xtask\"]\n[workspace.package]\n";
        assert_eq!(
            libraries_only(manifest).unwrap(),
            "[workspace]\nmembers = [\"crates/*\"]\n[workspace.package]\n"
        );
        assert!(libraries_only("[package]\n").is_err());
    }
}
