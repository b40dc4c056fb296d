//! Threads that meet wherever they can. What they must agree on is checked when they are done.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread;

use portolan_core::{Announced, Interest, Name, NodeId};

use super::*;
use crate::lock::lock;
use crate::{
    Clash, ClashObserver, LinearCache, LinearCacheWriter, SnapshotCache, SnapshotCacheWriter,
};

const GROUPS: [&str; 2] = ["a", "b"];
const NAMES: [&str; 4] = ["n0", "n1", "n2", "n3"];
const ROUNDS: usize = 300;

#[derive(Default)]
struct Notified(AtomicBool);

impl Wake for Notified {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Fails when what it hears of clashes overlaps, or of one does not alternate.
#[derive(Debug, Default)]
struct Alternation {
    going_on: Mutex<BTreeMap<String, bool>>,
    speaking: AtomicBool,
    broken: AtomicBool,
}

impl Alternation {
    fn hear(&self, clash: &Clash<'_>, begins: bool) {
        let overlaps = self.speaking.swap(true, Ordering::SeqCst);
        thread::yield_now();
        let clash = format!("{} of {} and {}", clash.name, clash.served, clash.hidden);
        let before = lock(&self.going_on).insert(clash, begins);
        if overlaps || before.unwrap_or(false) == begins {
            self.broken.store(true, Ordering::SeqCst);
        }
        self.speaking.store(false, Ordering::SeqCst);
    }
}

impl ClashObserver for Alternation {
    fn began(&self, clash: &Clash<'_>) {
        self.hear(clash, true);
    }

    fn ended(&self, clash: &Clash<'_>) {
        self.hear(clash, false);
    }
}

/// Endpoints from a snapshot cache and two linear caches, clusters from the first alone.
struct Bed {
    snapshots: SnapshotCacheWriter<String>,
    linear: [LinearCacheWriter; 2],
    mux: MuxCache,
    clashes: Arc<Alternation>,
}

impl Bed {
    fn new() -> Self {
        let (snapshots, reader) = SnapshotCache::new(NodeId::default()).split();
        let linear = [(); 2].map(|()| LinearCache::new(ENDPOINT).split());
        let clashes = Arc::<Alternation>::default();
        let mut mux = MuxCache::builder();
        let mut union = vec![mux.part("snapshots", Arc::new(reader))];
        mux.otherwise([union[0]]);
        for (at, (_, reader)) in linear.iter().enumerate() {
            union.push(mux.part(&at.to_string(), Arc::new(reader.clone())));
        }
        mux.route(ENDPOINT, union);
        mux.observe_clashes(Arc::clone(&clashes) as _);
        Self {
            snapshots,
            linear: linear.map(|(writer, _)| writer),
            mux: mux.build(),
            clashes,
        }
    }

    fn publish(&self, thread: usize) {
        for round in 0..ROUNDS {
            let group = GROUPS[(round + thread) % GROUPS.len()].to_owned();
            match round % 6 {
                0 => self.snapshots.clear(&group),
                _ => drop(self.snapshots.set(&group, content(round))),
            }
        }
        for group in GROUPS {
            let _ = self.snapshots.set(&group.to_owned(), content(thread));
        }
    }

    fn upsert(&self, part: usize) {
        for round in 0..ROUNDS {
            let name = NAMES[(round + part) % NAMES.len()];
            match round % 7 {
                0 => drop(self.linear[part].remove(name)),
                1 => self.linear[part].clear(),
                _ => {
                    let body = (round % 2).to_string();
                    let put = self.linear[part].upsert(resource(&ENDPOINT, name, &body));
                    let _ = put.unwrap();
                }
            }
        }
        let _ = self.linear[part].upsert(resource(&ENDPOINT, "last", &part.to_string()));
    }

    /// The union of a group's endpoints, written down without thinking of cost.
    fn union(&self, group: &str) -> Vec<(String, String)> {
        let first = self.snapshots.get(&group.to_owned()).unwrap();
        let linear = self.linear.iter().map(|part| part.resources().unwrap());
        let parts: Vec<_> = [first.set(&ENDPOINT).unwrap().clone()]
            .into_iter()
            .chain(linear)
            .collect();
        let mut union = BTreeMap::new();
        for part in parts.iter().rev() {
            union.extend(contents(part));
        }
        union.into_iter().collect()
    }
}

/// A cluster, and some of the endpoints.
fn content(round: usize) -> Snapshot {
    let body = (round % 3).to_string();
    let endpoints = NAMES[..round % NAMES.len()].iter();
    let mut resources: Vec<_> = endpoints.map(|name| (ENDPOINT, *name, &*body)).collect();
    resources.push((CLUSTER, "cluster", &*body));
    snapshot(&resources)
}

/// A stream's task: it looks when it was woken, and sleeps otherwise. It wants all clusters, and some endpoints or all.
struct Task {
    view: Box<dyn View>,
    group: &'static str,
    notified: Arc<Notified>,
    wanted: Vec<&'static str>,
    has_wildcard: bool,
    seen: Option<Publication>,
}

impl Task {
    fn open(mux: &MuxCache, group: &'static str) -> Self {
        let notified = Arc::new(Notified::default());
        let waker = Waker::from(Arc::clone(&notified));
        let node = Arc::new(Node::new(group));
        let mut view = mux.open(&node, &Peer::unknown(), waker).unwrap();
        view.interest(&Interest::new(&CLUSTER, &[], &[], true));
        let mut task = Self {
            view,
            group,
            notified,
            wanted: Vec::new(),
            has_wildcard: false,
            seen: None,
        };
        task.look();
        task
    }

