//! What publishing costs must not depend on how many streams there are. In a file of its own, because it counts the
//! allocations of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use allocation_counter::AllocationInfo;
use portolan_cache::SnapshotCache;
use portolan_core::well_known::CLUSTER;
use portolan_core::{Announced, Node, NodeId, Peer, Resource, Snapshot, Source, View};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn snapshot(body: u8) -> Snapshot {
    let mut builder = Snapshot::builder();
    builder
        .insert(Resource::builder(CLUSTER, "c", vec![body]))
        .expect("it has a name and a type");
    builder.build()
}

/// What the second publication to `streams` streams, all of which loaded the first, allocates.
fn cost(streams: usize) -> AllocationInfo {
    let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
    let node = Arc::new(Node::new("a"));
    let group = "a".to_owned();
    let woken = Arc::new(Wakes::default());
    let open = |_| {
        let waker = Waker::from(Arc::clone(&woken));
        let view = reader.open(&node, &Peer::unknown(), waker);
        view.expect("the node has an id")
    };
    let views: Vec<Box<dyn View>> = (0..streams).map(open).collect();
    let _ = writer.set(&group, snapshot(1));
    assert_eq!(reader.announce(usize::MAX), Announced::All);
    assert_eq!(woken.0.load(Ordering::SeqCst), streams);
    assert!(views.iter().all(|view| view.load().is_some()));

    let announcer = Arc::new(Wakes::default());
    reader.register_announcer(Waker::from(Arc::clone(&announcer)));
    let next = snapshot(2);
    let info = allocation_counter::measure(|| {
        let _ = writer.set(&group, next);
    });
    assert_eq!(
        announcer.0.load(Ordering::SeqCst),
        1,
        "one wake of the announcer"
    );
    assert_eq!(
        woken.0.load(Ordering::SeqCst),
        streams,
        "no wake of a stream"
    );
    assert_eq!(reader.announce(usize::MAX), Announced::All);
    assert_eq!(woken.0.load(Ordering::SeqCst), 2 * streams);
    info
}

#[test]
fn publishing_allocates_the_same_for_any_number_of_streams() {
    // What a process makes once, as the table of types, is made by then.
    cost(1);
    let few = cost(10);
    for streams in [1_000, 10_000] {
        let many = cost(streams);
        assert_eq!(many.count_total, few.count_total, "at {streams} streams");
        assert_eq!(many.bytes_total, few.bytes_total, "at {streams} streams");
    }
    assert!(few.count_total < 10, "{} allocations", few.count_total);
}
