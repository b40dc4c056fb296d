//! Random configurations, connections and rejections against a client that behaves as Envoy does.
//!
//! Whatever happened: when all is read, Envoy serves what there is, and never waited for something that existed until
//! its patience ended.

mod seeded;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::{Name, Snapshot};
use portolan_engine::{SafeTimes, Transitions};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, Setup, Shelf};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const CLUSTERS: [&str; 5] = ["a", "b", "c", "d", "e"];
const TABLES: [&str; 3] = ["r0", "r1", "r2"];
const LISTENERS: [&str; 3] = ["l0", "l1", "l2"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Static,
    Discovered,
    /// Takes its endpoints from the assignment of the first cluster.
    Shared,
    /// Envoy rejects it.
    Bad,
}

#[derive(Clone, Debug)]
enum Edit {
    Cluster(usize, Option<(Kind, u32)>),
    Endpoints(usize, u32),
    Listener(usize, Option<(usize, u32)>),
    Table(usize, u32),
}

#[derive(Clone, Debug)]
enum Op {
    Publish(Vec<Edit>),
    /// Reads, sends and is written to as it says, for the time of one publication.
    Hinder {
        read: bool,
        send: bool,
        window: usize,
        edits: Vec<Edit>,
    },
    Pass(u64),
    /// Loses the stream; what is published before the next.
    Reconnect(Vec<Edit>),
}

#[derive(Default)]
struct Model {
    all_good: bool,
    clusters: BTreeMap<usize, (Kind, u32)>,
    endpoints: BTreeMap<usize, u32>,
    listeners: BTreeMap<usize, (usize, u32)>,
    tables: BTreeMap<usize, u32>,
}

impl Model {
    fn apply(&mut self, edits: &[Edit]) {
        for edit in edits {
            match *edit {
                Edit::Cluster(at, Some(cluster)) => drop(self.clusters.insert(at, cluster)),
                Edit::Cluster(at, None) => drop(self.clusters.remove(&at)),
                Edit::Endpoints(at, revision) => drop(self.endpoints.insert(at, revision)),
                Edit::Listener(at, Some(listener)) => drop(self.listeners.insert(at, listener)),
                Edit::Listener(at, None) => drop(self.listeners.remove(&at)),
                Edit::Table(at, revision) => drop(self.tables.insert(at, revision)),
            }
        }
    }

    fn cluster(&self, at: usize) -> Option<Fixture> {
        let (kind, revision) = *self.clusters.get(&at)?;
        let name = CLUSTERS[at];
        let cluster = match kind {
            Kind::Static => fixture::static_cluster(name),
            Kind::Discovered => fixture::cluster(name),
            Kind::Shared => fixture::cluster(name).service(CLUSTERS[0]),
            Kind::Bad if self.all_good => fixture::cluster(name),
            Kind::Bad => fixture::cluster(name).bad(),
        };
        Some(cluster.revision(revision))
    }

    /// Every assignment and every table exists: what is waited for comes.
    fn snapshot(&self) -> Snapshot {
        let clusters = (0..CLUSTERS.len()).filter_map(|at| self.cluster(at));
        let endpoints = CLUSTERS.iter().enumerate().map(|(at, name)| {
            let host = self.endpoints.get(&at).copied().unwrap_or(0);
            fixture::endpoints(*name, host)
        });
        let listeners = self.listeners.iter().map(|(at, (table, revision))| {
            fixture::listener(LISTENERS[*at], TABLES[*table]).revision(*revision)
        });
        let tables = TABLES.iter().enumerate().map(|(at, name)| {
            let revision = self.tables.get(&at).copied().unwrap_or(0);
            fixture::route(*name, ["a"]).revision(revision)
        });
        let mut snapshot = Snapshot::builder();
        for fixture in clusters.chain(endpoints).chain(listeners).chain(tables) {
            snapshot.insert(fixture.into()).expect("names differ");
        }
        snapshot.build()
    }

    fn without_bad(&mut self) {
        for (kind, _) in self.clusters.values_mut() {
            if *kind == Kind::Bad {
                *kind = Kind::Discovered;
            }
        }
    }
}

fn text(fixture: &Fixture) -> String {
    let body = fixture.clone().build().body();
    String::from_utf8(body.to_vec()).expect("bodies of fixtures are texts")
}

