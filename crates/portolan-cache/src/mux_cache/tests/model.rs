use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Mutex;

use portolan_core::{Generation, NodeId, ResourceError, ValueId};
use proptest::prelude::*;

use super::*;
use crate::lock::lock;
use crate::{
    Clash, ClashObserver, LinearCache, LinearCacheWriter, SnapshotCache, SnapshotCacheWriter,
};

const GROUPS: usize = 2;
const STREAMS: usize = 4;

/// The parts of the union, in order: a snapshot cache by group, and two linear caches.
const PARTS: usize = 3;

type Content = BTreeMap<u8, u8>;

#[derive(Clone, Debug)]
enum Op {
    /// Endpoints of a group, and the body of its one cluster.
    Set(usize, Content, u8),
    ClearGroup(usize),
    Upsert(usize, u8, u8),
    Remove(usize, u8),
    Replace(usize, Content),
    Clear(usize),
    Open(usize, usize),
    Close(usize),
    Load(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let (group, linear, stream) = (0..GROUPS, 1..PARTS, 0..STREAMS);
    let (name, body) = (0..5_u8, 0..2_u8);
    let content = prop::collection::btree_map(name.clone(), body.clone(), 0..4);
    prop_oneof![
        4 => (group.clone(), content.clone(), body.clone()).prop_map(|(g, c, b)| Op::Set(g, c, b)),
        1 => group.clone().prop_map(Op::ClearGroup),
        4 => (linear.clone(), name.clone(), body).prop_map(|(l, n, b)| Op::Upsert(l, n, b)),
        3 => (linear.clone(), name).prop_map(|(l, n)| Op::Remove(l, n)),
        1 => (linear.clone(), content).prop_map(|(l, c)| Op::Replace(l, c)),
        1 => linear.prop_map(Op::Clear),
        2 => (stream.clone(), group).prop_map(|(s, g)| Op::Open(s, g)),
        1 => stream.clone().prop_map(Op::Close),
        8 => stream.prop_map(Op::Load),
    ]
}

/// A clash: name, the part that is served, the part that is hidden.
type Sides = (String, String, String);

#[derive(Debug, Default)]
struct Listener(Mutex<Vec<(bool, Sides)>>);

impl Listener {
    fn hear(&self, begins: bool, clash: &Clash<'_>) {
        let parts = (clash.served.to_owned(), clash.hidden.to_owned());
        let sides = (clash.name.to_string(), parts.0, parts.1);
        lock(&self.0).push((begins, sides));
    }
}

impl ClashObserver for Listener {
    fn began(&self, clash: &Clash<'_>) {
        self.hear(true, clash);
    }

    fn ended(&self, clash: &Clash<'_>) {
        self.hear(false, clash);
    }
}

/// What a part has, as the test knows it.
#[derive(Clone, Debug, Default)]
struct Held {
    content: Option<Content>,
    generation: Generation,
}

struct Watcher {
    view: Box<dyn View>,
    group: usize,
    /// The numbers of the parts when it looked last, and its own.
    seen: Vec<Option<Generation>>,
    last: Option<Generation>,
    /// The values of the parts then, and that of the union.
    merged: Option<(Vec<ValueId>, ValueId)>,
    clashes: BTreeSet<Sides>,
}

struct World {
    snapshots: SnapshotCacheWriter<String>,
    linear: [LinearCacheWriter; 2],
    mux: MuxCache,
    groups: [Held; GROUPS],
    clusters: [u8; GROUPS],
    collections: [Held; 2],
    streams: [Option<Watcher>; STREAMS],
    listener: Arc<Listener>,
}

fn name(number: u8) -> String {
    format!("name-{number}")
}

fn build(number: u8, body: u8) -> ResourceBuilder {
    resource(&ENDPOINT, &name(number), &body.to_string())
}

fn group(number: usize) -> String {
    format!("group-{number}")
}

impl World {
    fn new() -> Self {
        let (snapshots, reader) = SnapshotCache::new(NodeId::default()).split();
        let linear = [(); 2].map(|()| LinearCache::new(ENDPOINT).split());
        let listener = Arc::<Listener>::default();
        let mut mux = MuxCache::builder();
        let mut union = vec![mux.part("0", Arc::new(reader))];
        mux.otherwise([union[0]]);
        for (at, (_, reader)) in linear.iter().enumerate() {
            union.push(mux.part(&(at + 1).to_string(), Arc::new(reader.clone())));
        }
        mux.route(ENDPOINT, union);
        mux.observe_clashes(Arc::clone(&listener) as _);
        Self {
            snapshots,
            linear: linear.map(|(writer, _)| writer),
            mux: mux.build(),
            groups: Default::default(),
            clusters: Default::default(),
            collections: Default::default(),
            streams: Default::default(),
            listener,
        }
    }

