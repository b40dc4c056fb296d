//! Gate: each rule of the protocol and each known fault has a test that names it and passes.
//!
//! Rules are listed in docs/protocol.md, faults in docs/known-faults.md. A test names them at the beginning of its own
//! name, `c078_c119_names_count` or `b01_no_loop`; a conformance case as `c078_c119/sotw/ads …`. What counts is what was
//! executed, not what is written down: the gate runs the tests and reads what they print.

mod catalogue;
mod executed;

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use self::catalogue::{Catalogue, Faults, Level};
use self::executed::Executed;
use crate::ci::Outcome;
use crate::workspace::Workspace;

/// More deliberate deviations than these are no longer a conforming server.
const MAX_DEVIATIONS: usize = 25;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let read = |path: &str| fs::read_to_string(workspace.path(path)).context(path.to_owned());
    let catalogue = Catalogue::parse(&read("docs/protocol.md")?).context("docs/protocol.md")?;
    let faults = Faults::parse(&read("docs/known-faults.md")?).context("docs/known-faults.md")?;
    let executed = executed::collect(workspace)?;
    print!("{}", table(&catalogue, &faults, &executed));
    let findings = findings(&catalogue, &faults, &executed);
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    let (rules, tests) = (catalogue.rules.len(), executed.tests);
    Ok(Outcome::Passed(format!("{rules} rules, {tests} tests")))
}

fn table(catalogue: &Catalogue, faults: &Faults, executed: &Executed) -> String {
    let mut text = format!("{:<9}", "group");
    for level in Level::ALL {
        text += &format!(" {:>9}", level.name());
    }
    text += "   tests\n";
    for group in &catalogue.groups {
        text += &format!("{group:<9}");
        let of_group = || catalogue.rules.iter().filter(|rule| rule.group == *group);
        for level in Level::ALL {
            let of_level = || of_group().filter(|rule| rule.level == level);
            let proved = of_level().filter(|rule| executed.passed(&rule.id) > 0);
            text += &format!(
                " {:>9}",
                format!("{}/{}", proved.count(), of_level().count())
            );
        }
        let tests: usize = of_group().map(|rule| executed.passed(&rule.id)).sum();
        text += &format!(" {tests:>7}\n");
    }
    for (id, reason) in &catalogue.deviations {
        text += &format!("deviation {id}: {reason}\n");
    }
    let proved = faults.here.iter().filter(|id| executed.passed(id) > 0);
    text += &format!(
        "faults    {}/{} proved here, {} elsewhere\n",
        proved.count(),
        faults.here.len(),
        faults.later
    );
    text
}

fn findings(catalogue: &Catalogue, faults: &Faults, executed: &Executed) -> Vec<String> {
    let mut findings = Vec::new();
    for rule in &catalogue.rules {
        let is_due = rule.level != Level::May && !catalogue.deviations.contains_key(&rule.id);
        if is_due && executed.passed(&rule.id) == 0 {
            findings.push(format!("{} has no test: {}", rule.id, rule.summary));
        }
    }
    for id in &faults.here {
        if executed.passed(id) == 0 {
            findings.push(format!("{id} has no test"));
        }
    }
    for id in executed.failed() {
        findings.push(format!("a test of {id} failed"));
    }
    let known = |id: &str| catalogue.rules.iter().any(|rule| rule.id == id);
    for id in catalogue.deviations.keys().filter(|id| !known(id)) {
        findings.push(format!("{id} is a deviation from nothing"));
    }
    let deviations = catalogue.deviations.len();
    if deviations > MAX_DEVIATIONS {
        findings.push(format!("{deviations} deviations; at most {MAX_DEVIATIONS}"));
    }
    findings
}

/// `C-001`, `B01`: a letter, a dash if it is a rule's, and as many digits as its kind has.
fn is_id(text: &str) -> bool {
    let digits = match text.strip_prefix("C-") {
        Some(digits) if digits.len() == 3 => digits,
        _ => match text.strip_prefix('B') {
            Some(digits) if digits.len() == 2 => digits,
            _ => return false,
        },
    };
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn check_id(text: &str) -> Result<String> {
    ensure!(is_id(text), "{text:?} is no id");
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "# Rules\n## SUB\n| C-051 | MUST | names replace |\n| C-052 | SHOULD | names wait |\n\
                         | C-086 | MAY | be quiet |\n## Deviations\n| C-052 | they do not |\n";
    const FAULTS: &str = "| B01 | a loop | test |\n| B30 | an order | later: ordering |\n";

    fn found(rules: &str, output: &str) -> Vec<String> {
        let catalogue = Catalogue::parse(rules).unwrap();
        let faults = Faults::parse(FAULTS).unwrap();
        let mut executed = Executed::default();
        executed.read(output);
        findings(&catalogue, &faults, &executed)
    }

    #[test]
    fn what_is_due_needs_a_test_that_passed() {
        let both = "test x::c051_names ... ok\ntest faults::b01_no_loop ... ok\n";
        assert!(found(RULES, both).is_empty());
        assert_eq!(
            found(RULES, ""),
            ["C-051 has no test: names replace", "B01 has no test"]
        );
        let failed = format!("{both}test c052_wait ... FAILED\n");
        assert_eq!(found(RULES, &failed), ["a test of C-052 failed"]);
    }

    #[test]
    fn a_deviation_is_from_a_rule() {
        let rules = format!("{RULES}| C-300 | never mind |\n");
        let both = "test x::c051_names ... ok\ntest faults::b01_no_loop ... ok\n";
        assert_eq!(found(&rules, both), ["C-300 is a deviation from nothing"]);
    }
}
