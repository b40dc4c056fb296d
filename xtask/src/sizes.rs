//! Gate: files stay small enough to be read at one sitting. Functions are clippy's business.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::ci::Outcome;
use crate::workspace::Workspace;

/// Lines of one file at most, its tests included.
const CAP: usize = 600;

/// The median over all files stays below this.
const MEDIAN: usize = 200;

const ROOTS: &[&str] = &["benches/", "crates/", "examples/", "tests/", "xtask/"];

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let mut sizes = Vec::new();
    for path in workspace
        .files()?
        .into_iter()
        .filter(|path| is_counted(path))
    {
        let text = fs::read_to_string(workspace.path(&path)).with_context(|| path.clone())?;
        sizes.push((text.lines().count(), path));
    }
    judge(sizes).map(Outcome::Passed)
}

fn is_counted(path: &str) -> bool {
    path.ends_with(".rs")
        && ROOTS.iter().any(|root| path.starts_with(root))
        && !path.contains("/generated/")
}

fn judge(mut sizes: Vec<(usize, String)>) -> Result<String> {
    sizes.sort();
    let (median, largest) = match (sizes.get(sizes.len() / 2), sizes.last()) {
        (Some((median, _)), Some(largest)) => (*median, largest),
        _ => (0, &(0, String::new())),
    };
    let over: Vec<String> = sizes
        .iter()
        .filter(|(lines, _)| *lines > CAP)
        .map(|(lines, path)| format!("{path} has {lines} lines, the cap is {CAP}"))
        .collect();
    ensure!(over.is_empty(), "{}", over.join("\n"));
    ensure!(
        median < MEDIAN,
        "the median file has {median} lines, the limit is {MEDIAN}"
    );
    Ok(format!(
        "{} files, median {median} lines, largest {} ({})",
        sizes.len(),
        largest.0,
        largest.1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_over_the_cap_fails_by_name() {
        let error = judge(vec![
            (10, "a.rs".into()),
            (CAP + 1, "b.rs".into()),
            (CAP, "c.rs".into()),
        ])
        .unwrap_err();
        assert_eq!(error.to_string(), "b.rs has 601 lines, the cap is 600");
    }

    #[test]
    fn high_median_fails() {
        let sizes = |lines| (0..3).map(|n| (lines, n.to_string())).collect();
        assert!(judge(sizes(MEDIAN)).is_err());
        assert_eq!(
            judge(sizes(MEDIAN - 1)).unwrap(),
            "3 files, median 199 lines, largest 199 (2)"
        );
        assert!(judge(Vec::new()).is_ok());
    }

    #[test]
    fn generated_files_are_exempt() {
        assert!(is_counted("crates/x/src/lib.rs"));
        assert!(!is_counted("crates/x/src/generated/mod.rs"));
        assert!(!is_counted("docs/x.rs"));
    }
}
