use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};

use crate::program::Program;
use crate::workspace::Workspace;

/// Are in the names of tests of rules and faults, and of few others.
const FILTERS: [&str; 15] = [
    "c0", "c1", "c2", "c3", "c4", "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9",
];

/// Tests that name a rule or a fault, by how they ended.
#[derive(Debug, Default)]
pub(super) struct Executed {
    pub(super) tests: usize,
    passed: BTreeMap<String, usize>,
    failed: BTreeMap<String, usize>,
}

/// Runs all tests that may name a rule or a fault.
pub(super) fn collect(workspace: &Workspace) -> Result<Executed> {
    let mut executed = Executed::default();
    // As `cargo test --workspace` builds them.
    let mut cargo = workspace.cargo(["test", "--workspace", "--no-run"]);
    let programs = Program::build(&mut cargo)?;
    for test in programs.iter().filter(|program| program.is_test) {
        let mut command = Command::new(&test.path);
        command.current_dir(&test.directory);
        // These have nothing but cases, and take no more than one filter.
        if !test.name.starts_with("conformance") {
            command.args(FILTERS);
        }
        let output = command
            .output()
            .with_context(|| format!("cannot run {}", test.path.display()))?;
        executed.read(&String::from_utf8_lossy(&output.stdout));
    }
    Ok(executed)
}

impl Executed {
    /// Reads what a test program printed.
    pub(super) fn read(&mut self, output: &str) {
        for line in output.lines() {
            let Some(line) = line.strip_prefix("test ") else {
                continue;
            };
            let Some((name, outcome)) = line.rsplit_once(" ... ") else {
                continue;
            };
            let ids = ids(name);
            let counts = match outcome.trim() {
                "ok" => &mut self.passed,
                "FAILED" => &mut self.failed,
                _ => continue,
            };
            self.tests += usize::from(!ids.is_empty());
            for id in ids {
                *counts.entry(id).or_default() += 1;
            }
        }
    }

    /// How many tests of an id passed.
    pub(super) fn passed(&self, id: &str) -> usize {
        self.passed.get(id).copied().unwrap_or_default()
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = &String> {
        self.failed.keys()
    }
}

/// The ids at the beginning of a test's own name: of `sotw::c078_c119_names_count` these are `C-078` and `C-119`.
fn ids(name: &str) -> Vec<String> {
    let own = name.rsplit("::").next().unwrap_or(name);
    let words = own.split(['_', '/', ' ']);
    words.map_while(id).collect()
}

fn id(word: &str) -> Option<String> {
    let (letter, digits) = word.split_at_checked(1)?;
    let id = match letter {
        "c" => format!("C-{digits}"),
        "b" => format!("B{digits}"),
        _ => return None,
    };
    super::is_id(&id).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_of_the_ids_that_its_name_begins_with() {
        assert_eq!(ids("sotw::c078_c119_names_count"), ["C-078", "C-119"]);
        assert_eq!(ids("shelf::c001/sotw/ads c002 is no more"), ["C-001"]);
        assert_eq!(ids("faults::sotw::b01_no_loop"), ["B01"]);
        assert!(ids("calls::client_c001").is_empty());
        assert!(ids("c01_short").is_empty());
    }

    #[test]
    fn only_what_was_executed_counts() {
        let mut executed = Executed::default();
        executed.read(
            "running 3 tests\ntest a::c001_x ... ok\ntest a::c002_x ... ignored\n\
             test a::c001/sotw/ads x     ... ok\ntest b ... ok\ntest a::c003_x ... FAILED\n",
        );
        assert_eq!((executed.passed("C-001"), executed.tests), (2, 3));
        assert_eq!(executed.passed("C-002"), 0);
        assert_eq!(executed.failed().collect::<Vec<_>>(), ["C-003"]);
    }
}
