//! Random clients, publications and connections against an oracle that fits on a page.
//!
//! Whatever happened: when all is read and said, a client has what it wants of what there is, nothing was said without
//! a reason, and nothing goes on for ever.

mod audit;
mod wants;

use std::collections::BTreeMap;
use std::time::Duration;

use portolan_core::TypeUrl;
use portolan_core::well_known::{CLUSTER, ENDPOINT, ROUTE, SECRET};
use portolan_engine::Variant;
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::RngSeed;

use self::audit::Auditor;
use self::wants::Wants;

const TYPES: [TypeUrl; 4] = [CLUSTER, ENDPOINT, ROUTE, SECRET];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "*"];

/// What is published under a name: a revision, good or bad, or nothing.
type Content = Option<(u32, bool)>;

#[derive(Clone, Debug)]
enum Op {
    Publish(Vec<(usize, usize, Content)>),
    Clear,
    /// Names to ask for; in delta what to subscribe and what to give up.
    Want(usize, Vec<String>, Vec<String>),
    Read(bool),
    Send(bool),
    Acknowledge(bool),
    Window(usize),
    Pass(u64),
    Reconnect,
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    subsequence(NAMES.to_vec(), 0..=NAMES.len()).prop_map(owned)
}

fn op() -> impl Strategy<Value = Op> {
    let content = prop_oneof![
        1 => Just(None),
        6 => (1..4u32).prop_map(|revision| Some((revision, false))),
        1 => (1..4u32).prop_map(|revision| Some((revision, true))),
    ];
    let edit = (0..TYPES.len(), 0..4usize, content);
    prop_oneof![
        8 => vec(edit, 1..5).prop_map(Op::Publish),
        1 => Just(Op::Clear),
        8 => (0..TYPES.len(), names(), names()).prop_map(|(t, a, b)| Op::Want(t, a, b)),
        2 => any::<bool>().prop_map(Op::Read),
        2 => any::<bool>().prop_map(Op::Send),
        2 => any::<bool>().prop_map(Op::Acknowledge),
        1 => select(vec![0, 1, 2, usize::MAX]).prop_map(Op::Window),
        2 => (1..7_000u64).prop_map(Op::Pass),
        1 => Just(Op::Reconnect),
    ]
}

struct World {
    shelf: Shelf,
    pair: Pair<PlainClient>,
    variant: Variant,
    published: BTreeMap<(usize, usize), (u32, bool)>,
    wants: [Wants; 4],
    /// Whether the stream before was sent everything, always.
    had_everything: [bool; 4],
}

impl World {
    fn new(variant: Variant, latency: u64) -> Self {
        let shelf = Shelf::new();
        let setup = Setup::default().with_latency(Duration::from_millis(latency));
        let pair = Pair::open(PlainClient::new(variant), &shelf, setup);
        Self {
            shelf,
            pair,
            variant,
            published: BTreeMap::new(),
            wants: Default::default(),
            had_everything: [false; 4],
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Publish(edits) => self.publish(edits),
            Op::Clear => self.shelf.clear(),
            Op::Want(at, names, unsub) => self.want(*at, names, unsub),
            Op::Read(on) => self.pair.set_reading(*on),
            Op::Send(on) => self.pair.set_sending(*on),
            Op::Acknowledge(on) => self.pair.client.set_acks(*on),
            Op::Window(size) => self.pair.set_window(*size),
            Op::Pass(ms) => self.pair.advance(Duration::from_millis(*ms)),
            Op::Reconnect => self.reconnect(),
        }
        self.pair.drive();
    }

    fn publish(&mut self, edits: &[(usize, usize, Content)]) {
        for (at, name, content) in edits {
            match content {
                Some(content) => drop(self.published.insert((*at, *name), *content)),
                None => {
                    self.published.remove(&(*at, *name));
                    self.pair.note(format!("gone {at} {}", NAMES[*name]));
                }
            }
        }
        let mut snapshot = portolan_core::Snapshot::builder();
        for ((at, name), (revision, bad)) in &self.published {
            let put = snapshot.insert(resource(*at, *name, *revision, *bad).into());
            put.expect("names differ");
        }
        self.shelf.publish(snapshot.build());
    }

    fn want(&mut self, at: usize, names: &[String], unsub: &[String]) {
        let (url, legacy) = (&TYPES[at], at == 0);
        let first = !self.wants[at].begun();
        let mut wants = self.wants[at].clone();
        match self.variant {
            Variant::Sotw => wants.ask(names, legacy),
            _ => wants.change(names, unsub, legacy),
        }
        self.drop_unwanted(at, wants);
        if self.variant == Variant::Delta {
            let names = names.iter().map(String::as_str);
            let unsub = unsub.iter().map(String::as_str);
            let request = PlainClient::delta_request(url, names, unsub);
            self.pair.client.send(request);
            return;
        }
        let mut request = self.pair.client.sotw_request(url, names);
        // A version speaks of everything only if everything came with it.
        let pure_wildcard = self.wants[at].names.is_empty();
        if first && pure_wildcard && !self.had_everything[at] {
            request.version.clear();
        }
        self.pair.client.send(request);
    }

