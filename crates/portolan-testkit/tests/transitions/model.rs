//! Random histories: at no moment does anything that Envoy serves, or lets drain, lead to a cluster that it cannot use.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use portolan_core::Name;
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{EnvoyMux, Pair, Shelf};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use crate::bed::*;

const CLUSTERS: usize = 5;
const TABLES: usize = 3;

/// What leads somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listener {
    /// A table, or else a cluster.
    to: Result<usize, usize>,
    revision: u32,
}

/// One publication. Every cluster that something leads to exists.
#[derive(Clone, Debug)]
struct Config {
    listeners: BTreeMap<usize, Listener>,
    tables: Vec<Vec<usize>>,
    /// Clusters besides those that something leads to.
    spare: BTreeSet<usize>,
    /// Their revisions; an odd cluster needs no endpoints.
    revisions: Vec<u32>,
    /// Clusters whose endpoints come with the next publication.
    late: BTreeSet<usize>,
    /// A table that Envoy rejects.
    bad: Option<usize>,
}

impl Config {
    fn clusters(&self) -> BTreeSet<usize> {
        let tables = self
            .used()
            .into_iter()
            .flat_map(|table| self.tables[table].clone());
        let inline = self
            .listeners
            .values()
            .filter_map(|listener| listener.to.err());
        tables
            .chain(inline)
            .chain(self.spare.iter().copied())
            .collect()
    }

    fn used(&self) -> BTreeSet<usize> {
        self.listeners
            .values()
            .filter_map(|listener| listener.to.ok())
            .collect()
    }

    fn resources(&self) -> Vec<Fixture> {
        let mut resources = Vec::new();
        for cluster in self.clusters() {
            let name = format!("c{cluster}");
            let revision = self.revisions[cluster];
            if cluster % 2 == 1 {
                resources.push(fixture::static_cluster(name).revision(revision));
                continue;
            }
            resources.push(fixture::cluster(&*name).revision(revision));
            if !self.late.contains(&cluster) {
                resources.push(fixture::endpoints(name, revision));
            }
        }
        for (at, listener) in &self.listeners {
            let name = format!("l{at}");
            let fixture = match listener.to {
                Ok(table) => fixture::listener(name, format!("r{table}")),
                Err(cluster) => fixture::tcp_listener(name).leads_to(format!("c{cluster}")),
            };
            resources.push(fixture.revision(listener.revision));
        }
        for table in self.used() {
            let clusters = self.tables[table]
                .iter()
                .map(|cluster| format!("c{cluster}"));
            let fixture = fixture::route(format!("r{table}"), clusters);
            let is_bad = self.bad == Some(table);
            resources.push(if is_bad { fixture.bad() } else { fixture });
        }
        resources
    }

    /// The same, with all that was late and without what is rejected.
    fn mended(&self) -> Self {
        Self {
            late: BTreeSet::new(),
            bad: None,
            ..self.clone()
        }
    }
}

/// The revision in which each cluster was last published.
#[derive(Default)]
struct Published(BTreeMap<usize, u32>);

