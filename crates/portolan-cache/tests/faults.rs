//! Faults that other control planes shipped, as far as they need a cache and threads and no protocol.

#![expect(
    clippy::disallowed_methods,
    reason = "the cache has no threads, but its users do"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use portolan_cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan_core::well_known::CLUSTER;
use portolan_core::{
    Announced, Node, NodeId, Peer, Published, Resource, ResourceError, Snapshot, Source, View,
};

type Writer = SnapshotCacheWriter<String>;
type Reader = SnapshotCacheReader<NodeId>;

/// Only reached when something hangs.
const TOO_LONG: Duration = Duration::from_secs(60);

fn cache() -> (Writer, Reader) {
    SnapshotCache::new(NodeId::default()).split()
}

/// Clusters of which each has this revision for its body.
fn clusters(names: &[&str], revision: usize) -> Snapshot {
    let mut builder = Snapshot::builder();
    for name in names {
        let body = revision.to_string();
        let inserted = builder.insert(Resource::builder(CLUSTER, *name, body));
        inserted.expect("names differ");
    }
    builder.build()
}

/// What all clusters of a snapshot have for a body.
fn revision(snapshot: &Snapshot) -> usize {
    let clusters = snapshot
        .set(&CLUSTER)
        .expect("the snapshot is of all types");
    let mut bodies = clusters.iter().map(|cluster| {
        let body = cluster.body();
        let text = std::str::from_utf8(&body).expect("it is a number");
        text.parse().expect("it is a number")
    });
    let first: usize = bodies.next().expect("there are clusters");
    assert!(bodies.all(|other| other == first), "of two publications");
    first
}

#[derive(Debug, Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn open(reader: &Reader, node: &str) -> (Box<dyn View>, Arc<Wakes>) {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let view = reader.open(&Arc::new(Node::new(node)), &Peer::unknown(), waker);
    (view.expect("the node has an id"), wakes)
}

/// A stream behind a lock, which it takes to look at what was published and its client takes to end it.
#[derive(Debug, Default)]
struct Guarded(Mutex<Option<Box<dyn View>>>);

impl Guarded {
    /// Ends the stream that there was and opens another.
    fn restart(self: &Arc<Self>, reader: &Reader, node: &str) -> Option<u64> {
        let mut view = self.0.lock().expect("nobody panicked");
        drop(view.take());
        let waker = Waker::from(Arc::clone(self));
        let opened = reader.open(&Arc::new(Node::new(node)), &Peer::unknown(), waker);
        let opened = view.insert(opened.expect("the node has an id"));
        opened
            .load()
            .map(|publication| publication.generation().get())
    }

    fn end(&self) {
        self.0.lock().expect("nobody panicked").take();
    }
}

impl Wake for Guarded {
    fn wake(self: Arc<Self>) {
        let view = self.0.lock().expect("nobody panicked");
        let _ = view.as_ref().map(|view| view.load());
    }
}

/// Eight publishers, a node whose streams never look, one that comes and goes all the time.
fn publish_beside_a_node_that_stalls_and_one_that_reconnects() {
    const PUBLISHERS: usize = 8;
    const EACH: usize = 1_250;

    let (writer, reader) = cache();
    let nodes = ["stalled", "restless"];
    let stalled: Vec<_> = (0..4).map(|_| open(&reader, nodes[0])).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let _ = reader.announce(3);
                thread::yield_now();
            }
        });
        let restless = scope.spawn(|| {
            let stream = Arc::new(Guarded::default());
            let mut last = 0;
            while !done.load(Ordering::SeqCst) {
                let served = stream.restart(&reader, nodes[1]).unwrap_or_default();
                assert!(served >= last, "it is served the newest");
                last = served;
            }
            let served = stream.restart(&reader, nodes[1]);
            stream.end();
            served
        });
        let publishers: Vec<_> = (0..PUBLISHERS)
            .map(|publisher| {
                let writer = &writer;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let group = nodes[number % nodes.len()].to_owned();
                        let published =
                            writer.set(&group, clusters(&["a"], publisher * EACH + number));
                        assert!(matches!(published, Published::Changed(_)));
                    }
                })
            })
            .collect();
        for publisher in publishers {
            publisher.join().expect("no publisher panicked");
        }
        done.store(true, Ordering::SeqCst);
        let served = restless.join().expect("it did not panic");
        assert_eq!(served, Some((PUBLISHERS * EACH / 2) as u64));
    });

    assert_eq!(reader.announce(usize::MAX), Announced::All);
    for (view, wakes) in &stalled {
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "it never looked");
        let newest = writer.get(&nodes[0].to_owned()).expect("it was published");
        let loaded = view.load().expect("it was published");
        assert_eq!(loaded.snapshot().id(), newest.id());
        assert_eq!(loaded.generation().get(), (PUBLISHERS * EACH / 2) as u64);
    }
    assert_eq!(writer.streams(&nodes[1].to_owned()), 0);
}

