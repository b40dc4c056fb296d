//! What is published, and what the specification says of the types.

use std::collections::BTreeMap;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET, VIRTUAL_HOST};
use portolan_core::{Resource, ResourceFailure, SnapshotBuilder, TypeUrl};
use portolan_testkit::fixture::{self, Fixture};

/// The types of the model, in the order in which they are answered.
pub(crate) const TYPES: usize = 6;
pub(crate) const CDS: usize = 1;
pub(crate) const EDS: usize = 2;

/// What delta says of a name that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Removed,
    RemovedUnlessReferenced,
    Silence,
    NoBody,
}

pub(crate) struct Kind {
    pub(crate) url: TypeUrl,
    /// A state-of-the-world response holds everything.
    pub(crate) full_state: bool,
    /// A first request without names means everything.
    pub(crate) legacy: bool,
    /// Its changes do not wait for those of types before it.
    pub(crate) independent: bool,
    pub(crate) missing: Missing,
}

const fn kind(url: TypeUrl, full_state: bool, independent: bool, missing: Missing) -> Kind {
    Kind {
        url,
        full_state,
        legacy: full_state,
        independent,
        missing,
    }
}

pub(crate) const KINDS: [Kind; TYPES] = [
    kind(SECRET, false, true, Missing::Silence),
    kind(CLUSTER, true, false, Missing::Removed),
    kind(ENDPOINT, false, true, Missing::RemovedUnlessReferenced),
    kind(LISTENER, true, false, Missing::Removed),
    kind(ROUTE, false, false, Missing::Removed),
    Kind {
        url: VIRTUAL_HOST,
        full_state: false,
        legacy: true,
        independent: false,
        missing: Missing::NoBody,
    },
];

/// How a client takes a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quality {
    Good,
    /// It is rejected; what is good beside it is applied.
    Bad,
    /// It is rejected, with all that comes with it.
    Garbled,
    /// It cannot be had, which a client is told in its place.
    Failed,
    /// The same, because it does not exist.
    NotFound,
}

impl Quality {
    /// Whether it stands for an error in place of a resource.
    pub(crate) fn is_error(self) -> bool {
        matches!(self, Self::Failed | Self::NotFound)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Content {
    pub(crate) revision: u32,
    pub(crate) quality: Quality,
}

/// All that is published, by type and number.
pub(crate) type Contents = BTreeMap<(usize, usize), Content>;

/// The part of a type.
pub(crate) fn of_type(
    contents: &Contents,
    at: usize,
) -> impl Iterator<Item = (usize, Content)> + '_ {
    let range = contents.range((at, 0)..(at + 1, 0));
    range.map(|((_, number), content)| (*number, *content))
}

pub(crate) fn name(number: usize) -> String {
    format!("n{number:03}")
}

pub(crate) fn number(name: &str) -> usize {
    let digits = name.strip_prefix('n');
    digits.and_then(|d| d.parse().ok()).expect("a name of ours")
}

/// Whether a resource is left out of wildcards. Errors are; some clusters are always, some in one of their revisions.
pub(crate) fn is_on_demand(at: usize, number: usize, content: Content) -> bool {
    match at {
        _ if content.quality.is_error() => true,
        CDS => number % 4 == 3 || (number % 4 == 1 && content.revision == 2),
        5 => true,
        _ => false,
    }
}

/// The assignment of a cluster: its own, or in one revision its neighbour's.
pub(crate) fn assignment(number: usize, content: Content) -> Option<usize> {
    let assignment = number - usize::from(content.revision == 3 && number > 0);
    (!content.quality.is_error()).then_some(assignment)
}

pub(crate) fn is_referenced(contents: &Contents, number: usize) -> bool {
    of_type(contents, CDS).any(|(cluster, content)| assignment(cluster, content) == Some(number))
}

fn fixture(at: usize, number: usize, content: Content) -> Fixture {
    let name = name(number);
    let assignment = assignment(number, content).unwrap_or(number);
    let fixture = match at {
        0 => fixture::secret(name),
        CDS => fixture::cluster(name).service(self::name(assignment)),
        EDS => fixture::endpoints(name, "1"),
        3 => fixture::listener(name, "n000"),
        4 => fixture::route(name, ["n000"]),
        _ => fixture::virtual_host(name),
    };
    let fixture = fixture
        .on_demand(is_on_demand(at, number, content))
        .revision(content.revision);
    match content.quality {
        Quality::Good | Quality::Failed | Quality::NotFound => fixture,
        Quality::Bad => fixture.bad(),
        Quality::Garbled => fixture.garbled(),
    }
}

pub(crate) fn failure(content: Content) -> Option<ResourceFailure> {
    let why = content.revision.to_string();
    match content.quality {
        Quality::Failed => Some(ResourceFailure::unavailable(why)),
        Quality::NotFound => Some(ResourceFailure::not_found(why)),
        _ => None,
    }
}

pub(crate) fn resource(at: usize, number: usize, content: Content) -> Resource {
    match failure(content) {
        Some(failure) => Resource::failed(KINDS[at].url.clone(), name(number), failure)
            .expect("it has a name and a type"),
        None => fixture(at, number, content).build(),
    }
}

/// Puts what there is of a name into a snapshot.
pub(crate) fn put(builder: &mut SnapshotBuilder, at: usize, number: usize, content: Content) {
    let put = match failure(content) {
        Some(failure) => builder.fail(KINDS[at].url.clone(), name(number), failure),
        None => builder.upsert(fixture(at, number, content).into()),
    };
    put.expect("fixtures have names and types");
}
