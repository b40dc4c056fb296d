//! Gate: nothing in the repository names the machine it was written on, or a host that packages come from.

use std::fs;

use anyhow::{Result, ensure};

use crate::ci::Outcome;
use crate::workspace::Workspace;

/// Roots of absolute paths that differ from machine to machine; cut in two so that this file passes.
const PATHS: &[&str] = &[
    concat!("/", "home"),
    concat!("/", "root"),
    concat!("/", "work"),
];
const TEMPORARY: &str = concat!("/", "tmp/");

/// Cargo and pip know their registries; a build that names one stops working behind a mirror.
const HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("deb.debian", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("repo.maven.apache", ".org"),
];

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let mut findings = Vec::new();
    let mut count = 0;
    for path in workspace.files()? {
        if path.ends_with("Cargo.lock") {
            continue;
        }
        count += 1;
        // What is not text holds no text to object to.
        let Ok(text) = String::from_utf8(fs::read(workspace.path(&path))?) else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            findings.extend(offence(line).map(|word| format!("{path}:{}: {word}", index + 1)));
        }
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(Outcome::Passed(format!("{count} files")))
}

fn offence(line: &str) -> Option<&'static str> {
    let path = PATHS.iter().copied().find(|word| {
        line.match_indices(word)
            .any(|(at, _)| is_absolute(line, at) && !continues_name(&line[at + word.len()..]))
    });
    let temporary = || {
        line.match_indices(TEMPORARY)
            .any(|(at, word)| is_absolute(line, at) && continues_name(&line[at + word.len()..]))
            .then_some(TEMPORARY)
    };
    let host = || HOSTS.iter().copied().find(|host| line.contains(host));
    path.or_else(temporary).or_else(host)
}

/// Whether the slash at `at` starts a path, rather than separating two of its parts.
fn is_absolute(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-~*)}>]".contains(before))
}

fn continues_name(rest: &str) -> bool {
    rest.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_machine_paths_are_found() {
        for root in PATHS {
            assert_eq!(offence(&format!("see {root}/x for more")), Some(*root));
            assert_eq!(offence(&format!("dir = \"{root}\"")), Some(*root));
            assert_eq!(offence(&format!("file://{root}/x")), Some(*root));
        }
        assert_eq!(offence(&format!("{TEMPORARY}build")), Some(TEMPORARY));
    }

    #[test]
    fn relative_paths_and_longer_names_are_fine() {
        for root in PATHS {
            assert_eq!(offence(&format!("src{root}/x")), None);
            assert_eq!(offence(&format!("{root}space")), None);
            assert_eq!(offence(&format!("../..{root}")), None);
        }
        assert_eq!(offence(&format!("{TEMPORARY}$x")), None);
    }

    #[test]
    fn registry_hosts_are_found() {
        for host in HOSTS {
            assert_eq!(offence(&format!("https://index.{host}/x")), Some(*host));
        }
    }
}
