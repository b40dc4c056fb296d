mod stress;

use std::future::{Future, pending, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, VIRTUAL_HOST};
use portolan_core::{
    Constraints, Interest, Lookup, Name, Node, NodeId, Peer, Resource, ResourceFailure, Snapshot,
    Source, TypeUrl, View,
};

use super::*;
use crate::SnapshotCache;
use crate::lock::lock;

const SECOND: Duration = Duration::from_secs(1);

struct Bed {
    writer: OnDemandCacheWriter<String>,
    reader: OnDemandCacheReader<NodeId>,
    resolutions: Resolutions<String>,
}

fn bed(limits: OnDemandLimits) -> Bed {
    let cache = SnapshotCache::new(NodeId::default());
    let cache = OnDemandCache::new(cache, [CLUSTER, VIRTUAL_HOST]).with_limits(limits);
    let (writer, reader, resolutions) = cache.with_base(Snapshot::empty()).split();
    Bed {
        writer,
        reader,
        resolutions,
    }
}

fn cluster(name: &str, body: &'static [u8]) -> Resource {
    Resource::builder(CLUSTER, name, body).build().unwrap()
}

/// A stream of the group `node`, and what it sees.
struct Stream(Box<dyn View>);

impl Bed {
    fn open(&self, node: &str) -> Stream {
        let node = Arc::new(Node::new(node));
        let waker = Waker::noop().clone();
        Stream(self.reader.open(&node, &Peer::unknown(), waker).unwrap())
    }

    /// All steps at a time: what is resolved, what is cancelled, what is let go.
    fn steps(&self, now: Duration) -> (Vec<(Ticket, String)>, Vec<Ticket>, Vec<String>) {
        let (mut resolve, mut cancel, mut release) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(step) = self.resolutions.next(now) {
            match step {
                Step::Resolve(ticket, wanted) => resolve.push((ticket, shown(&wanted))),
                Step::Cancel(ticket) => cancel.push(ticket),
                Step::Release(_, wanted) => release.push(shown(&wanted)),
            }
        }
        (resolve, cancel, release)
    }

    fn resolve_one(&self, now: Duration) -> Ticket {
        let (resolve, ..) = self.steps(now);
        assert_eq!(resolve.len(), 1, "{resolve:?}");
        resolve[0].0
    }
}

fn shown(wanted: &Wanted<String>) -> String {
    format!("{} {}", wanted.group, wanted.name)
}

impl Stream {
    fn want(&mut self, names: &[&str]) {
        self.change(&CLUSTER, names, &[]);
    }

    fn give_up(&mut self, names: &[&str]) {
        self.change(&CLUSTER, &[], names);
    }

    fn change(&mut self, url: &TypeUrl, added: &[&str], removed: &[&str]) {
        let names = |names: &[&str]| names.iter().map(|n| Name::from(*n)).collect::<Vec<_>>();
        let (added, removed) = (names(added), names(removed));
        self.0
            .interest(&Interest::new(url, &added, &removed, false));
    }

    fn sees(&self, name: &str) -> String {
        seen(self.0.load().unwrap().snapshot(), name)
    }
}

