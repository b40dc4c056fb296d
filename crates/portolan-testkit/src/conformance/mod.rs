//! The rules of the protocol as conversations that a server must have, and how to have them with yours.
//!
//! Every [`Case`] cites the rules that it proves and says what a client sends and what it must get, in state of the
//! world, in delta, or in both. A [`Run`] is one variant of a case on one kind of service: aggregated, or of one type.
//! [`check`] has all conversations with sessions that read from a source of yours, once it is a [`Subject`]; a [`Bed`] is
//! what else cases can be played against, such as a server behind a network.
//!
//! ```
//! use portolan_testkit::Shelf;
//! use portolan_testkit::conformance;
//!
//! let report = conformance::check(&Shelf::new);
//! assert!(report.failures().is_empty(), "{report}");
//! ```
//!
//! # What a server is expected to be set up as
//! As [`Plan::config`] says, which is [`Setup::default_config`](crate::Setup::default_config) but for what a case is
//! about: [`Transitions::Safe`](portolan_engine::Transitions::Safe) with its default times, and
//! [`FixtureReferences`](crate::fixture::FixtureReferences) to read what resources refer to. So a route to a new cluster
//! waits, and a cluster that is gone stays, in every case in which something leads to one. [`check`] sees to that by
//! itself; a [`Bed`] hands the configuration to the server that it makes.
//!
//! # How a case is written
//! ```text
//! case C-078 C-119: names that come with an acknowledgement count
//!   sotw
//!     put EDS a b
//!     > EDS [a]
//!     < EDS v1 n1 [a]
//!     > ACK EDS n1 [a b]
//!     < EDS v1 n2 [b]
//! ```
//! `for LDS CDS`, on the first line, makes a case of each of these types, which the lines below call `T`.
//!
//! Above the scripts: `only ads` or `only single` where a case is not about both kinds of service (one that asks for
//! several types runs on the aggregated one anyway), `with legacy_wildcard=off`, `with max_response=<bytes>`,
//! `with ttl=always` or `never`, `with transitions=ordered` where it is not about safe ones,
//! `with parameters=env=prod` for names that come without; of the client, `with features=a,b` and
//! `with user_agent=envoy`. A script has these lines, and others of these kinds fail it: whatever comes must be expected,
//! in this order, and nothing may be left at its end.
//!
//! | line | meaning |
//! |---|---|
//! | `put CDS a b@2 c{sds=s}` | puts resources into the next publication: by name, with a revision of the content, with other [words](crate::fixture) for a body than usual, of which `on-demand` says that no wildcard covers it and `base` that one does, `ttl=2s` how long it lives, and `alias=b` what else it is found by |
//! | `remove EDS a` | takes one out |
//! | `pending EDS a b` | says that it is not known yet whether there are such resources |
//! | `fail EDS not_found a b` | puts errors in the place of resources; `not_found:text` says why |
//! | `label CDS v9` | gives a type a label |
//! | `publish` | publishes what the lines before say; without it the next line that is none of these does. By itself, an empty publication or the same again |
//! | `unpublish` | takes the publication back |
//! | `> EDS [a b]` | state of the world: asks for names, with the version last accepted and the newest nonce. `v=` `n=` `v=v1` `n=n1` `n="other"` give others |
//! | `> EDS +[a] -[b] irv[a b@2 c@"x"]` | delta: subscribes, unsubscribes, tells what an earlier stream left; `n=n1` as well |
//! | `> ACK EDS n1`, `> NACK EDS n1` | answers a response, with names, `+[a]`, `err=13:"text"` if wanted |
//! | `< EDS v1 n1 [a@2]` | state of the world: this comes. Another `v` is another version, however it is marked, and `"v9"` is that text |
//! | `< EDS n1 [a@2] -[b] ?[c]` | delta: resources, which have the versions that were published, removed names, names without a body; a version as well |
//! | `< EDS v1 n2 [a@2~2s] ~[b~4s]` | resources with their times to live, and heartbeats, of which each has the version that it must have |
//! | `< EDS v1 n1 [a] ![b:not_found]` | errors, in either variant; with a text `![b:not_found:text]` |
//! | `quiet` | nothing comes, and what was sent is heard before what is published next; in a row they are under way together |
//! | `wait 5s` | nothing has come, and time passes; behind a network each line takes some milliseconds more |
//! | `hold`, `release` | the client ceases to read, reads again |
//! | `stream 2` | goes on with another stream of the same node |
//! | `reconnect`, `restart` | a new stream; a new server and a new stream |
//! | `! invalid_argument` | the server ended the stream with this code |
//! | `* nacked EDS n1 "text"`, `* nacked EDS n1 err=13:"text"` | the embedder was told; also `acked`, `stale`; `* no nacked` when it was told no more |
//!
//! What refers to what is in the words of bodies. `put CDS a` is a cluster whose endpoints are `EDS a`, and any other
//! resource refers to nothing, unless its words say more:
//!
//! | words | refers to |
//! |---|---|
//! | `CDS a{}`, `a{eds=s}`, `a{sds=x}`, `a{to=m1 to=m2}`, `a{eds=a health-check}` | no endpoints; those of `s`; a secret; the members of an aggregate; endpoints, but it checks their health before it is ready |
//! | `LDS l{rds=r}`, `l{to=a}`, `l{ecds=e sds=x}` | a route table; a cluster by itself; an extension and a secret |
//! | `SRDS s{rds=r}`, `RDS r{to=a to=b}`, `r{vhds=r/}`, `VHDS r/h{on-demand to=a}` | a route table; clusters; virtual hosts; a cluster |
//!
//! A type is named as everybody names it, or by its URL; `?` is no type. A name that is asked for with dynamic parameters
//! is written `a<env=prod,version=v1>`, and `a<>` is a locator without any; a resource that has constraints
//! `a<&(env=prod,!version?)>`, as they are [displayed](portolan_core::Constraints).

