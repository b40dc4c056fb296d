//! The committed files: written, or compared with what they should be.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::rust::Files;

/// Paths printed per kind of difference: a new schema version changes hundreds.
const LISTED: usize = 10;

/// What differs between a directory and its generated contents; each list holds relative paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) missing: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) stale: Vec<String>,
}

impl Difference {
    pub(crate) fn between(dir: &Path, files: &Files) -> Result<Self> {
        let present = list(dir)?;
        let mut difference = Self::default();
        for (path, contents) in files {
            if !present.contains(path) {
                difference.missing.push(path.clone());
            } else if fs::read(dir.join(path))? != *contents {
                difference.changed.push(path.clone());
            }
        }
        difference.stale = present
            .into_iter()
            .filter(|path| !files.contains_key(path))
            .collect();
        Ok(difference)
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, paths) in [
            ("missing", &self.missing),
            ("changed", &self.changed),
            ("stale", &self.stale),
        ] {
            for path in paths.iter().take(LISTED) {
                writeln!(f, "  {what}: {path}")?;
            }
            if paths.len() > LISTED {
                writeln!(f, "  {what}: {} more", paths.len() - LISTED)?;
            }
        }
        Ok(())
    }
}

/// Makes `dir` hold exactly `files`, touching only what differs so that cargo rebuilds no more than it must.
pub(crate) fn write(dir: &Path, files: &Files) -> Result<Difference> {
    fs::create_dir_all(dir)?;
    let difference = Difference::between(dir, files)?;
    for path in difference.missing.iter().chain(&difference.changed) {
        let target = dir.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&target, &files[path]).with_context(|| target.display().to_string())?;
    }
    for path in &difference.stale {
        fs::remove_file(dir.join(path))?;
        // Takes the directories that this empties along, and stops at the first that is not.
        let parents = Path::new(path)
            .ancestors()
            .skip(1)
            .filter(|parent| !parent.as_os_str().is_empty());
        let _ = parents
            .map(|parent| fs::remove_dir(dir.join(parent)))
            .find(Result::is_err);
    }
    Ok(difference)
}

/// Relative paths of all files below `dir`, with `/` on every platform.
fn list(dir: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut pending = vec![(dir.to_owned(), String::new())];
    while let Some((current, prefix)) = pending.pop() {
        for entry in fs::read_dir(&current).with_context(|| current.display().to_string())? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                pending.push((entry.path(), name + "/"));
            } else {
                found.insert(name);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn check_sees_what_write_would_do() {
        let dir = std::env::temp_dir().join(format!("codegen-output-{}", std::process::id()));
        write(
            &dir,
            &files(&[("a/v1.rs", "one"), ("b/v1.rs", "two"), ("mod.rs", "")]),
        )
        .expect("writable");

        let next = files(&[("b/v1.rs", "changed"), ("c/v1.rs", "new"), ("mod.rs", "")]);
        let difference = Difference::between(&dir, &next).expect("readable");
        assert_eq!(difference.missing, ["c/v1.rs"]);
        assert_eq!(difference.changed, ["b/v1.rs"]);
        assert_eq!(difference.stale, ["a/v1.rs"]);
        assert_eq!(
            difference.to_string().lines().next(),
            Some("  missing: c/v1.rs")
        );

        write(&dir, &next).expect("writable");
        assert!(
            Difference::between(&dir, &next)
                .expect("readable")
                .is_empty()
        );
        assert!(!dir.join("a").exists(), "the emptied directory goes too");
        fs::remove_dir_all(&dir).expect("removable");
    }
}
