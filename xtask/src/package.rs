//! Gate: each library can be packaged, and builds from its package.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::ci::Outcome;
use crate::metadata::Metadata;
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let metadata = Metadata::load(workspace)?;
    let mut package = workspace.cargo(["package", "--quiet", "--workspace", "--allow-dirty"]);
    let mut libraries = Vec::new();
    for member in &metadata.packages {
        match member.directory.starts_with("crates/") {
            true => libraries.push(member.name.as_str()),
            false => drop(package.args(["--exclude", &member.name])),
        }
    }
    let mut kept = vec![metadata.target_directory.join("debug/.fingerprint")];
    if let Some(home) = cargo_home() {
        kept.extend(entries(&home.join("registry/src")));
        kept.extend(entries(&home.join("registry/cache")));
    }
    forget(&libraries, &kept)?;
    let packaged = succeed(&mut package);
    forget(&libraries, &kept)?;
    packaged?;
    Ok(Outcome::Passed(format!("{} packages", libraries.len())))
}

/// Cargo keeps what it unpacked and built of packages, by name and version, and would take that again though the
/// packages are others now.
fn forget(libraries: &[&str], kept: &[PathBuf]) -> Result<()> {
    for path in kept.iter().flat_map(|directory| entries(directory)) {
        if !libraries.iter().any(|library| is_of(&path, library)) {
            continue;
        }
        let removed = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

fn cargo_home() -> Option<PathBuf> {
    let home = || Some(env::home_dir()?.join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// What is in a directory; nothing, where there is none.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Whether the file or directory is this library's: `name-0.1.0`, `name-0.1.0.crate`, `name-0123456789abcdef`.
fn is_of(path: &Path, library: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let rest = name.and_then(|name| name.strip_prefix(library)?.strip_prefix('-'));
    rest.is_some_and(|rest| {
        let is_hash = rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash || rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_and_builds_of_a_library_are_of_it() {
        let is_of = |path: &str| is_of(Path::new(path), "a");
        assert!(is_of("x/a-0.1.0") && is_of("x/a-0.1.0.crate"));
        assert!(is_of("x/a-fedcba9876543210"));
        assert!(!is_of("x/a-b-0.1.0") && !is_of("x/ab-0.1.0") && !is_of("a-0.1.0/x"));
    }
}
