//! Gate: each feature of each library compiles without the others.

use anyhow::{Context, Result};

use crate::ci::Outcome;
use crate::metadata::{Metadata, Package};
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let metadata = Metadata::load(workspace)?;
    let mut count = 0;
    for (package, feature) in combinations(&metadata.packages) {
        let arguments = [
            "check",
            "--quiet",
            "--package",
            package,
            "--no-default-features",
            "--features",
            feature,
        ];
        succeed(&mut workspace.cargo(arguments)).with_context(|| format!("{package}/{feature}"))?;
        count += 1;
    }
    Ok(Outcome::Passed(format!("{count} combinations")))
}

/// Each library that has features with none of them, and with each alone.
fn combinations(packages: &[Package]) -> impl Iterator<Item = (&str, &str)> {
    packages
        .iter()
        .filter(|package| package.directory.starts_with("crates/") && !package.features.is_empty())
        .flat_map(|package| {
            let features = package
                .features
                .iter()
                .map(String::as_str)
                .filter(|feature| *feature != "default");
            std::iter::once("")
                .chain(features)
                .map(|feature| (package.name.as_str(), feature))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_with_features_are_checked_with_none_and_each() {
        let package = |name: &str, directory: &str, features: &[&str]| Package {
            name: name.to_owned(),
            directory: directory.to_owned(),
            features: features.iter().map(|&feature| feature.to_owned()).collect(),
            ..Package::default()
        };
        let packages = [
            package("a", "crates/a", &["default", "x", "y"]),
            package("b", "crates/b", &[]),
            package("t", "tests", &["x"]),
        ];
        assert_eq!(
            combinations(&packages).collect::<Vec<_>>(),
            [("a", ""), ("a", "x"), ("a", "y")]
        );
    }
}