/// `-`, `?`, an error's code, or the body.
fn seen(snapshot: &Snapshot, name: &str) -> String {
    match snapshot.lookup(&CLUSTER, name) {
        Lookup::Present(r) => String::from_utf8(r.body().to_vec()).unwrap(),
        Lookup::Absent => "-".to_owned(),
        Lookup::Pending => "?".to_owned(),
        Lookup::Error(failure) => failure.code().to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn c235_a_name_is_pending_from_when_it_is_wanted_until_it_is_resolved() {
    let bed = bed(OnDemandLimits::default());
    let (mut a, mut b, mut other) = (bed.open("x"), bed.open("x"), bed.open("y"));
    assert_eq!(a.sees("od"), "-");
    a.want(&["od", "nope"]);
    b.want(&["od"]);
    other.want(&["od"]);
    assert_eq!(
        (a.sees("od"), a.sees("nope"), other.sees("od")),
        ("?".into(), "?".into(), "?".into())
    );
    let (resolve, ..) = bed.steps(SECOND);
    let names: Vec<_> = resolve.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["x od", "x nope", "y od"]);
    bed.resolutions
        .answer(resolve[0].0, Resolution::found(cluster("od", b"1")), SECOND);
    bed.resolutions
        .answer(resolve[1].0, Resolution::absent(), SECOND);
    assert_eq!(
        (a.sees("od"), b.sees("od"), a.sees("nope")),
        ("1".into(), "1".into(), "-".into())
    );
    let set =
        a.0.load()
            .unwrap()
            .snapshot()
            .set(&CLUSTER)
            .cloned()
            .unwrap();
    assert_eq!(
        (set.len(), set.wildcard_len()),
        (1, 0),
        "a wildcard covers the base"
    );
    assert_eq!(other.sees("od"), "?");
    let failure = ResourceFailure::unavailable("no");
    bed.resolutions
        .answer(resolve[2].0, Resolution::failed(failure), SECOND);
    assert_eq!(other.sees("od"), "UNAVAILABLE");
}

#[test]
fn c236_what_nobody_wants_any_more_is_let_go_once() {
    let bed = bed(OnDemandLimits::default());
    let (mut a, mut b) = (bed.open("x"), bed.open("x"));
    a.want(&["od", "slow", "never"]);
    b.want(&["od"]);
    a.give_up(&["never"]);
    let (resolve, _, release) = bed.steps(SECOND);
    assert_eq!(
        (resolve.len(), release.len()),
        (2, 0),
        "nothing was begun for it"
    );
    bed.resolutions
        .answer(resolve[0].0, Resolution::found(cluster("od", b"1")), SECOND);
    a.give_up(&["od"]);
    assert!(bed.steps(SECOND).2.is_empty());
    drop(b);
    assert_eq!(bed.steps(SECOND).2, ["x od"]);
    assert_eq!(a.sees("od"), "-");
    drop(a);
    assert_eq!(bed.steps(SECOND).2, ["x slow"]);
    // An answer that comes late finds nobody.
    bed.resolutions.answer(
        resolve[1].0,
        Resolution::found(cluster("slow", b"1")),
        SECOND,
    );
    assert_eq!(bed.open("x").sees("slow"), "-");
    assert!(bed.steps(SECOND * 99).2.is_empty());
}

#[test]
fn c232_what_was_resolved_can_change_as_long_as_it_is_wanted() {
    let bed = bed(OnDemandLimits::default());
    let mut a = bed.open("x");
    let wanted = Wanted::new("x".to_owned(), CLUSTER, "od".into());
    let revise = |resolution| bed.writer.revise(&wanted, resolution);
    assert!(!revise(Resolution::found(cluster("od", b"0"))));
    a.want(&["od"]);
    let ticket = bed.resolve_one(SECOND);
    assert!(revise(Resolution::found(cluster("od", b"1"))));
    assert_eq!(bed.steps(SECOND).1, [ticket]);
    bed.resolutions.answer(ticket, Resolution::absent(), SECOND);
    assert_eq!(a.sees("od"), "1");
    assert!(revise(Resolution::found(cluster("od", b"2"))));
    assert_eq!(a.sees("od"), "2");
    assert!(revise(Resolution::absent()));
    assert_eq!(a.sees("od"), "-");
}

#[test]
fn b36_a_name_that_is_not_resolved_in_time_is_answered_and_tried_again() {
    let bed = bed(OnDemandLimits::default());
    let mut a = bed.open("x");
    a.want(&["od"]);
    let ticket = bed.resolve_one(SECOND);
    assert_eq!(bed.resolutions.deadline(), Some(SECOND * 5));
    assert!(bed.steps(SECOND * 4).1.is_empty());
    assert_eq!(bed.steps(SECOND * 5).1, [ticket]);
    assert_eq!(a.sees("od"), "NOT_FOUND");
    bed.resolutions
        .answer(ticket, Resolution::found(cluster("od", b"1")), SECOND * 5);
    assert_eq!(a.sees("od"), "NOT_FOUND", "it was cancelled");
    assert_eq!(bed.resolve_one(SECOND * 15), ticket);
    bed.resolutions
        .answer(ticket, Resolution::found(cluster("od", b"1")), SECOND * 15);
    assert_eq!(a.sees("od"), "1");
    assert_eq!(bed.resolutions.deadline(), None);
}

#[test]
fn as_many_are_resolved_at_once_and_wait_as_may() {
    let limits = OnDemandLimits::default().with_at_once(2).with_waiting(3);
    let bed = bed(limits);
    let mut a = bed.open("x");
    a.want(&["a", "b", "c", "d"]);
    assert_eq!((a.sees("c"), a.sees("d")), ("?".into(), "NOT_FOUND".into()));
    let (resolve, ..) = bed.steps(SECOND);
    assert_eq!(resolve.len(), 2);
    bed.resolutions.give_up(resolve[0].0, SECOND);
    assert_eq!(a.sees("a"), "NOT_FOUND");
    let third = bed.resolve_one(SECOND);
    a.give_up(&["a", "b", "c"]);
    bed.resolutions.answer(third, Resolution::absent(), SECOND);
    assert_eq!(bed.steps(SECOND).2, ["x a", "x b", "x c"]);
    assert_eq!(bed.steps(SECOND * 11).0[0].1, "x d");
}

#[test]
fn an_answer_holds_as_long_as_was_said() {
    let bed = bed(OnDemandLimits::default().with_kept(1));
    let mut a = bed.open("x");
    a.want(&["od", "other"]);
    let (resolve, ..) = bed.steps(SECOND);
    let minute = Keep::For(SECOND * 60);
    for (ticket, _) in &resolve {
        let found = Resolution::absent().keep(minute);
        bed.resolutions.answer(*ticket, found, SECOND);
    }
    a.give_up(&["od"]);
    a.want(&["od"]);
    assert_eq!(
        (a.sees("od"), bed.steps(SECOND * 2)),
        ("-".into(), <_>::default())
    );
    // When it has passed it is resolved anew, and what was known stands until that is done.
    let again = bed.steps(SECOND * 61).0;
    assert_eq!((again.len(), again[0].0), (2, resolve[0].0));
    assert_eq!(a.sees("od"), "-");
    for (ticket, _) in &again {
        let name = if *ticket == resolve[0].0 {
            "od"
        } else {
            "other"
        };
        let found = Resolution::found(cluster(name, b"1")).keep(minute);
        bed.resolutions.answer(*ticket, found, SECOND * 61);
    }
    assert_eq!(bed.steps(SECOND * 121).0.len(), 2);
    assert_eq!(a.sees("od"), "1");
    bed.steps(SECOND * 126);
    assert_eq!(a.sees("od"), "1", "not in time");
    drop(a);
    assert_eq!(bed.steps(SECOND * 126).2.len(), 2);
}

#[test]
fn of_what_nobody_wants_so_much_is_kept_and_the_oldest_goes() {
    let bed = bed(OnDemandLimits::default().with_kept(1));
    let mut a = bed.open("x");
    a.want(&["a", "b"]);
    for (ticket, name) in bed.steps(SECOND).0 {
        let found = cluster(&name[2..], b"1");
        let found = Resolution::found(found).keep(Keep::For(SECOND * 60));
        bed.resolutions.answer(ticket, found, SECOND);
    }
    a.give_up(&["a"]);
    assert_eq!(a.sees("a"), "1");
    a.give_up(&["b"]);
    assert_eq!((a.sees("a"), a.sees("b")), ("-".into(), "1".into()));
    assert_eq!(bed.steps(SECOND).2, ["x a"]);
    assert_eq!(bed.steps(SECOND * 61).2, ["x b"]);
    assert_eq!(a.sees("b"), "-");
}

#[test]
fn what_the_base_has_is_not_resolved() {
    let bed = bed(OnDemandLimits::default());
    let mut a = bed.open("x");
    a.want(&["od"]);
    a.change(&ENDPOINT, &["od"], &[]);
    let ticket = bed.resolve_one(SECOND);
    bed.resolutions
        .answer(ticket, Resolution::found(cluster("od", b"1")), SECOND);
    let mut base = Snapshot::builder();
    base.insert_shared(cluster("od", b"base")).unwrap();
    let _ = bed.writer.set(&"x".to_owned(), base.build());
    assert_eq!(a.sees("od"), "base");
    assert_eq!(bed.steps(SECOND).2, ["x od"]);
    let _ = bed.writer.set(&"x".to_owned(), Snapshot::empty());
    assert_eq!(a.sees("od"), "?");
    assert_eq!(bed.resolve_one(SECOND), ticket);
    bed.writer.clear(&"x".to_owned());
    assert_eq!(a.sees("od"), "?");
    drop(a);
    assert!(bed.writer.store_is_empty());
}

#[test]
fn c215_a_host_may_be_found_by_its_alias() {
    let bed = bed(OnDemandLimits::default());
    let mut a = bed.open("x");
    a.change(
        &VIRTUAL_HOST,
        &["r/a.com", "r/b.com", "r/vh", "r/c.com"],
        &[],
    );
    let host = Resource::builder(VIRTUAL_HOST, "r/vh", &b"1"[..]);
    let host = host.alias("r/a.com").alias("r/b.com").build().unwrap();
    for (ticket, _) in bed.steps(SECOND).0 {
        bed.resolutions
            .answer(ticket, Resolution::found(host.clone()), SECOND);
    }
    let lookup = |a: &Stream, name: &str| {
        let publication = a.0.load().unwrap();
        format!("{:?}", publication.snapshot().lookup(&VIRTUAL_HOST, name))
    };
    assert!(lookup(&a, "r/vh").starts_with("Present"));
    assert!(lookup(&a, "r/a.com").starts_with("Absent"));
    assert!(
        lookup(&a, "r/c.com").contains("neither the name nor"),
        "it is no answer"
    );
    a.change(&VIRTUAL_HOST, &[], &["r/a.com", "r/vh"]);
    assert!(lookup(&a, "r/vh").starts_with("Present"));
    a.change(&VIRTUAL_HOST, &[], &["r/b.com"]);
    assert!(lookup(&a, "r/vh").starts_with("Absent"));
}

/// A clock that stands, and rings when it has been moved.
#[derive(Clone, Debug, Default)]
struct Hands(Arc<AtomicU64>);

impl Clock for Hands {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send {
        let (hands, until) = (self.clone(), self.now() + time);
        std::future::poll_fn(move |_| match hands.now() >= until {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        })
    }
}

/// Finds at once what is no word for another fate.
struct Finder(Arc<Mutex<Vec<String>>>);

struct Dropped(Arc<Mutex<Vec<String>>>, String);

impl Drop for Dropped {
    fn drop(&mut self) {
        lock(&self.0).push(format!("dropped {}", self.1));
    }
}

impl Resolver<String> for Finder {
    async fn resolve(&self, wanted: &Wanted<String>) -> Resolution {
        match wanted.name.as_str() {
            "panics" => panic!("a resolver that panics"),
            "hangs" => {
                let _dropped = Dropped(Arc::clone(&self.0), wanted.name.to_string());
                pending().await
            }
            name => ready(Resolution::found(cluster(name, b"1"))).await,
        }
    }

    fn released(&self, wanted: &Wanted<String>) {
        lock(&self.0).push(format!("released {}", wanted.name));
    }
}

#[test]
fn c236_a_resolution_that_nobody_waits_for_is_dropped_and_a_panic_is_contained() {
    let Bed {
        writer,
        reader,
        resolutions,
    } = bed(OnDemandLimits::default());
    let (log, hands) = (Arc::new(Mutex::new(Vec::new())), Hands::default());
    let mut driver = pin!(resolutions.run(Finder(Arc::clone(&log)), hands.clone()));
    let mut drive = || {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(driver.as_mut().poll(&mut cx).is_pending());
    };
    let node = Arc::new(Node::new("x"));
    let view = reader.open(&node, &Peer::unknown(), Waker::noop().clone());
    let mut a = Stream(view.unwrap());
    drive();
    a.want(&["good", "panics", "hangs"]);
    drive();
    assert_eq!(
        (a.sees("good"), a.sees("panics"), a.sees("hangs")),
        ("1".into(), "NOT_FOUND".into(), "?".into())
    );
    a.give_up(&["hangs"]);
    drive();
    let mut logged = std::mem::take(&mut *lock(&log));
    logged.sort();
    assert_eq!(logged, ["dropped hangs", "released hangs"]);
    a.want(&["hangs"]);
    drive();
    hands.0.store(4, Ordering::Relaxed);
    drive();
    assert_eq!(a.sees("hangs"), "NOT_FOUND");
    assert_eq!(*lock(&log), ["dropped hangs"]);
    drop(a);
    drive();
    assert_eq!(lock(&log).len(), 4);
    drop(writer);
}

#[test]
fn c316_a_resolver_finds_what_is_meant_for_all() {
    let bed = bed(OnDemandLimits::default());
    let mut stream = bed.open("n");
    stream.want(&["a"]);
    let ticket = bed.resolve_one(Duration::ZERO);
    let builder = Resource::builder(CLUSTER, "a", &b"1"[..]);
    let found = builder
        .constraints(Constraints::exists("env"))
        .build()
        .unwrap();
    bed.resolutions
        .answer(ticket, Resolution::found(found), Duration::ZERO);
    let published = stream.0.load().unwrap();
    let Lookup::Error(failure) = published.snapshot().lookup(&CLUSTER, "a") else {
        panic!("it is an error");
    };
    assert!(failure.message().contains("constraints"), "{failure}");
}

#[test]
fn c320_what_a_base_has_alternatives_of_is_no_matter_of_a_resolver() {
    let bed = bed(OnDemandLimits::default());
    let mut base = Snapshot::builder();
    let builder = Resource::builder(CLUSTER, "a", &b"1"[..]);
    base.insert(builder.constraints(Constraints::exists("env")))
        .unwrap();
    let _ = bed.writer.set(&"n".to_owned(), base.build());
    let mut stream = bed.open("n");
    stream.want(&["a"]);
    assert_eq!(bed.steps(Duration::ZERO).0, []);
    let _ = bed.writer.set(&"n".to_owned(), Snapshot::empty());
    bed.resolve_one(Duration::ZERO);
}
