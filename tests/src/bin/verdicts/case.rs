//! The cases: configurations that differ in little from one that is right.
//!
//! ```text
//! == a route to nowhere
//! envoy rejects, found missing
//! RouteConfiguration spare: virtual_hosts { … }
//! - Cluster web
//! ```
//!
//! The second line says what Envoy's validation says, and which kind of error our checks find: `nothing`, a kind, or `not
//! found`, with the reason. A line that begins with a type gives a resource, instead of one of its name if there is one;
//! lines that are indented go on with it. With `-` one is taken out.

use portolan::consistency::FindingKind;
use portolan::core::Snapshot;

use crate::configuration::Configuration;

/// A configuration, and what is said of it.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) envoys: Envoys,
    pub(crate) ours: Ours,
    pub(crate) snapshot: Snapshot,
}

/// What Envoy's validation says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Envoys {
    Accepts,
    Rejects,
}

/// What our checks say.
#[derive(Clone, Debug)]
pub(crate) enum Ours {
    FindsNothing,
    Finds(FindingKind),
    /// Nothing, since they cannot know, for this reason.
    Cannot(String),
}

const CASES: [&str; 3] = [
    include_str!("cases/accepted.txt"),
    include_str!("cases/rejected.txt"),
    include_str!("cases/accepted_and_found.txt"),
];

pub(crate) fn all() -> Vec<Case> {
    let base = Configuration::default().changed_by(include_str!("cases/base.txt"));
    let blocks = CASES.iter().flat_map(|text| text.split("\n== ").skip(1));
    blocks.map(|block| case(&base, block)).collect()
}

fn case(base: &Configuration, block: &str) -> Case {
    let (name, rest) = block.split_once('\n').unwrap_or((block, ""));
    let (says, changes) = rest.split_once('\n').unwrap_or((rest, ""));
    let said = says.split_once(", ").and_then(|(envoys, ours)| {
        let envoys = match envoys {
            "envoy accepts" => Envoys::Accepts,
            "envoy rejects" => Envoys::Rejects,
            _ => return None,
        };
        Some((envoys, found(ours)?))
    });
    let (envoys, ours) = said.unwrap_or_else(|| panic!("{name}: {says:?}"));
    Case {
        name: name.to_owned(),
        envoys,
        ours,
        snapshot: base.clone().changed_by(changes).snapshot(),
    }
}

fn found(text: &str) -> Option<Ours> {
    if let Some(reason) = text.strip_prefix("not found: ") {
        return Some(Ours::Cannot(reason.to_owned()));
    }
    let kind = text.strip_prefix("found ")?;
    if kind == "nothing" {
        return Some(Ours::FindsNothing);
    }
    let kinds = FindingKind::ALL.into_iter();
    kinds
        .map(|known| (known.to_string(), known))
        .find(|(word, _)| word == kind)
        .map(|(_, kind)| Ours::Finds(kind))
}