mod bed;
mod case;
mod memory;
mod play;
mod simulation;
mod step;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::sync::Arc;

use portolan_core::{Node, Snapshot, Source, TypeUrl};
use portolan_engine::Variant;

pub use self::bed::{Answer, AnswerError, AnswerHeartbeat, AnswerResource, Bed, Plan};
pub use self::case::{Case, CaseError};
use self::case::{Only, Script};
use self::play::Player;
use self::simulation::Simulation;
use crate::{Setup, Shelf};

/// The id of the node that all streams of a case come from.
pub const NODE: &str = "testkit";

/// The groups of rules, and their cases.
const GROUPS: [(&str, &str); 29] = [
    ("STREAM", include_str!("cases/stream.txt")),
    ("TYPES", include_str!("cases/types.txt")),
    ("SUB", include_str!("cases/sub.txt")),
    ("SUB", include_str!("cases/sub_wildcard.txt")),
    ("ACK", include_str!("cases/ack.txt")),
    ("ACK", include_str!("cases/ack_rejections.txt")),
    ("DEL", include_str!("cases/del.txt")),
    ("DSUB", include_str!("cases/dsub.txt")),
    ("DSUB", include_str!("cases/dsub_resumed.txt")),
    ("DACK", include_str!("cases/dack.txt")),
    ("DDEL", include_str!("cases/ddel.txt")),
    ("VHDS", include_str!("cases/vhds.txt")),
    ("VHDS", include_str!("cases/vhds_aliases.txt")),
    ("ORDER", include_str!("cases/order.txt")),
    ("ORDER", include_str!("cases/order_waits.txt")),
    ("ORDER", include_str!("cases/order_removals.txt")),
    ("WARM", include_str!("cases/warm.txt")),
    ("WARM", include_str!("cases/warm_parents.txt")),
    ("WARM", include_str!("cases/warm_moves.txt")),
    ("NOEXIST", include_str!("cases/noexist.txt")),
    ("TP1", include_str!("cases/tp1.txt")),
    ("TP1", include_str!("cases/tp1_globs.txt")),
    ("ODEM", include_str!("cases/odem.txt")),
    ("TTL", include_str!("cases/ttl.txt")),
    ("TTL", include_str!("cases/ttl_refresh.txt")),
    ("TP3", include_str!("cases/tp3.txt")),
    ("DUP", include_str!("cases/dup.txt")),
    ("TP2", include_str!("cases/tp2.txt")),
    ("SIZE", include_str!("cases/size.txt")),
];

/// A source, and what can be published through it.
pub trait Subject {
    /// The source; its clones read the same.
    type Source: Source + Clone + 'static;

    /// What sessions read from.
    fn source(&self) -> Self::Source;

    /// Makes this what the node [`NODE`] is served.
    fn publish(&self, snapshot: Snapshot);

    /// Takes back whatever was published for it.
    fn unpublish(&self);
}

impl Subject for Shelf {
    type Source = Self;

    fn source(&self) -> Self {
        self.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        // The inherent method, of the same name.
        Self::publish(self, snapshot);
    }

    fn unpublish(&self) {
        self.clear();
    }
}

/// All cases.
///
/// # Panics
/// Never: they are part of this crate, and a test reads them.
#[must_use]
pub fn cases() -> Vec<Case> {
    let parse = |(group, text): &(&str, &str)| {
        let cases = Case::parse(text);
        cases.unwrap_or_else(|error| panic!("cases of {group}: {error}"))
    };
    GROUPS.iter().flat_map(parse).collect()
}

