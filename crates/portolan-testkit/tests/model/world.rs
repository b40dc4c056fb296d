//! A client, what is published, and what it should have.

use std::collections::BTreeMap;
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, ROUTE, SECRET};
use portolan_core::{Name, Snapshot, TypeUrl};
use portolan_engine::Variant;
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

use crate::ops::{Edit, Op, TYPES, is_on_demand, name};
use crate::wants::Wants;

pub(crate) const URLS: [TypeUrl; TYPES] = [CLUSTER, ENDPOINT, ROUTE, SECRET];

pub(crate) struct World {
    pub(crate) pair: Pair<PlainClient>,
    shelf: Shelf,
    variant: Variant,
    size: usize,
    published: BTreeMap<(usize, usize), (u32, bool)>,
    wants: [Wants; TYPES],
    /// Whether the stream before was sent everything, always.
    had_everything: [bool; TYPES],
}

impl World {
    pub(crate) fn new(variant: Variant, size: usize, latency: u64) -> Self {
        let shelf = Shelf::new();
        let setup = Setup::default().with_latency(Duration::from_millis(latency));
        Self {
            pair: Pair::open(PlainClient::new(variant), &shelf, setup),
            shelf,
            variant,
            size,
            published: BTreeMap::new(),
            wants: Default::default(),
            had_everything: [false; TYPES],
        }
    }

    pub(crate) fn apply(&mut self, op: &Op) {
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

    pub(crate) fn publish(&mut self, edits: &[Edit]) {
        for edit in edits {
            for number in edit.from..edit.from + edit.count {
                let key = (edit.of_type, number);
                if let Some(content) = edit.content {
                    self.published.insert(key, content);
                } else {
                    self.published.remove(&key);
                    self.pair
                        .note(format!("gone {} {}", edit.of_type, name(number)));
                }
            }
        }
        let previous = self.shelf.snapshot();
        let mut snapshot = previous
            .as_ref()
            .map_or_else(Snapshot::builder, Snapshot::builder_from);
        for ((at, number), (revision, bad)) in &self.published {
            let put = snapshot.insert(resource(*at, *number, *revision, *bad).into());
            put.expect("names differ");
        }
        self.shelf.publish(snapshot.build());
    }

    fn want(&mut self, at: usize, names: &[String], unsub: &[String]) {
        let (url, legacy) = (&URLS[at], at == 0);
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
        let unwanted: Vec<_> = (0..self.size)
            .filter(|number| !wants.covers(at, *number))
            .map(|number| (before.covers(at, number), Name::from(name(number))))
            .collect();
        if !unwanted.iter().any(|(covered, _)| *covered) {
            return;
        }
        self.pair.set_reading(true);
        self.pair.set_sending(true);
        self.pair.set_window(usize::MAX);
        self.pair.drive();
        let unwanted = |name: &Name| unwanted.iter().any(|(_, n)| n == name);
        self.pair.client.forget(&URLS[at], unwanted);
    }

    /// What a client repeats on a new stream, and in delta what it has.
    fn reconnect(&mut self) {
        // A request that never left the client was never made.
        self.pair.set_sending(true);
        self.pair.drive();
        self.pair.connect();
        for at in 0..TYPES {
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
        let held = self.pair.client.held(&URLS[at]);
        let versions = held.values();
        let versions = versions.map(|r| (r.name().as_str(), r.version().as_str()));
        let names = names.iter().map(String::as_str);
        self.pair.client.resume(&URLS[at], names, versions);
    }

    /// Lets everything arrive, on both sides.
    pub(crate) fn settle(&mut self) {
        self.pair.set_reading(true);
        self.pair.set_sending(true);
        self.pair.set_window(usize::MAX);
        self.pair.client.set_acks(true);
        self.publish(&[]);
        for _ in 0..3 {
            self.pair.advance(Duration::from_secs(6));
        }
    }

    /// Acknowledges the newest response of each type once more.
    pub(crate) fn repeat_acks(&mut self) {
        for (url, wants) in URLS.iter().zip(&self.wants) {
            if wants.begun() {
                self.pair.client.ack(url);
            }
        }
    }

    /// Whether the client has what it should.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (at, url) in URLS.iter().enumerate() {
            let held = self.pair.client.held(url);
            for number in (0..self.size).filter(|n| self.wants[at].covers(at, *n)) {
                let name = name(number);
                let has = held.get(name.as_str()).map(|r| r.body());
                let expected = self.published.get(&(at, number));
                let right = match expected {
                    Some((_, true)) => true,
                    Some((revision, false)) => {
                        has == Some(resource(at, number, *revision, false).build().body())
                    }
                    None => has.is_none() || !self.tells_absence(at),
                };
                if !right {
                    return Err(format!("{url} {name}: has {has:?}, not {expected:?}"));
                }
            }
        }
        Ok(())
    }

    /// Whether a client is told that something is gone.
    fn tells_absence(&self, at: usize) -> bool {
        match self.variant {
            Variant::Sotw => at == 0,
            _ => at == 0 || at == 2,
        }
    }
}

fn resource(at: usize, number: usize, revision: u32, bad: bool) -> Fixture {
    let name = name(number);
    let fixture = match at {
        0 => fixture::cluster(name).on_demand(is_on_demand(at, number)),
        1 => fixture::endpoints(name, "1"),
        2 => fixture::route(name, ["n00"]),
        _ => fixture::secret(name),
    };
    let fixture = fixture.revision(revision);
    match bad {
        true => fixture.bad(),
        false => fixture,
    }
}