    /// What is given up is dropped, and so is what of it is still under way.
    fn drop_unwanted(&mut self, at: usize, wants: Wants) {
        let before = std::mem::replace(&mut self.wants[at], wants);
        let wants = &self.wants[at];
        let lost = |name: &&str| before.covers(name) && !wants.covers(name);
        if !NAMES.iter().take(4).any(lost) {
            return;
        }
        self.pair.set_reading(true);
        self.pair.set_sending(true);
        self.pair.set_window(usize::MAX);
        self.pair.drive();
        let unwanted = |name: &portolan_core::Name| !wants.covers(name);
        self.pair.client.forget(&TYPES[at], unwanted);
    }

    /// What a client repeats on a new stream, and in delta what it has.
    fn reconnect(&mut self) {
        // A request that never left the client was never made.
        self.pair.set_sending(true);
        self.pair.drive();
        self.pair.connect();
        for at in 0..TYPES.len() {
            let before = self.wants[at].forget();
            self.had_everything[at] = before.always_everything();
            if !before.begun() {
                continue;
            }
            let mut names: Vec<_> = before.names.iter().cloned().collect();
            let star = before.wildcard && (at != 0 || !names.is_empty());
            names.extend(star.then(|| "*".to_owned()));
            match self.variant {
                Variant::Sotw => self.want(at, &names, &[]),
                _ => self.resume(at, &names),
            }
        }
    }

    fn resume(&mut self, at: usize, names: &[String]) {
        self.wants[at].change(names, &[], at == 0);
        let held = self.pair.client.held(&TYPES[at]);
        let held = held
            .values()
            .map(|r| (r.name().as_str(), r.version().as_str()));
        let names = names.iter().map(String::as_str);
        self.pair.client.resume(&TYPES[at], names, held);
    }

    /// Lets everything arrive, on both sides.
    fn settle(&mut self) {
        self.pair.set_reading(true);
        self.pair.set_sending(true);
        self.pair.set_window(usize::MAX);
        self.pair.client.set_acks(true);
        self.publish(&[]);
        for _ in 0..3 {
            self.pair.advance(Duration::from_secs(6));
        }
    }

    fn check(&self) -> Result<(), String> {
        for (at, url) in TYPES.iter().enumerate() {
            let held = self.pair.client.held(url);
            for (name, text) in NAMES.iter().enumerate().take(4) {
                if !self.wants[at].covers(text) {
                    continue;
                }
                let has = held.get(*text).map(|r| r.body());
                let expected = self.published.get(&(at, name));
                let right = match expected {
                    Some((_, true)) => true,
                    Some((revision, false)) => {
                        has == Some(resource(at, name, *revision, false).build().body())
                    }
                    None => has.is_none() || !self.tells_absence(at),
                };
                if !right {
                    return Err(format!("{url} {text}: has {has:?}, not {expected:?}"));
                }
            }
        }
        Ok(())
    }

    /// Whether a client is told that something is gone. Of endpoints only where no cluster refers to them.
    fn tells_absence(&self, at: usize) -> bool {
        match self.variant {
            Variant::Sotw => at == 0,
            _ => at == 0 || at == 2,
        }
    }
}

fn resource(at: usize, name: usize, revision: u32, bad: bool) -> Fixture {
    let fixture = match at {
        0 => fixture::cluster(NAMES[name]),
        1 => fixture::endpoints(NAMES[name], "1"),
        2 => fixture::route(NAMES[name], ["a"]),
        _ => fixture::secret(NAMES[name]),
    };
    let fixture = fixture.revision(revision);
    match bad {
        true => fixture.bad(),
        false => fixture,
    }
}

fn run(variant: Variant, latency: u64, ops: &[Op]) -> Result<(), String> {
    let mut world = World::new(variant, latency);
    for op in ops {
        world.apply(op);
    }
    world.settle();
    let transcript = |why: String| format!("{why}\n{}", world.pair.transcript());
    if let Some(error) = world.pair.error() {
        return Err(transcript(error.to_string()));
    }
    world.check().map_err(transcript)?;
    let lines = world.pair.transcript().lines();
    Auditor::new(variant).audit(lines).map_err(transcript)?;

    // All is said: the same content again, and every acknowledgement again, is answered with nothing.
    let said = world.pair.client.received().len();
    world.publish(&[]);
    for (url, wants) in TYPES.iter().zip(&world.wants) {
        if wants.begun() {
            world.pair.client.ack(url);
        }
    }
    world.pair.advance(Duration::from_secs(10));
    match world.pair.client.received().len() == said {
        true => Ok(()),
        false => Err(format!("it goes on\n{}", world.pair.transcript())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(256)
    })]

    #[test]
    fn a_state_of_the_world_client_ends_with_what_it_wants(
        latency in select(vec![0, 0, 10]),
        ops in vec(op(), 1..40),
    ) {
        run(Variant::Sotw, latency, &ops).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_delta_client_ends_with_what_it_wants(
        latency in select(vec![0, 0, 10]),
        ops in vec(op(), 1..40),
    ) {
        run(Variant::Delta, latency, &ops).map_err(TestCaseError::fail)?;
    }
}
