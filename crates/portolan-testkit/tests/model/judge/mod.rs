//! Listens to one stream, at the server's end, and says what of it was wrong.
//!
//! Independent of the session: it knows requests, publications and responses, and from them what the client was told,
//! what must be answered, and what was rejected. It does not foresee responses; it says of each whether there was a
//! reason for it, and, when the session has nothing more to say, whether everything was said.

mod request;
mod response;
mod rest;
mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use portolan_core::TypeUrl;
use portolan_engine::{Event, Variant};

use self::told::Type;
use crate::content::{Content, Contents, KINDS, TYPES, number, of_type};
use crate::store::Store;

/// What an earlier answer that held everything held, by type and version.
pub(crate) type Versions = BTreeMap<(usize, String), Vec<(usize, Content)>>;

/// How long a change waits for a client that says nothing.
const UNREAD: Duration = Duration::from_secs(5);

/// Most names that a server remembers one by one of what a client was told of.
const REMEMBERED: usize = 64;

pub(crate) struct Rules {
    pub(crate) variant: Variant,
    /// All types are on this stream.
    pub(crate) aggregated: bool,
    pub(crate) max_unacked: usize,
    /// Responses are not cut.
    pub(crate) whole: bool,
}

pub(crate) struct Judge {
    rules: Rules,
    types: [Type; TYPES],
    newest: u64,
    /// The newest response that the client has read, by its answers.
    read: u64,
    /// The newest that it may be taken to have read, by what it asks for.
    read_at_most: u64,
    last: Option<Last>,
    /// The publications that the responses since the last silence were made from.
    turns: Vec<Arc<Contents>>,
    /// Whether the session takes the rejection that it hears for one of an answer before the newest.
    overtaken: Option<bool>,
    settled: Option<(u64, bool)>,
}

/// The response before.
struct Last {
    at: usize,
    generation: u64,
}

/// What a server remembers of a type when a stream ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distrust {
    /// What the client may or may not have.
    pub(crate) names: BTreeSet<usize>,
    /// What else is taken for that.
    pub(crate) more: BTreeSet<usize>,
}

impl Distrust {
    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.more.is_empty()
    }
}

/// What the session has to report of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Acked(usize, u64),
    Nacked {
        at: usize,
        nonce: u64,
        stale: bool,
    },
    Stale(usize),
    Interest {
        at: usize,
        added: Vec<usize>,
        removed: Vec<usize>,
        wildcard: bool,
    },
}

impl Heard {
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let nonce = |nonce: &portolan_engine::Nonce| nonce.to_string().parse().expect("a number");
        let at = |url: &TypeUrl| KINDS.iter().position(|kind| kind.url == *url);
        Some(match event {
            Event::Acked {
                type_url, nonce: n, ..
            } => Self::Acked(at(type_url)?, nonce(n)),
            Event::Nacked {
                type_url,
                nonce: n,
                stale,
                ..
            } => Self::Nacked {
                at: at(type_url)?,
                nonce: nonce(n),
                stale: *stale,
            },
            Event::StaleNonce { type_url, .. } => Self::Stale(at(type_url)?),
            Event::Interest {
                type_url,
                added,
                removed,
                wildcard,
            } => Self::Interest {
                at: at(type_url)?,
                added: added.iter().map(|n| number(n)).collect(),
                removed: removed.iter().map(|n| number(n)).collect(),
                wildcard: *wildcard,
            },
            _ => return None,
        })
    }
}

impl Judge {
    pub(crate) fn new(rules: Rules, distrusted: [Distrust; TYPES]) -> Self {
        Self {
            rules,
            types: distrusted.map(Type::new),
            newest: 0,
            read: 0,
            read_at_most: 0,
            last: None,
            turns: Vec::new(),
            overtaken: None,
            settled: None,
        }
    }

    /// What the server remembers when the stream ends now.
    pub(crate) fn unsettled(&self) -> [Distrust; TYPES] {
        std::array::from_fn(|at| self.types[at].unsettled())
    }

    pub(crate) fn variant(&self) -> Variant {
        self.rules.variant
    }

    /// All that there is of a type, where the last response said that a client that accepts it has that.
    pub(crate) fn everything(&self, at: usize, store: &Store) -> Option<Vec<(usize, Content)>> {
        let last = self.last.as_ref().filter(|last| last.at == at)?;
        let contents = store.publication(last.generation)?;
        let everything = self.types[at].wants.is_pure_wildcard();
        (everything && self.rules.variant == Variant::Sotw)
            .then(|| of_type(&contents, at).collect())
    }

    /// No more is remembered than was agreed.
    pub(crate) fn check_bounds(&self) -> Result<(), String> {
        let most = self.types.iter().map(|ty| ty.in_flight.len()).max();
        match most.is_some_and(|most| most > self.rules.max_unacked) {
            true => Err("too many responses are waited for".to_owned()),
            false => Ok(()),
        }
    }

    /// Names subscribed over all types.
    pub(crate) fn names(&self) -> usize {
        self.types.iter().map(|ty| ty.wants.names.len()).sum()
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Settled {
                generation,
                rejecting,
            } => {
                if self.types.iter().any(|ty| !ty.in_flight.is_empty()) {
                    return Err("it settles before it is answered".to_owned());
                }
                let settled = Some((generation.get(), *rejecting));
                match std::mem::replace(&mut self.settled, settled) == settled {
                    true => Err("it settles twice".to_owned()),
                    false => Ok(()),
                }
            }
            Event::AssumedAccepted { type_url, nonce } => {
                let at = KINDS.iter().position(|kind| kind.url == *type_url);
                let nonce = nonce.to_string().parse().expect("a number");
                self.types[at.expect("a type")].assume(nonce, self.rules.max_unacked)
            }
            _ => Ok(()),
        }
    }
}
