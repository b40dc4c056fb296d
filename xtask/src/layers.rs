//! Gate: dependencies between our crates point one way, and the protocol stays free of I/O.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use crate::ci::Outcome;
use crate::metadata::{Metadata, Package};
use crate::workspace::Workspace;

/// Each library with the libraries it may depend on. A new arrow is a change of design: it needs a decision record.
const LAYERS: &[(&str, &[&str])] = &[
    ("portolan-core", &[]),
    ("portolan-types", &[]),
    ("portolan-engine", &["portolan-core"]),
    ("portolan-cache", &["portolan-core"]),
    ("portolan-resources", &["portolan-core", "portolan-types"]),
    (
        "portolan-consistency",
        &["portolan-core", "portolan-resources"],
    ),
    (
        "portolan-server",
        &["portolan-core", "portolan-engine", "portolan-types"],
    ),
    (
        "portolan-translator",
        &["portolan-consistency", "portolan-core"],
    ),
    (
        "portolan-testkit",
        &[
            "portolan-cache",
            "portolan-core",
            "portolan-engine",
            "portolan-resources",
            "portolan-server",
            "portolan-types",
        ],
    ),
    (
        "portolan",
        &[
            "portolan-cache",
            "portolan-consistency",
            "portolan-core",
            "portolan-engine",
            "portolan-resources",
            "portolan-server",
            "portolan-translator",
            "portolan-types",
        ],
    ),
];

/// Packages on top of everything, which may use anything.
const LEAVES: &[&str] = &[
    "portolan-benches",
    "portolan-examples",
    "portolan-fuzz-targets",
    "portolan-tests",
];

/// Packages that use none of our libraries.
const TOOLS: &[&str] = &["xtask", "xtask-api", "xtask-codegen"];

/// Crates that must work without a runtime, a socket or a protobuf library, and what would give them one.
const PURE: &[&str] = &["portolan-core", "portolan-engine"];
const IMPURE: &[&str] = &["hyper", "prost", "tokio", "tonic"];

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let metadata = Metadata::load(workspace)?;
    let mut findings = wrong_arrows(&metadata.packages);
    for package in PURE {
        findings.extend(impure_path(package, &metadata.normal).map(|path| {
            format!(
                "{package} must not reach {}: {}",
                path.last().unwrap_or(package),
                path.join(" -> ")
            )
        }));
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(Outcome::Passed(format!(
        "{} packages",
        metadata.packages.len()
    )))
}

fn wrong_arrows(packages: &[Package]) -> Vec<String> {
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        if LEAVES.contains(&name) {
            continue;
        }
        let allowed = LAYERS
            .iter()
            .find(|(layer, _)| *layer == name)
            .map(|(_, allowed)| *allowed);
        if allowed.is_none() && !TOOLS.contains(&name) {
            findings.push(format!(
                "{name} is in no layer: add it to xtask/src/layers.rs"
            ));
            continue;
        }
        let allowed: BTreeSet<&str> = allowed.unwrap_or_default().iter().copied().collect();
        // A crate may test itself, with features that it is not built with otherwise.
        let mut below = below(name);
        below.insert(name);
        for target in package
            .dependencies
            .iter()
            .filter(|target| ours.contains(target.as_str()))
        {
            if !allowed.contains(target.as_str()) {
                findings.push(format!("{name} must not depend on {target}"));
            }
        }
        for target in package
            .dev_dependencies
            .iter()
            .filter(|target| ours.contains(target.as_str()))
        {
            if !below.contains(target.as_str()) {
                findings.push(format!(
                    "{name} must not test with {target}, which is not below it"
                ));
            }
        }
    }
    findings
}

/// Every layer that `name` may reach, directly or not.
fn below(name: &str) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![name];
    while let Some(current) = pending.pop() {
        for &target in LAYERS
            .iter()
            .filter(|(layer, _)| *layer == current)
            .flat_map(|(_, allowed)| *allowed)
        {
            if seen.insert(target) {
                pending.push(target);
            }
        }
    }
    seen
}

/// A shortest chain of normal dependencies from `from` to something impure.
fn impure_path<'a>(
    from: &'a str,
    graph: &'a BTreeMap<String, BTreeSet<String>>,
) -> Option<Vec<&'a str>> {
    let mut seen = BTreeSet::from([from]);
    let mut paths = vec![vec![from]];
    while !paths.is_empty() {
        let mut longer = Vec::new();
        for path in paths {
            let end = path.last().copied().unwrap_or(from);
            for target in graph.get(end).into_iter().flatten().map(String::as_str) {
                let extended: Vec<&str> = path.iter().copied().chain([target]).collect();
                if IMPURE.contains(&target) {
                    return Some(extended);
                }
                if seen.insert(target) {
                    longer.push(extended);
                }
            }
        }
        paths = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str], dev_dependencies: &[&str]) -> Package {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Package {
            name: name.to_owned(),
            dependencies: set(dependencies),
            dev_dependencies: set(dev_dependencies),
            ..Package::default()
        }
    }

    fn findings(package_under_test: Package) -> Vec<String> {
        let others = LAYERS.iter().map(|(name, _)| package(name, &[], &[]));
        wrong_arrows(&others.chain([package_under_test]).collect::<Vec<_>>())
    }

    #[test]
    fn designed_arrows_hold() {
        for (name, allowed) in LAYERS {
            assert_eq!(
                findings(package(name, allowed, allowed)),
                Vec::<String>::new()
            );
        }
    }

    #[test]
    fn arrow_outside_the_table_fails() {
        assert_eq!(
            findings(package("portolan-engine", &["portolan-cache"], &[])),
            ["portolan-engine must not depend on portolan-cache"]
        );
        assert_eq!(
            findings(package("xtask", &["portolan-core"], &[])),
            ["xtask must not depend on portolan-core"]
        );
    }

    #[test]
    fn tests_may_use_what_lies_below_and_nothing_else() {
        assert_eq!(
            findings(package(
                "portolan-server",
                &[],
                &["portolan-core", "portolan-server"]
            )),
            Vec::<String>::new()
        );
        assert_eq!(
            findings(package("portolan-server", &[], &["portolan-testkit"])),
            ["portolan-server must not test with portolan-testkit, which is not below it"]
        );
    }

    #[test]
    fn unknown_package_must_be_placed() {
        assert_eq!(
            findings(package("portolan-new", &[], &[])),
            ["portolan-new is in no layer: add it to xtask/src/layers.rs"]
        );
        assert_eq!(
            findings(package("portolan-tests", &["portolan-testkit"], &[])),
            Vec::<String>::new()
        );
    }

    #[test]
    fn impurity_is_found_behind_other_crates() {
        let graph = BTreeMap::from([
            (
                "portolan-core".to_owned(),
                BTreeSet::from(["a".to_owned(), "bytes".to_owned()]),
            ),
            (
                "a".to_owned(),
                BTreeSet::from(["portolan-core".to_owned(), "tokio".to_owned()]),
            ),
        ]);
        assert_eq!(
            impure_path("portolan-core", &graph),
            Some(vec!["portolan-core", "a", "tokio"])
        );
        assert_eq!(impure_path("bytes", &graph), None);
    }

    #[test]
    fn layers_have_no_cycle() {
        for (name, _) in LAYERS {
            assert!(!below(name).contains(name), "{name}");
        }
    }
}