/// Everything that these cases can be run on.
#[must_use]
pub fn runs(cases: impl IntoIterator<Item = Case>) -> Vec<Run> {
    let mut runs = Vec::new();
    for case in cases {
        let case = Arc::new(case);
        for (index, script) in case.scripts.iter().enumerate() {
            let single = script.only_type().map(TypeUrl::from);
            let only = case.options.only;
            let of = |single| Run {
                case: Arc::clone(&case),
                index,
                single,
            };
            if only != Some(Only::Single) {
                runs.push(of(None));
            }
            if only != Some(Only::Aggregated) && single.is_some() {
                runs.push(of(single));
            }
        }
    }
    runs
}

/// Plays all cases against sessions that read from what `make` makes anew for each, and that are set up as each case needs
/// it: with safe transitions, unless it says otherwise, and with references read from [fixtures](crate::fixture).
pub fn check<S: Subject>(make: &dyn Fn() -> S) -> Report {
    let mut report = Report::default();
    for run in runs(cases()) {
        report.played += 1;
        if let Err(failure) = run.simulate(make) {
            report.failures.push(failure);
        }
    }
    report
}

/// A case in one variant, on one kind of service.
#[derive(Clone, Debug)]
pub struct Run {
    case: Arc<Case>,
    index: usize,
    single: Option<TypeUrl>,
}

impl Run {
    /// The case.
    #[must_use]
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// The type that it is about, if all that is published and asked for is of one: what a source of one type can be
    /// run on.
    #[must_use]
    pub fn only_type(&self) -> Option<TypeUrl> {
        let only = self.script().only_type().map(TypeUrl::from)?;
        self.script().publishes_only(&only).then_some(only)
    }

    /// Whether it needs a client that ceases to read and reads again; not every [`Bed`] has one.
    #[must_use]
    pub fn has_slow_reader(&self) -> bool {
        self.script().has_slow_reader()
    }

    /// What it needs of a server.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let options = &self.case.options;
        let mut config = Setup::default_config();
        if let Some(on) = options.legacy_wildcard {
            config = config.with_legacy_wildcard(on);
        }
        if let Some(bytes) = options.max_response {
            config = config.with_max_response(bytes);
        }
        if let Some(policy) = options.ttl {
            config = config.with_ttl(policy);
        }
        if let Some(transitions) = &options.transitions {
            config = config.with_transitions(transitions.clone());
        }
        let mut node = Node::new(NODE);
        if let Some(name) = &options.user_agent {
            node = node.with_user_agent(name, "");
        }
        for feature in &options.features {
            node = node.with_client_feature(feature);
        }
        Plan {
            node,
            variant: self.script().variant,
            single: self.single.clone(),
            config,
            parameters: options.parameters.clone(),
        }
    }

    /// Plays it against a server that was just made as [`plan`](Self::plan) says.
    ///
    /// # Errors
    /// What did not come out as the case says.
    pub fn play(&self, bed: &mut dyn Bed) -> Result<(), Failure> {
        let played = Player::new(bed, self.script()).play();
        played.map_err(|reason| Failure {
            run: self.to_string(),
            reason,
        })
    }

    /// Plays it against a session, in virtual time.
    ///
    /// # Errors
    /// What did not come out as the case says.
    pub fn simulate<S: Subject>(&self, make: &dyn Fn() -> S) -> Result<(), Failure> {
        self.play(&mut Simulation::new(make, self.plan()))
    }

    fn script(&self) -> &Script {
        &self.case.scripts[self.index]
    }
}

/// The rules, the variant, the service, the title: `c078_c119/sotw/ads names that …`.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<_> = self
            .case
            .rules
            .iter()
            .map(|r| r.replace("C-", "c"))
            .collect();
        let variant = match self.script().variant {
            Variant::Sotw => "sotw",
            _ => "delta",
        };
        let service = match self.single {
            Some(_) => "single",
            None => "ads",
        };
        let title = &self.case.title;
        write!(f, "{}/{variant}/{service} {title}", rules.join("_"))
    }
}

/// A run that did not come out as its case says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{run}: {reason}")]
pub struct Failure {
    run: String,
    reason: String,
}

/// What came of all cases.
#[derive(Clone, Debug, Default)]
pub struct Report {
    played: usize,
    failures: Vec<Failure>,
}

impl Report {
    /// Number of runs.
    #[must_use]
    pub fn played(&self) -> usize {
        self.played
    }

    /// The runs that did not come out.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} failed", self.failures.len(), self.played)?;
        self.failures
            .iter()
            .try_for_each(|failure| writeln!(f, "{failure}"))
    }
}