/// A publisher held a lock while it handed a change to a stream that was being cancelled by one who waited for it.
#[test]
fn b54_publishing_and_cancelling_do_not_wait_for_each_other() {
    let (finished, told) = mpsc::channel();
    let work = thread::spawn(move || {
        publish_beside_a_node_that_stalls_and_one_that_reconnects();
        let _ = finished.send(());
    });
    let outcome = told.recv_timeout(TOO_LONG);
    assert_ne!(outcome, Err(mpsc::RecvTimeoutError::Timeout), "it hangs");
    work.join().expect("it ended without a panic");
}

/// A resource was changed in place after it had been handed over, while streams encoded it.
#[test]
fn b61_what_was_published_is_not_changed_by_what_its_maker_does_next() {
    let (writer, reader) = cache();
    let group = "n".to_owned();
    let mut body = b"1".to_vec();
    let mut builder = Snapshot::builder();
    let put = builder.upsert(Resource::builder(CLUSTER, "a", body.clone()));
    put.expect("it has a name");
    let first = builder.build();
    let _ = writer.set(&group, first.clone());
    let (view, _) = open(&reader, "n");

    body[0] = b'2';
    let mut edit = first.edit();
    let put = edit.upsert(Resource::builder(CLUSTER, "a", body));
    put.expect("it has a name");
    let second = edit.build();
    assert_eq!(revision(&second), 2);
    let served = view.load().expect("it was published");
    assert_eq!(
        revision(served.snapshot()),
        1,
        "nobody published the second"
    );
    let _ = writer.set(&group, second);
    assert_eq!(revision(served.snapshot()), 1, "what was loaded stays");
}

/// Readers that went through what was published met changes half way.
#[test]
fn b61_a_reader_sees_one_publication_whatever_is_published_meanwhile() {
    const ROUNDS: usize = 50;

    let (writer, reader) = cache();
    let group = "n".to_owned();
    let names: Vec<_> = (0..150).map(|n| format!("c{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let _ = writer.set(&group, clusters(&names, 0));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = [0, 1].map(|_| {
            scope.spawn(|| {
                let (view, _) = open(&reader, "n");
                let mut last = 0;
                loop {
                    let finished = done.load(Ordering::SeqCst);
                    let loaded = view.load().expect("it was published");
                    let seen = revision(loaded.snapshot());
                    assert!(seen >= last, "publications came out of order");
                    last = seen;
                    let shown = writer.get(&group).expect("it was published");
                    assert!(revision(&shown) >= seen);
                    if finished {
                        return last;
                    }
                }
            })
        });
        for round in 1..=ROUNDS {
            let published = writer.update(&group, |snapshot| {
                for name in &names {
                    let body = round.to_string();
                    snapshot.upsert(Resource::builder(CLUSTER, *name, body))?;
                }
                Ok::<_, ResourceError>(())
            });
            assert!(published.is_ok_and(|published| published.is_some()));
        }
        done.store(true, Ordering::SeqCst);
        for reader in readers {
            assert_eq!(reader.join().expect("it did not panic"), ROUNDS);
        }
    });
}

/// Errors of publishing were dropped on the way, and what was good beside the bad had been stored already.
#[test]
fn b64_what_cannot_be_served_is_an_error_and_changes_nothing() {
    let (writer, reader) = cache();
    let group = "n".to_owned();
    let _ = writer.set(&group, clusters(&["a", "b"], 1));
    let before = writer.get(&group).expect("it was published");
    let (view, wakes) = open(&reader, "n");
    assert!(view.load().is_some());
    let bad = [
        (CLUSTER, "", "has no name"),
        ("".into(), "c", "has no type URL"),
    ];
    for (type_url, name, says) in bad {
        let failed = writer.update(&group, |snapshot| {
            snapshot.remove(&CLUSTER, "b");
            snapshot.upsert(Resource::builder(CLUSTER, "a", "2"))?;
            snapshot.upsert(Resource::builder(type_url.clone(), name, "2"))?;
            Ok::<_, ResourceError>(())
        });
        let error = failed.expect_err("it cannot be served").to_string();
        assert!(error.contains(says), "{error}");
        let held = writer.get(&group).expect("it is still published");
        assert_eq!(held.id(), before.id());
    }
    let mut rebuilt = Snapshot::builder_from(&before);
    let inserted = rebuilt.insert(Resource::builder(CLUSTER, "a", "2"));
    inserted.expect("it is the first");
    let twice = rebuilt.insert(Resource::builder(CLUSTER, "a", "3"));
    assert!(matches!(twice, Err(ResourceError::Duplicate { .. })));

    assert_eq!(reader.announce(usize::MAX), Announced::All);
    assert_eq!(
        wakes.0.load(Ordering::SeqCst),
        0,
        "there is nothing to tell"
    );
    // Who looks away from an outcome is warned by the compiler.
    #[expect(unused_must_use, reason = "fails where it may be ignored")]
    {
        writer.set(&group, before);
    }
}
