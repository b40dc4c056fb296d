//! Gate: `docs/api/` lists the public API of each library as it is, so that a change of it shows in review.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::ci::Outcome;
use crate::metadata::{Metadata, Package};
use crate::workspace::{Workspace, capture, succeed};

/// Generated as a whole; its diff is the schema's.
const GENERATED: &str = "portolan-types";

/// Writes the listings.
pub(crate) fn bless(workspace: &Workspace) -> Result<()> {
    for library in libraries(workspace)? {
        fs::write(workspace.path(&library.listing), library.read(workspace)?)?;
    }
    Ok(())
}

/// Compares the listings with the code.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let mut stale = Vec::new();
    let libraries = libraries(workspace)?;
    for library in &libraries {
        let listed = fs::read_to_string(workspace.path(&library.listing)).unwrap_or_default();
        let difference = difference(&listed, &library.read(workspace)?);
        if !difference.is_empty() {
            println!("{}:\n{}", library.listing, difference.join("\n"));
            stale.push(library.name.as_str());
        }
    }
    ensure!(
        stale.is_empty(),
        "the public API of {} changed; if that is meant, run `cargo xtask api --bless`, and say so in CHANGELOG.md",
        stale.join(", ")
    );
    Ok(Outcome::Passed(format!("{} libraries", libraries.len())))
}

/// A library, and where its API is listed.
struct Library {
    name: String,
    listing: String,
    json: PathBuf,
    features: String,
}

/// All features that add to the API: a TLS back end or more messages add nothing of ours.
fn features(package: &Package) -> String {
    let adds = |feature: &&String| {
        !feature.starts_with("tls-") && !["default", "full-types"].contains(&feature.as_str())
    };
    let features: Vec<_> = package.features.iter().filter(adds).cloned().collect();
    features.join(",")
}

fn libraries(workspace: &Workspace) -> Result<Vec<Library>> {
    let metadata = Metadata::load(workspace)?;
    let is_library = |p: &&Package| p.directory.starts_with("crates/") && p.name != GENERATED;
    let library = |package: &Package| {
        let name = package.name.clone();
        let json = metadata
            .target_directory
            .join("doc")
            .join(name.replace('-', "_"));
        Library {
            listing: format!("docs/api/{name}.txt"),
            json: json.with_extension("json"),
            features: features(package),
            name,
        }
    };
    Ok(metadata
        .packages
        .iter()
        .filter(is_library)
        .map(library)
        .collect())
}

impl Library {
    fn read(&self, workspace: &Workspace) -> Result<String> {
        let mut rustdoc = workspace.cargo(["rustdoc", "--quiet", "--lib", "-p", &self.name]);
        rustdoc.args([
            "--features",
            &self.features,
            "--",
            "-Z",
            "unstable-options",
            "--output-format",
            "json",
        ]);
        // The format is unstable, not the compiler: it lets stable toolchains write it too.
        succeed(rustdoc.env("RUSTC_BOOTSTRAP", "1"))?;
        let mut list = workspace.cargo(["run", "--quiet", "--package", "xtask-api", "--"]);
        capture(list.arg(&self.json)).with_context(|| self.name.clone())
    }
}

/// Lines that are in one of the two only.
fn difference<'a>(listed: &'a str, found: &'a str) -> Vec<String> {
    let lacks = |text: &str, line: &str| !text.lines().any(|other| other == line);
    let gone = listed
        .lines()
        .filter(|line| lacks(found, line))
        .map(|line| format!("- {line}"));
    let new = found
        .lines()
        .filter(|line| lacks(listed, line))
        .map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new_is_told() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
        assert!(difference("a\n", "a\n").is_empty());
    }
}
