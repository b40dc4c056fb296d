use std::collections::{BTreeMap, BTreeSet};

use portolan_core::ResourceError;
use proptest::prelude::*;

use super::*;

const STREAMS: usize = 4;

#[derive(Clone, Debug)]
enum Op {
    Upsert(u8, u8),
    Remove(u8),
    /// With a last edit that fails, all of it does.
    Batch(Vec<(u8, Option<u8>)>, bool),
    ReplaceAll(BTreeMap<u8, u8>),
    Clear,
    Label(u8),
    /// Opens a stream anew.
    Open(usize),
    /// Names are toggled.
    Want(usize, BTreeSet<u8>, bool),
    Load(usize),
    /// Wakes at most so many.
    Announce(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let (name, body, stream) = (0..6_u8, 0..3_u8, 0..STREAMS);
    let edits = prop::collection::vec((name.clone(), prop::option::of(body.clone())), 0..4);
    let content = prop::collection::btree_map(name.clone(), body.clone(), 0..4);
    let names = prop::collection::btree_set(name.clone(), 0..4);
    prop_oneof![
        4 => (name.clone(), body.clone()).prop_map(|(n, b)| Op::Upsert(n, b)),
        2 => name.prop_map(Op::Remove),
        2 => (edits, any::<bool>()).prop_map(|(edits, fails)| Op::Batch(edits, fails)),
        1 => content.prop_map(Op::ReplaceAll),
        1 => Just(Op::Clear),
        1 => body.prop_map(Op::Label),
        1 => stream.clone().prop_map(Op::Open),
        4 => (stream.clone(), names, any::<bool>()).prop_map(|(s, n, w)| Op::Want(s, n, w)),
        4 => stream.prop_map(Op::Load),
        3 => (0..4_usize).prop_map(Op::Announce),
    ]
}

/// What a stream should have been told.
struct Watcher {
    stream: Stream,
    wanted: BTreeSet<u8>,
    wildcard: bool,
    /// What it wants by name and has changed since it loaded.
    due: BTreeSet<u8>,
    /// What it wants has changed since it loaded, whatever it gives up.
    must_wake: bool,
    /// Something has changed since it loaded, and it began to want something since.
    may_wake: bool,
    /// Something has changed since it loaded.
    behind: bool,
    woken_before: usize,
}

impl Watcher {
    fn open(reader: &LinearCacheReader) -> Self {
        Self {
            stream: Stream::open(reader),
            wanted: BTreeSet::new(),
            wildcard: false,
            due: BTreeSet::new(),
            must_wake: false,
            may_wake: false,
            behind: false,
            woken_before: 0,
        }
    }

    fn changed(&mut self, names: &BTreeSet<u8>, everything: bool) {
        self.behind = true;
        // What is first published concerns also those who have not said yet what they want.
        self.may_wake |= everything;
        let wants = !self.wanted.is_empty() || self.wildcard;
        self.must_wake |= self.wildcard || everything && wants;
        self.due.extend(&self.wanted & names);
    }

    fn want(&mut self, toggled: &BTreeSet<u8>, wildcard: bool) {
        let added: Vec<_> = toggled.difference(&self.wanted).copied().collect();
        let removed: Vec<_> = toggled.intersection(&self.wanted).copied().collect();
        let begins = !added.is_empty() || wildcard != self.wildcard;
        self.may_wake |= self.behind && begins;
        // What is given up before anybody was woken for it concerns the stream no more; with a wildcard all does.
        self.must_wake |= wildcard != self.wildcard && !self.due.is_empty();
        self.may_wake |= !self.due.is_disjoint(toggled);
        self.due = &self.due - toggled;
        self.wanted = &self.wanted ^ toggled;
        self.wildcard = wildcard;
        let [added, removed] = [added, removed].map(|names| {
            let names = names.into_iter().map(|n| Name::from(name(n)));
            names.collect::<Vec<_>>()
        });
        let view = &mut self.stream.view;
        view.interest(&Interest::new(&ENDPOINT, &added, &removed, wildcard));
    }

    fn load(&mut self, content: Option<&BTreeMap<u8, u8>>) {
        self.check();
        let loaded = self.stream.view.load();
        let expected = content.map(|content| {
            let content = content.iter().map(|(n, b)| (name(*n), b.to_string()));
            content.collect::<Vec<_>>()
        });
        assert_eq!(loaded.as_ref().map(contents), expected);
        self.due.clear();
        (self.must_wake, self.may_wake, self.behind) = (false, false, false);
        self.woken_before = self.stream.wakes();
    }

    fn must_wake(&self) -> bool {
        self.must_wake || !self.due.is_empty()
    }

