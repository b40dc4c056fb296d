//! What cargo knows about the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace::{Workspace, capture};

/// The workspace's packages, and the graph of everything that they depend on.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    /// Package name to the names of its normal dependencies, as resolved.
    pub(crate) normal: BTreeMap<String, BTreeSet<String>>,
    pub(crate) target_directory: PathBuf,
}

/// A package of the workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the workspace root, with `/` on every platform.
    pub(crate) directory: String,
    pub(crate) rust_version: Option<String>,
    pub(crate) features: Vec<String>,
    /// Declared dependencies that a user compiles, whichever features turn them on.
    pub(crate) dependencies: BTreeSet<String>,
    pub(crate) dev_dependencies: BTreeSet<String>,
}

impl Metadata {
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        let text = capture(&mut workspace.cargo(["metadata", "--format-version", "1"]))?;
        Self::parse(&serde_json::from_str(&text)?).context("cargo metadata is not as expected")
    }

    fn parse(json: &Value) -> Option<Self> {
        let members: BTreeSet<&str> = strings(&json["workspace_members"])?.collect();
        let root = json["workspace_root"].as_str()?;
        let packages = json["packages"].as_array()?;
        let names: BTreeMap<&str, &str> = packages
            .iter()
            .map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
            .collect::<Option<_>>()?;

        let mut normal: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in json["resolve"]["nodes"].as_array()? {
            let targets = normal
                .entry((*names.get(node["id"].as_str()?)?).to_owned())
                .or_default();
            for dependency in node["deps"].as_array()? {
                let kinds = dependency["dep_kinds"].as_array()?;
                if kinds.iter().any(|kind| kind["kind"].is_null()) {
                    targets.insert((*names.get(dependency["pkg"].as_str()?)?).to_owned());
                }
            }
        }
        let packages = packages
            .iter()
            .filter(|package| {
                package["id"]
                    .as_str()
                    .is_some_and(|id| members.contains(id))
            })
            .map(|package| Package::parse(package, root))
            .collect::<Option<_>>()?;
        Some(Self {
            packages,
            normal,
            target_directory: json["target_directory"].as_str()?.into(),
        })
    }
}

impl Package {
    fn parse(json: &Value, root: &str) -> Option<Self> {
        let manifest = json["manifest_path"]
            .as_str()?
            .strip_prefix(root)?
            .replace('\\', "/");
        let mut package = Self {
            name: json["name"].as_str()?.to_owned(),
            directory: manifest
                .strip_suffix("/Cargo.toml")?
                .trim_start_matches('/')
                .to_owned(),
            rust_version: json["rust_version"].as_str().map(str::to_owned),
            features: json["features"].as_object()?.keys().cloned().collect(),
            ..Self::default()
        };
        for dependency in json["dependencies"].as_array()? {
            let name = dependency["name"].as_str()?.to_owned();
            match dependency["kind"].as_str() {
                Some("dev") => package.dev_dependencies.insert(name),
                _ => package.dependencies.insert(name),
            };
        }
        Some(package)
    }
}

fn strings(json: &Value) -> Option<impl Iterator<Item = &str>> {
    Some(json.as_array()?.iter().filter_map(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn normal_edges_are_told_from_dev_edges() {
        let json = json!({
            "target_directory": "/w/target", "workspace_root": "/r",
            "workspace_members": ["a 1"],
            "packages": [
                { "id": "a 1", "name": "a", "manifest_path": "/r/crates/a/Cargo.toml", "rust_version": "1.88",
                  "features": { "f": [] },
                  "dependencies": [{ "name": "b", "kind": null }, { "name": "c", "kind": "dev" }] },
                { "id": "b 1", "name": "b" },
                { "id": "c 1", "name": "c" },
            ],
            "resolve": { "nodes": [{ "id": "a 1", "deps": [
                { "pkg": "b 1", "dep_kinds": [{ "kind": null }] },
                { "pkg": "c 1", "dep_kinds": [{ "kind": "dev" }] },
            ] }] },
        });
        let metadata = Metadata::parse(&json).expect("all that is read is there");

        assert_eq!(metadata.normal["a"], BTreeSet::from(["b".to_owned()]));
        let [package] = &metadata.packages[..] else {
            panic!("one member")
        };
        assert_eq!(package.directory, "crates/a");
        assert_eq!(package.dependencies, BTreeSet::from(["b".to_owned()]));
        assert_eq!(package.dev_dependencies, BTreeSet::from(["c".to_owned()]));
        assert_eq!(package.features, ["f"]);
    }
}