    fn look(&mut self) {
        let loaded = self.view.load();
        if let (Some(before), Some(after)) = (&self.seen, &loaded) {
            let goes_back = after.generation() < before.generation();
            assert!(!goes_back, "publications came out of order");
        }
        self.seen = loaded;
    }

    fn run(&mut self) {
        if self.notified.0.swap(false, Ordering::SeqCst) {
            self.look();
        }
    }

    fn ask(&mut self, round: usize) {
        self.has_wildcard ^= round.is_multiple_of(5);
        let name = NAMES[round % NAMES.len()];
        let mut names = [Vec::<Name>::new(), Vec::new()];
        match self.wanted.iter().position(|wanted| *wanted == name) {
            None => {
                self.wanted.push(name);
                names[0].push(name.into());
            }
            Some(at) => {
                self.wanted.remove(at);
                names[1].push(name.into());
            }
        }
        let [added, removed] = names;
        let wildcard = self.has_wildcard;
        self.view
            .interest(&Interest::new(&ENDPOINT, &added, &removed, wildcard));
        self.look();
    }

    /// What it has of what it wants.
    fn has(&self, set: &[(String, String)]) -> Vec<(String, String)> {
        let wants = |name: &str| self.has_wildcard || self.wanted.contains(&name);
        let wanted = set.iter().filter(|(name, _)| wants(name));
        wanted.cloned().collect()
    }
}

/// Opens and closes streams that change their minds, and keeps a few open.
fn serve(mux: &MuxCache, thread: usize) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for round in 0..ROUNDS {
        tasks.push(Task::open(mux, GROUPS[(round + thread) % GROUPS.len()]));
        if tasks.len() > 5 {
            tasks.swap_remove(round % 5);
        }
        if round % 50 == 20 {
            tasks.clear();
        }
        for (at, task) in tasks.iter_mut().enumerate() {
            task.run();
            task.ask(round + at);
        }
    }
    tasks
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the cache has no threads, but its users do"
)]
fn threads_agree_on_the_union_and_leave_nothing_behind() {
    let bed = Bed::new();
    let done = AtomicBool::new(false);
    let mut tasks: Vec<Task> = thread::scope(|scope| {
        let announcer = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if bed.mux.announce(3) == Announced::All {
                    thread::yield_now();
                }
            }
        });
        let bed = &bed;
        let publishers = [0, 1].map(|thread| scope.spawn(move || bed.publish(thread)));
        let writers = [0, 1].map(|part| scope.spawn(move || bed.upsert(part)));
        let servers = [0, 1, 2].map(|thread| scope.spawn(move || serve(&bed.mux, thread)));
        let served = servers.map(|thread| thread.join());
        let written = [publishers, writers].map(|threads| threads.map(|thread| thread.join()));
        // Whatever came of these, or the announcer would never end.
        done.store(true, Ordering::SeqCst);
        announcer.join().unwrap();
        assert!(written.iter().flatten().all(Result::is_ok));
        served.into_iter().flat_map(Result::unwrap).collect()
    });

    while bed.mux.announce(usize::MAX) == Announced::More {}
    assert!(!tasks.is_empty());
    for task in &mut tasks {
        task.run();
        let seen = task.seen.clone().expect("all parts have something");
        let [seen, newest] = [&seen, &load(&*task.view)].map(|publication| {
            let snapshot = publication.snapshot();
            let set = |url| contents(snapshot.set(url).expect("all parts speak for it"));
            (task.has(&set(&ENDPOINT)), set(&CLUSTER))
        });
        assert_eq!(seen, newest, "a stream sleeps");
        assert_eq!(seen.0, task.has(&bed.union(task.group)));
    }
    tasks.clear();
    assert_eq!(bed.snapshots.total_streams(), 0);
    assert!(bed.linear.iter().all(|part| part.streams() == 0));
    let clashes = lock(&bed.clashes.going_on);
    assert!(!clashes.is_empty() && clashes.values().all(|goes_on| !goes_on));
    assert!(!bed.clashes.broken.load(Ordering::SeqCst));
    assert!(bed.mux.shared.clashes.is_empty());
}