    /// Nobody is woken for nothing, or twice.
    fn check(&self) {
        let woken = self.stream.wakes() - self.woken_before;
        let allowed = usize::from(self.must_wake() || self.may_wake);
        assert!(woken <= allowed, "woken {woken} times, {allowed} at most");
    }

    /// Nobody sleeps who should not, once all was announced.
    fn check_awake(&self, published: bool) {
        self.check();
        let woken = self.stream.wakes() - self.woken_before;
        assert!(
            woken > 0 || !self.must_wake() || !published,
            "a stream sleeps"
        );
    }
}

fn name(number: u8) -> String {
    format!("name-{number}")
}

fn build(number: u8, body: u8) -> ResourceBuilder {
    resource(&name(number), &body.to_string())
}

struct World {
    writer: LinearCacheWriter,
    reader: LinearCacheReader,
    content: Option<BTreeMap<u8, u8>>,
    watchers: Vec<Watcher>,
}

impl World {
    fn new() -> Self {
        let (writer, reader) = cache();
        let watchers = (0..STREAMS).map(|_| Watcher::open(&reader)).collect();
        Self {
            writer,
            reader,
            content: None,
            watchers,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Upsert(name, body) => {
                let _ = self.writer.upsert(build(name, body)).unwrap();
                self.edited(&[(name, Some(body))]);
            }
            Op::Remove(number) => {
                let _ = self.writer.remove(name(number));
                self.edited(&[(number, None)]);
            }
            Op::Batch(edits, fails) => self.batch(&edits, fails),
            Op::ReplaceAll(content) => {
                let all = content.iter().map(|(name, body)| build(*name, *body));
                let _ = self.writer.replace_all(all).unwrap();
                self.published(content);
            }
            Op::Clear => {
                self.writer.clear();
                self.content = None;
            }
            Op::Label(label) => self.writer.label(label.to_string()),
            Op::Open(stream) => self.watchers[stream] = Watcher::open(&self.reader),
            Op::Want(stream, names, wildcard) => self.watchers[stream].want(&names, wildcard),
            Op::Load(stream) => self.watchers[stream].load(self.content.as_ref()),
            Op::Announce(budget) => drop(self.reader.announce(budget)),
        }
        self.watchers.iter().for_each(Watcher::check);
    }

    fn batch(&mut self, edits: &[(u8, Option<u8>)], fails: bool) {
        let result = self.writer.batch(|edit| {
            for (number, body) in edits {
                match body {
                    Some(body) => drop(edit.upsert(build(*number, *body))?),
                    None => drop(edit.remove(name(*number))),
                }
            }
            match fails {
                true => edit.upsert(resource("", "1")).map(drop),
                false => Ok::<_, ResourceError>(()),
            }
        });
        assert_eq!(result.is_err(), fails);
        if !fails {
            self.edited(edits);
        }
    }

    fn edited(&mut self, edits: &[(u8, Option<u8>)]) {
        let mut last = BTreeMap::new();
        last.extend(edits.iter().copied());
        if self.content.is_none() && last.values().all(Option::is_none) {
            return;
        }
        let mut content = self.content.clone().unwrap_or_default();
        for (name, body) in last {
            match body {
                Some(body) => drop(content.insert(name, body)),
                None => drop(content.remove(&name)),
            }
        }
        self.published(content);
    }

    fn published(&mut self, content: BTreeMap<u8, u8>) {
        let former = self.content.replace(content);
        let content = self.content.as_ref().unwrap();
        let before = former.clone().unwrap_or_default();
        let names = before.keys().chain(content.keys());
        let differs = |name: &u8| before.get(name) != content.get(name);
        let changed: BTreeSet<_> = names.copied().filter(differs).collect();
        if former.is_none() || !changed.is_empty() {
            for watcher in &mut self.watchers {
                watcher.changed(&changed, former.is_none());
            }
        }
    }

    /// Everything was announced; everybody has looked; everybody is gone.
    fn end(mut self) {
        drain(&self.reader);
        let published = self.content.is_some();
        for watcher in &mut self.watchers {
            watcher.check_awake(published);
            watcher.load(self.content.as_ref());
        }
        self.watchers.clear();
        let _ = self.reader.announce(usize::MAX);
        // What changed and was never announced, for it was cleared, is announced with what follows.
        let _ = self.writer.upsert(build(0, u8::MAX)).unwrap();
        drain(&self.reader);
        assert!(self.writer.store().streams().is_vacant());
    }
}

proptest! {
    #[test]
    fn exactly_those_are_woken_whom_a_change_concerns(ops in prop::collection::vec(op(), 0..60)) {
        let mut world = World::new();
        for op in ops {
            world.apply(op);
        }
        world.end();
    }
}