    fn apply(&mut self, op: Op) {
        let before = self.shown();
        match op {
            Op::Set(at, content, cluster) => {
                let mut snapshot = Snapshot::builder();
                for (name, body) in &content {
                    snapshot.insert(build(*name, *body)).unwrap();
                }
                let cluster_body = cluster.to_string();
                let made = resource(&CLUSTER, "cluster", &cluster_body);
                snapshot.insert(made).unwrap();
                let set = self.snapshots.set(&group(at), snapshot.build());
                self.groups[at] = Held {
                    content: Some(content),
                    generation: set.generation(),
                };
                self.clusters[at] = cluster;
            }
            Op::ClearGroup(at) => {
                self.snapshots.clear(&group(at));
                self.groups[at].content = None;
            }
            Op::Upsert(part, name, body) => self.edit(part, |content| {
                content.insert(name, body);
            }),
            Op::Remove(part, name) => self.edit(part, |content| {
                content.remove(&name);
            }),
            Op::Replace(part, content) => self.edit(part, |held| *held = content),
            Op::Clear(part) => {
                self.linear[part - 1].clear();
                self.collections[part - 1].content = None;
            }
            Op::Open(at, of) => {
                self.streams[at] = Some(Watcher {
                    view: open(&self.mux, &group(of)),
                    group: of,
                    seen: Vec::new(),
                    last: None,
                    merged: None,
                    clashes: BTreeSet::new(),
                });
            }
            Op::Close(at) => self.streams[at] = None,
            Op::Load(at) => self.load(at),
        }
        self.check_clashes(&before);
        self.check_sharing();
    }

    /// Makes of a linear cache what `edit` makes of what the test knows of it, by writing what differs.
    fn edit(&mut self, part: usize, edit: impl FnOnce(&mut Content)) {
        let (writer, held) = (&self.linear[part - 1], &mut self.collections[part - 1]);
        let before = held.content.clone().unwrap_or_default();
        let mut after = before.clone();
        edit(&mut after);
        let published = match held.content.is_none() || before.is_empty() {
            true => writer.replace_all(after.iter().map(|(name, body)| build(*name, *body))),
            false => writer.batch(|edit| {
                for (number, body) in &after {
                    edit.upsert(build(*number, *body))?;
                }
                for gone in before.keys().filter(|name| !after.contains_key(name)) {
                    edit.remove(name(*gone));
                }
                Ok::<_, ResourceError>(())
            }),
        };
        held.generation = published.unwrap().generation();
        held.content = Some(after);
    }

    /// What the parts of a group's union have, in order.
    fn held(&self, group: usize) -> [&Held; PARTS] {
        let [first, second] = &self.collections;
        [&self.groups[group], first, second]
    }

    /// The union, written down without thinking of cost.
    fn union(&self, group: usize) -> Option<Content> {
        let parts = self.held(group).map(|held| held.content.clone());
        let mut union = Content::new();
        for part in parts.into_iter().rev() {
            union.extend(part?);
        }
        Some(union)
    }

    fn clashes(&self, group: usize) -> BTreeSet<Sides> {
        let mut clashes = BTreeSet::new();
        let held = self.held(group);
        let parts = held.iter().map(|held| held.content.as_ref());
        let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
            return clashes;
        };
        for number in 0..u8::MAX {
            let mut having = (0..PARTS).filter(|at| parts[*at].contains_key(&number));
            let Some(served) = having.next() else {
                continue;
            };
            let hidden = having.find(|at| parts[*at][&number] != parts[served][&number]);
            if let Some(hidden) = hidden {
                clashes.insert((name(number), served.to_string(), hidden.to_string()));
            }
        }
        clashes
    }

