//! Gate: everything compiles with the oldest Rust that the manifests promise.

use anyhow::{Context, Result};

use crate::ci::Outcome;
use crate::metadata::Metadata;
use crate::workspace::{Workspace, capture, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let metadata = Metadata::load(workspace)?;
    let version = metadata
        .packages
        .iter()
        .find_map(|package| package.rust_version.clone())
        .context("no package states a rust-version")?;

    let Ok(listing) = capture(workspace.command("rustup").args(["toolchain", "list"])) else {
        return Ok(Outcome::Skipped("there is no rustup".to_owned()));
    };
    let toolchain = match installed(&listing, &version) {
        Some(toolchain) => toolchain.to_owned(),
        None => {
            let arguments = ["toolchain", "install", "--profile", "minimal", &version];
            if let Err(error) = capture(workspace.command("rustup").args(arguments)) {
                return Ok(Outcome::Skipped(format!(
                    "Rust {version} cannot be installed: {error}"
                )));
            }
            version
        }
    };
    let cargo = [
        "run",
        &toolchain,
        "cargo",
        "check",
        "--quiet",
        "--workspace",
        "--all-targets",
    ];
    succeed(workspace.command("rustup").args(cargo))?;
    Ok(Outcome::Passed(toolchain))
}

/// The toolchain of `listing` that is `version`, with or without a patch number.
fn installed<'a>(listing: &'a str, version: &str) -> Option<&'a str> {
    listing
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .find(|name| {
            name.strip_prefix(version)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchain_is_found_by_its_version() {
        let listing = "stable-x86_64 (active, default)\n1.880.0-x86_64\n1.88.1-x86_64\n";
        assert_eq!(installed(listing, "1.88"), Some("1.88.1-x86_64"));
        assert_eq!(installed("1.88-x86_64\n", "1.88"), Some("1.88-x86_64"));
        assert_eq!(installed("stable-x86_64\n", "1.88"), None);
    }
}
