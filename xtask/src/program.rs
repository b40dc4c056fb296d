//! Programs that cargo builds, found by what it says while it does.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace::capture;

/// A program that was built.
pub(crate) struct Program {
    /// The name of its target.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Of its package; tests are run there.
    pub(crate) directory: PathBuf,
    pub(crate) is_test: bool,
}

impl Program {
    /// Runs a cargo that builds, and gives all programs that came of it.
    pub(crate) fn build(cargo: &mut Command) -> Result<Vec<Self>> {
        let messages = capture(cargo.arg("--message-format=json"))?;
        Self::read(&messages)
    }

    fn read(messages: &str) -> Result<Vec<Self>> {
        let mut programs = Vec::new();
        for line in messages.lines() {
            let message: Value = serde_json::from_str(line).context("cargo's messages are JSON")?;
            let (Some(path), Some(name), Some(manifest)) = (
                message["executable"].as_str(),
                message["target"]["name"].as_str(),
                message["manifest_path"].as_str(),
            ) else {
                continue;
            };
            programs.push(Self {
                name: name.to_owned(),
                path: path.into(),
                directory: Path::new(manifest)
                    .parent()
                    .unwrap_or_else(|| Path::new(""))
                    .into(),
                is_test: message["profile"]["test"] == true,
            });
        }
        Ok(programs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_what_has_an_executable() {
        let messages = r#"{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"a"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"it"},"profile":{"test":true},"executable":"/t/it-1"}
{"reason":"build-finished","success":true}"#;
        let programs = Program::read(messages).unwrap();
        let [it] = &programs[..] else {
            panic!("one of them is a program");
        };
        assert_eq!((&*it.name, it.is_test), ("it", true));
        assert_eq!(it.path, Path::new("/t/it-1"));
        assert_eq!(it.directory, Path::new("/w/a"));
        assert!(Program::read("no JSON").is_err());
    }
}
