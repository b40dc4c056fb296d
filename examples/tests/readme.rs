//! The README shows the example as it is.

#[test]
fn the_readme_shows_the_minimal_example() {
    let readme = include_str!("../../README.md");
    let minimal = include_str!("../src/bin/minimal.rs");
    let shown = readme
        .split_once("<!-- minimal.rs -->\n```rust\n")
        .and_then(|(_, rest)| rest.split_once("```\n<!-- /minimal.rs -->"))
        .map(|(shown, _)| shown);
    assert!(
        shown == Some(minimal),
        "copy examples/src/bin/minimal.rs into README.md between its markers"
    );
    assert!(minimal.lines().count() <= 60);
}
