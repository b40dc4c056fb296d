//! The README shows the examples as they are.

use std::collections::BTreeSet;
use std::path::Path;

const README: &str = include_str!("../../../README.md");

#[test]
fn the_readme_lists_every_example_and_no_other() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut listed = BTreeSet::new();
    for row in README.lines().filter_map(|line| line.strip_prefix("| [`")) {
        let Some((name, rest)) = row.split_once("`](examples/") else {
            continue;
        };
        let (link, _) = rest.split_once(')').unwrap();
        assert!(repository.join("examples").join(link).exists(), "{link}");
        assert!(listed.insert(name.to_owned()), "{name} is listed twice");
    }
    let there = std::fs::read_dir(repository.join("examples/src/bin")).unwrap();
    let there = there.map(|entry| {
        let path = entry.unwrap().path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    assert_eq!(listed, there.collect::<BTreeSet<_>>());
}

#[test]
fn the_readme_shows_the_minimal_example() {
    let minimal = include_str!("../../src/bin/minimal.rs");
    let shown = README
        .split_once("<!-- minimal.rs -->\n```rust\n")
        .and_then(|(_, rest)| rest.split_once("```\n<!-- /minimal.rs -->"))
        .map(|(shown, _)| shown);
    assert!(
        shown == Some(minimal),
        "copy examples/src/bin/minimal.rs into README.md between its markers"
    );
    assert!(minimal.lines().count() <= 60);
}

#[test]
fn the_readme_shows_how_the_quickstart_refuses_its_file() {
    let (good, wrong) = ("\n    service: web\n", "\n    service: wbe\n");
    let services = include_str!("../../services.yaml").replace(good, wrong);
    let refusal = crate::quickstart::refused(&services);
    let (_, shown) = refusal.trim_end().split_once("services.yaml").unwrap();
    let shown = format!("```text\nrefused: examples/services.yaml{shown}\n```");
    assert!(README.contains(&shown), "{shown}");
}