/// What Envoy should serve of a model without bad clusters.
fn check(model: &Model, envoy: &EnvoyClient) -> Result<(), String> {
    let waits = (envoy.warming_clusters(), envoy.warming_listeners());
    if !(waits.0.is_empty() && waits.1.is_empty()) || envoy.fetch_timeouts() > 0 {
        return Err(format!(
            "waits for {waits:?}, waited in vain {} times",
            envoy.fetch_timeouts()
        ));
    }
    let served = |(at, name): (usize, &&str)| {
        let cluster = model.cluster(at)?;
        Some((Name::from(*name), text(&cluster)))
    };
    let clusters: BTreeMap<_, _> = CLUSTERS.iter().enumerate().filter_map(served).collect();
    if envoy.clusters() != clusters {
        return Err(format!("serves {:?}, not {clusters:?}", envoy.clusters()));
    }
    for (at, (kind, _)) in &model.clusters {
        let assignment = match kind {
            Kind::Static | Kind::Bad => continue,
            Kind::Discovered => *at,
            Kind::Shared => 0,
        };
        let host = model.endpoints.get(&assignment).copied().unwrap_or(0);
        let (has, expected) = (envoy.endpoints(CLUSTERS[*at]), format!("host={host}"));
        if has != Some(&expected) {
            return Err(format!("{} has {has:?}, not {expected}", CLUSTERS[*at]));
        }
    }
    let tables: BTreeSet<_> = model.listeners.values().map(|(table, _)| *table).collect();
    for table in tables {
        let revision = model.tables.get(&table).copied().unwrap_or(0);
        let expected = text(&fixture::route(TABLES[table], ["a"]).revision(revision));
        if envoy.routes().get(TABLES[table]) != Some(&expected) {
            return Err(format!("routes are {:?}, not {expected}", envoy.routes()));
        }
    }
    match envoy.listeners().len() == model.listeners.len() {
        true => Ok(()),
        false => Err(format!("listeners are {:?}", envoy.listeners())),
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let kind = select(vec![
        Kind::Static,
        Kind::Discovered,
        Kind::Discovered,
        Kind::Shared,
        Kind::Bad,
    ]);
    let cluster = proptest::option::weighted(0.8, (kind, 0..4u32));
    let listener = proptest::option::weighted(0.8, (0..TABLES.len(), 0..3u32));
    let edit = prop_oneof![
        4 => (0..CLUSTERS.len(), cluster).prop_map(|(at, c)| Edit::Cluster(at, c)),
        2 => (0..CLUSTERS.len(), 0..4u32).prop_map(|(at, h)| Edit::Endpoints(at, h)),
        2 => (0..LISTENERS.len(), listener).prop_map(|(at, l)| Edit::Listener(at, l)),
        1 => (0..TABLES.len(), 0..4u32).prop_map(|(at, r)| Edit::Table(at, r)),
    ];
    vec(edit, 1..5)
}

fn op() -> impl Strategy<Value = Op> {
    let hinder = (any::<bool>(), any::<bool>(), 0..3usize, edits());
    prop_oneof![
        4 => edits().prop_map(Op::Publish),
        3 => hinder.prop_map(|(read, send, window, edits)| Op::Hinder { read, send, window, edits }),
        1 => (0..3_000u64).prop_map(Op::Pass),
        2 => edits().prop_map(Op::Reconnect),
    ]
}

fn run(kind: EnvoyMux, latency: u64, ops: &[Op]) -> Result<(), String> {
    let (shelf, mut model) = (Shelf::new(), Model::default());
    // What Envoy applied of a rejected response it tells on a new stream neither in delta nor by its version, so that
    // no server can get that right.
    model.all_good = ops.iter().any(|op| matches!(op, Op::Reconnect(_)));
    shelf.publish(model.snapshot());
    let drain = Duration::from_secs(2);
    let times = SafeTimes::default().with_drain(drain);
    let config = Setup::default_config().with_transitions(Transitions::Safe(times));
    let setup = Setup::default().with_config(config);
    let setup = setup.with_latency(Duration::from_millis(latency));
    let client = EnvoyClient::new(kind).with_drain_time(drain);
    let mut pair = Pair::open(client, &shelf, setup);
    for op in ops {
        match op {
            Op::Publish(edits) => {
                model.apply(edits);
                shelf.publish(model.snapshot());
            }
            Op::Hinder {
                read,
                send,
                window,
                edits,
            } => {
                pair.set_reading(*read);
                pair.set_sending(*send);
                pair.set_window(*window);
                model.apply(edits);
                shelf.publish(model.snapshot());
                pair.advance(Duration::from_millis(500));
                pair.set_reading(true);
                pair.set_sending(true);
                pair.set_window(usize::MAX);
            }
            Op::Pass(ms) => pair.advance(Duration::from_millis(*ms)),
            Op::Reconnect(edits) => {
                pair.disconnect();
                model.apply(edits);
                shelf.publish(model.snapshot());
                pair.connect();
            }
        }
        pair.drive();
    }
    model.without_bad();
    shelf.publish(model.snapshot());
    pair.advance(Duration::from_secs(12));
    check(&model, &pair.client).map_err(|why| format!("{why}\n{}", pair.transcript()))
}

proptest! {
    #![proptest_config(seeded::config(256))]

    #[test]
    fn envoy_serves_what_there_is_and_never_waits_in_vain(
        kind in select(EnvoyMux::ALL.to_vec()),
        latency in select(vec![0, 10, 40]),
        ops in vec(op(), 1..25),
    ) {
        run(kind, latency, &ops).map_err(TestCaseError::fail)?;
    }
}