impl Published {
    /// The next publication. A cluster that changes comes with its endpoints: without, Envoy replaces one that has some by
    /// one that has none, as it is told to.
    fn next(&mut self, config: &Config) -> Config {
        let mut next = config.clone();
        for cluster in config.clusters() {
            let revision = config.revisions[cluster];
            let before = self.0.insert(cluster, revision);
            if before.is_some_and(|before| before != revision) {
                next.late.remove(&cluster);
            }
        }
        next
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// Publishes, and lets some time pass.
    Publish(Config, u64),
    /// Publishes to a client that does not read, does not send, or takes few responses, for half a second.
    Hinder(Config, bool, bool, usize),
    Pass(u64),
    /// Publishes while the client is away, so many milliseconds; perhaps on a server that knows of nothing before.
    Away(Config, u64, bool),
}

fn configs() -> impl Strategy<Value = Config> {
    let to = prop_oneof![
        3 => (0..TABLES).prop_map(Ok),
        1 => (0..CLUSTERS).prop_map(Err),
    ];
    let listener = (to, 0..2u32).prop_map(|(to, revision)| Listener { to, revision });
    let listeners = proptest::collection::btree_map(0..2usize, listener, 1..3);
    let tables = vec(vec(0..CLUSTERS, 1..3), TABLES);
    let spare = proptest::collection::btree_set(0..CLUSTERS, 0..2);
    let late = proptest::option::weighted(0.2, 0..CLUSTERS);
    let bad = proptest::option::weighted(0.1, 0..TABLES);
    let all = (listeners, tables, spare, vec(0..2u32, CLUSTERS), late, bad);
    all.prop_map(|(listeners, tables, spare, revisions, late, bad)| Config {
        listeners,
        tables,
        spare,
        revisions,
        late: late.into_iter().collect(),
        bad,
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let pass = || select(vec![0, 5, 30, 300, 3_000, 40_000]);
    let soon = || select(vec![0, 5, 30, 300]);
    let op = prop_oneof![
        5 => (configs(), soon()).prop_map(|(config, ms)| Op::Publish(config, ms)),
        2 => (configs(), any::<bool>(), any::<bool>(), 0..3usize)
            .prop_map(|(config, read, send, window)| Op::Hinder(config, read, send, window)),
        2 => pass().prop_map(Op::Pass),
        2 => (configs(), soon(), any::<bool>())
            .prop_map(|(config, ms, anew)| Op::Away(config, ms, anew)),
    ];
    vec(op, 1..20)
}

fn check(pair: &Pair<Witness>, why: &str) -> Result<(), String> {
    match pair.client.faults.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{why}: {:#?}\n{}",
            pair.client.faults,
            pair.transcript()
        )),
    }
}

fn run(kind: EnvoyMux, latency: u64, first: &Config, ops: &[Op]) -> Result<(), String> {
    let setup = setup().with_latency(Duration::from_millis(latency));
    let mut published = Published::default();
    let mut current = published.next(&first.mended());
    let (mut shelf, mut pair) = serving_with(kind, setup, current.resources());
    check(&pair, "start")?;
    let mut rejected = false;
    for op in ops {
        match op {
            Op::Publish(config, ms) => {
                rejected |= config.bad.is_some();
                current = published.next(config);
                publish(&shelf, current.resources());
                pair.advance(Duration::from_millis(*ms));
            }
            Op::Hinder(config, read, send, window) => {
                rejected |= config.bad.is_some();
                current = published.next(config);
                pair.set_reading(*read);
                pair.set_sending(*send);
                pair.set_window(*window);
                publish(&shelf, current.resources());
                pair.advance(Duration::from_millis(500));
                pair.set_reading(true);
                pair.set_sending(true);
                pair.set_window(usize::MAX);
                pair.drive();
            }
            Op::Pass(ms) => {
                // Nothing is late for longer than routes wait.
                current = current.mended();
                publish(&shelf, current.resources());
                pair.advance(Duration::from_millis(*ms));
            }
            Op::Away(config, ms, anew) => {
                // A client that rejected something says less of itself than it has, and only the server that it rejected it
                // to knows that.
                // To a new server a version says nothing.
                let anew = *anew && !rejected && kind == EnvoyMux::Delta;
                rejected |= config.bad.is_some();
                current = published.next(config);
                pair.disconnect();
                pair.client.forget_replaced();
                pair.advance(Duration::from_millis(*ms));
                if anew {
                    shelf = Shelf::new();
                }
                publish(&shelf, current.resources());
                match anew {
                    true => pair.connect_to(&shelf),
                    false => pair.connect(),
                }
                pair.advance(Duration::from_millis(*ms));
            }
        }
        check(&pair, "on the way")?;
    }
    current = current.mended();
    publish(&shelf, current.resources());
    pair.advance(DRAIN * 3 + secs(120));
    check(&pair, "at the end")?;
    let served: BTreeSet<_> = clusters(&pair).into_iter().map(Name::from).collect();
    let expected: BTreeSet<_> = current
        .clusters()
        .into_iter()
        .map(|cluster| Name::from(format!("c{cluster}")))
        .collect();
    if served != expected {
        return Err(format!(
            "serves {served:?}, not {expected:?}\n{}",
            pair.transcript()
        ));
    }
    match expired(&pair.take_events()) {
        0 => Ok(()),
        some => Err(format!(
            "{some} waits came to their end\n{}",
            pair.transcript()
        )),
    }
}

/// What the environment says, or else `default`.
fn setting<T: FromStr>(name: &str, default: T) -> T {
    let set = std::env::var(name).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(default)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(setting("PORTOLAN_TRANSITION_SEED", 1)),
        max_shrink_iters: 20_000,
        ..ProptestConfig::with_cases(setting("PORTOLAN_TRANSITION_CASES", 256))
    })]

    #[test]
    fn nothing_that_serves_leads_to_what_cannot_be_used(
        kind in select(EnvoyMux::ALL.to_vec()),
        latency in select(vec![0, 10, 40]),
        first in configs(),
        ops in ops(),
    ) {
        run(kind, latency, &first, &ops).map_err(TestCaseError::fail)?;
    }
}
