//! The resources that there can be, and what a client can ask for.

use std::collections::BTreeSet;

use portolan_core::{Name, Resource, ResourceBuilder, TypeUrl};
use proptest::prelude::*;

/// Number of names. The second half of them is in URL form.
pub(crate) const COUNT: usize = 8;
const PLAIN: usize = COUNT / 2;

/// What resources can have for aliases, one of which is another one's name.
const ALIASES: [&str; 3] = ["r/x", "r/y", "r/n0"];

/// What a resource is apart from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) revision: u8,
    pub(crate) aliases: [bool; ALIASES.len()],
    pub(crate) on_demand: bool,
}

/// What stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Star,
    /// By its number, as it is spelled.
    Name(usize, Spelling),
    Alias(usize),
    Glob(usize, Spelling),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Canonical,
    Other,
}

pub(crate) fn asked() -> impl Strategy<Value = Asked> {
    let spelling = || prop_oneof![Just(Spelling::Canonical), Just(Spelling::Other)];
    prop_oneof![
        1 => Just(Asked::Star),
        6 => (0..COUNT, spelling()).prop_map(|(number, spelling)| Asked::Name(number, spelling)),
        4 => (0..ALIASES.len()).prop_map(Asked::Alias),
        3 => (0..2_usize, spelling()).prop_map(|(number, spelling)| Asked::Glob(number, spelling)),
    ]
}

impl Asked {
    /// What the client writes.
    pub(crate) fn text(self, type_url: &TypeUrl) -> String {
        match self {
            Self::Star => "*".to_owned(),
            Self::Alias(at) => ALIASES[at].to_owned(),
            Self::Name(number, _) if number < PLAIN => format!("r/n{number}"),
            Self::Name(number, spelling) => {
                url(type_url, number % 2, &format!("n{number}"), spelling)
            }
            Self::Glob(directory, spelling) => url(type_url, directory, "*", spelling),
        }
    }
}

fn url(type_url: &TypeUrl, directory: usize, last: &str, spelling: Spelling) -> String {
    let message = type_url.as_str().rsplit('/').next().unwrap_or_default();
    let query = match spelling {
        Spelling::Canonical => "a=1&b=2",
        Spelling::Other => "b=2&a=%31",
    };
    format!("xdstp://a/{message}/d{directory}/{last}?{query}")
}

pub(crate) fn name(type_url: &TypeUrl, number: usize) -> Name {
    Asked::Name(number, Spelling::Canonical)
        .text(type_url)
        .into()
}

pub(crate) fn resource(type_url: &TypeUrl, number: usize, content: Content) -> ResourceBuilder {
    let body = format!("rev={}", content.revision);
    let resource = Resource::builder(type_url.clone(), name(type_url, number), body);
    let aliases = ALIASES.iter().zip(content.aliases);
    let aliases = aliases.filter_map(|(alias, has)| has.then_some(*alias));
    aliases.fold(
        resource.on_demand(content.on_demand),
        ResourceBuilder::alias,
    )
}

/// All that a resource is found by, worked out from its number.
pub(crate) fn identifiers(type_url: &TypeUrl, number: usize, content: Content) -> BTreeSet<String> {
    let aliases = (0..ALIASES.len()).filter(|at| content.aliases[*at]);
    let mut all: BTreeSet<_> = aliases.map(|at| Asked::Alias(at).text(type_url)).collect();
    all.insert(Asked::Name(number, Spelling::Canonical).text(type_url));
    if number >= PLAIN {
        all.insert(Asked::Glob(number % 2, Spelling::Canonical).text(type_url));
    }
    all
}

/// The canonical text of what was asked for.
pub(crate) fn meant(type_url: &TypeUrl, asked: Asked) -> String {
    match asked {
        Asked::Name(number, _) => Asked::Name(number, Spelling::Canonical).text(type_url),
        Asked::Glob(number, _) => Asked::Glob(number, Spelling::Canonical).text(type_url),
        other => other.text(type_url),
    }
}
