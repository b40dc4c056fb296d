use std::collections::BTreeMap;
use std::fmt;

use portolan_core::{Name, TypeUrl};

use crate::finding::FindingKey;
use crate::{Checks, Finding, FindingKind, Policy, Severity};

/// What was found in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    shown: Vec<Finding>,
    counts: BTreeMap<FindingKind, usize>,
    refused: bool,
}

impl Report {
    /// The findings, the most severe first, then by type and name; no more than
    /// [so many](Checks::with_most_shown).
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.shown
    }

    /// How many there are of a kind.
    #[must_use]
    pub fn count(&self, kind: FindingKind) -> usize {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.total() == 0
    }

    /// Whether any is to be [refused](Policy::Refuse).
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused
    }
}

/// What is wrong, in one line.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.shown.first() else {
            return write!(f, "{} findings", self.total());
        };
        write!(f, "{first}")?;
        match self.total() {
            1 => Ok(()),
            total => write!(f, "; and {} more", total - 1),
        }
    }
}

/// The findings of the snapshot that was checked last.
#[derive(Debug, Default)]
pub(crate) struct Store {
    by_severity: BTreeMap<Severity, BTreeMap<FindingKey, Finding>>,
    counts: BTreeMap<FindingKind, usize>,
    refused: usize,
}

impl Store {
    pub(crate) fn put(&mut self, finding: Finding) {
        self.remove(&finding.key);
        *self.counts.entry(finding.key.kind).or_default() += 1;
        self.refused += usize::from(finding.policy == Policy::Refuse);
        let alike = self.by_severity.entry(finding.severity).or_default();
        alike.insert(finding.key.clone(), finding);
    }

    pub(crate) fn remove(&mut self, key: &FindingKey) {
        let mut stores = self.by_severity.values_mut();
        if let Some(finding) = stores.find_map(|findings| findings.remove(key))
            && let Some(count) = self.counts.get_mut(&key.kind)
        {
            *count -= 1;
            self.refused -= usize::from(finding.policy == Policy::Refuse);
        }
    }

    /// Takes back what was found in a resource. A cycle is not its alone.
    pub(crate) fn forget(&mut self, type_url: &TypeUrl, name: &Name) {
        for kind in FindingKind::ALL {
            if kind != FindingKind::Cycle {
                self.remove_of(type_url, Some(name), kind);
            }
        }
    }

    /// Takes back what was found of a kind in a resource.
    pub(crate) fn remove_of(&mut self, type_url: &TypeUrl, name: Option<&Name>, kind: FindingKind) {
        let Some(name) = name else {
            return;
        };
        let first = FindingKey {
            type_url: type_url.clone(),
            name: name.clone(),
            kind,
            value: String::new(),
            target: None,
            nth: 0,
        };
        let is_its =
            |key: &&FindingKey| (&key.type_url, &key.name, key.kind) == (type_url, name, kind);
        let all = self.by_severity.values().flat_map(|findings| {
            let behind = findings.range(&first..).map(|(key, _)| key);
            behind.take_while(is_its)
        });
        for key in all.cloned().collect::<Vec<_>>() {
            self.remove(&key);
        }
    }

    pub(crate) fn report(&self, checks: &Checks) -> Report {
        let findings = self.by_severity.values().rev().flat_map(BTreeMap::values);
        let counts = self.counts.iter().filter(|(_, count)| **count > 0);
        let counts: BTreeMap<_, _> = counts.map(|(kind, count)| (*kind, *count)).collect();
        Report {
            shown: findings.take(checks.most_shown).cloned().collect(),
            refused: self.refused > 0,
            counts,
        }
    }
}