    fn load(&mut self, at: usize) {
        let Some(mut watcher) = self.streams[at].take() else {
            return;
        };
        let held = self.held(watcher.group);
        let seen: Vec<_> = held
            .iter()
            .map(|held| held.content.as_ref().map(|_| held.generation))
            .collect();
        let loaded = watcher.view.load();
        assert_eq!(loaded.is_some(), seen.iter().any(Option::is_some));
        if let Some(publication) = &loaded {
            let generation = publication.generation();
            match watcher.last {
                Some(last) if seen == watcher.seen => assert_eq!(generation, last),
                Some(last) => assert_eq!(generation, last.next()),
                None => {}
            }
            watcher.last = Some(generation);
            self.check_content(publication.snapshot(), watcher.group);
        }
        watcher.merged = self.merged(loaded.as_ref(), watcher.group);
        watcher.clashes = self.clashes(watcher.group);
        watcher.seen = seen;
        self.streams[at] = Some(watcher);
    }

    fn check_content(&self, snapshot: &Snapshot, group: usize) {
        let endpoints = snapshot.set(&ENDPOINT);
        let expected = self.union(group).map(|union| {
            let resources = union.iter().map(|(name, body)| build(*name, *body).build());
            let resources: Result<Vec<_>, _> = resources.collect();
            ResourceSet::new(resources.unwrap()).unwrap()
        });
        assert_eq!(
            endpoints.map(contents),
            expected.as_ref().map(contents),
            "the union"
        );
        assert_eq!(
            endpoints.map(ResourceSet::version),
            expected.as_ref().map(ResourceSet::version)
        );
        let clusters = snapshot.set(&CLUSTER).map(contents);
        let is_published = self.groups[group].content.is_some();
        let body = self.clusters[group].to_string();
        let expected = is_published.then(|| vec![("cluster".to_owned(), body)]);
        assert_eq!(clusters, expected);
    }

    /// The values of the parts, and that of the union that was made of them.
    fn merged(&self, loaded: Option<&Publication>, of: usize) -> Option<(Vec<ValueId>, ValueId)> {
        let merged = loaded?.snapshot().set(&ENDPOINT)?.id();
        let first = self.snapshots.get(&group(of))?.set(&ENDPOINT)?.id();
        let others = self
            .linear
            .iter()
            .map(|writer| Some(writer.resources()?.id()));
        let inputs = [Some(first)].into_iter().chain(others);
        Some((inputs.collect::<Option<_>>()?, merged))
    }

    fn check_sharing(&self) {
        let mut known = BTreeMap::new();
        for watcher in self.streams.iter().flatten() {
            if let Some((inputs, merged)) = &watcher.merged {
                let first = known.entry(inputs).or_insert(merged);
                assert_eq!(*first, merged, "it was merged twice");
            }
        }
    }

    /// The clashes that streams are shown.
    fn shown(&self) -> BTreeSet<Sides> {
        let streams = self.streams.iter().flatten();
        streams.flat_map(|stream| stream.clashes.clone()).collect()
    }

    fn check_clashes(&self, before: &BTreeSet<Sides>) {
        let after = self.shown();
        let begins = after.difference(before).map(|sides| (true, sides.clone()));
        let ends = before
            .difference(&after)
            .map(|sides| (false, sides.clone()));
        let mut expected: Vec<_> = begins.chain(ends).collect();
        let mut heard = mem::take(&mut *lock(&self.listener.0));
        expected.sort();
        heard.sort();
        assert_eq!(heard, expected);
    }
}

proptest! {
    #[test]
    fn every_stream_sees_the_plain_union(ops in prop::collection::vec(op(), 0..80)) {
        let mut world = World::new();
        for op in ops {
            world.apply(op);
        }
        for stream in 0..STREAMS {
            world.apply(Op::Load(stream));
        }
    }
}
