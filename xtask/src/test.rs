//! Gate: the tests, run by the very command that README.md gives, so that it cannot go stale.

use std::fs;

use anyhow::{Context, Result};

use crate::ci::Outcome;
use crate::workspace::{Workspace, succeed};

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let readme = fs::read_to_string(workspace.path("README.md")).context("README.md")?;
    let script = script(&readme).context("README.md has no fenced command under `## Test`")?;
    succeed(
        workspace
            .command("bash")
            .args(["-euo", "pipefail", "-c", &script]),
    )?;
    Ok(Outcome::Passed(
        script.lines().collect::<Vec<_>>().join(" && "),
    ))
}

/// The first fenced block of the section `## Test`.
fn script(readme: &str) -> Option<String> {
    let section = readme
        .lines()
        .skip_while(|line| line.trim_end() != "## Test")
        .skip(1);
    let block: Vec<&str> = section
        .take_while(|line| !line.starts_with("## "))
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .collect();
    (!block.is_empty()).then(|| block.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_is_the_first_block_of_the_test_section() {
        let readme = "# P\n```sh\ncargo add p\n```\n## Test\nRun:\n```sh\ncargo test\ncargo test --doc\n```\n\
                      ```sh\nother\n```\n## More\n";
        assert_eq!(
            script(readme).as_deref(),
            Some("cargo test\ncargo test --doc")
        );
    }

    #[test]
    fn block_of_a_later_section_is_not_taken() {
        assert_eq!(
            script("## Test\nnothing here\n## Build\n```\ncargo build\n```\n"),
            None
        );
        assert_eq!(script("## Testing\n```\ncargo test\n```\n"), None);
        assert_eq!(script("## Test\n```\n```\n"), None);
    }
}
