//! What there is to say beside what was found.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Write};

use portolan::consistency::{Finding, FindingKind, Severity};
use portolan::core::{Snapshot, TypeUrl};

/// How many names a hint lists at most.
const MOST_NAMES: usize = 5;

/// Prints a line. Who reads may have seen enough and be gone, as `head` is; the exit code tells all the same.
pub(crate) fn say(line: impl Display) {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("cannot print: {error}");
            std::process::exit(2);
        }
        _ => {}
    }
}

/// How much was found.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    resources: usize,
    findings: BTreeMap<Severity, usize>,
}

impl Counts {
    pub(crate) fn of_resources(resources: usize) -> Self {
        Self {
            resources,
            findings: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, severity: Severity) {
        *self.findings.entry(severity).or_default() += 1;
    }

    pub(crate) fn of(&self, severity: Severity) -> usize {
        self.findings.get(&severity).copied().unwrap_or_default()
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [errors, warnings, notes] =
            [Severity::Error, Severity::Warning, Severity::Info].map(|of| self.of(of));
        let count = |count, one| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        write!(
            f,
            "{}: {}, {}, {}",
            count(self.resources, "resource"),
            count(errors, "error"),
            count(warnings, "warning"),
            count(notes, "info"),
        )
    }
}

/// How a finding can be mended.
pub(crate) fn hint(finding: &Finding, snapshot: &Snapshot) -> Option<String> {
    let hint = match finding.kind() {
        FindingKind::Missing => return finding.target().map(|url| others(url, finding, snapshot)),
        FindingKind::Unreferenced => "take it out, or refer to it",
        FindingKind::DuplicateName => "give each alias to one resource",
        FindingKind::InnerName => "give both the same name",
        FindingKind::Cycle => "take one of them out of the other's clusters",
        FindingKind::AddressClash => "give each listener an address and port of its own",
        FindingKind::NoServiceName => "set eds_cluster_config.service_name",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What there is of a type of which something is missing.
fn others(url: &TypeUrl, finding: &Finding, snapshot: &Snapshot) -> String {
    let set = snapshot.set(url).into_iter().flat_map(|set| set.iter());
    let names: Vec<_> = set
        .map(|resource| format!("{:?}", resource.name()))
        .collect();
    let kind = short(url);
    let there = match names.len() {
        0 => format!("there is no {kind}"),
        1..=MOST_NAMES => format!("there are {}", names.join(", ")),
        many => format!(
            "there are {many}, among them {}",
            names[..MOST_NAMES].join(", ")
        ),
    };
    format!(
        "{there}; if clients have it from elsewhere, say --external {kind}={}",
        finding.value()
    )
}

/// The name of a message without its package.
pub(crate) fn short(url: &TypeUrl) -> &str {
    let name = url.message_name();
    name.rsplit_once('.').map_or(name, |(_, short)| short)
}
