use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ROUTE};
use portolan_core::{Name, Node, Peer, ResourceTypes, TypeUrl};
use portolan_engine::{Emptiness, Event, Release, Retention};

use super::{Entry, StatusRegistry};
use crate::{Callbacks, Method, StreamInfo, TransitionStatus, TypeStatus};

fn admitted(registry: &StatusRegistry, node: &str) -> Entry {
    let meter = Arc::default();
    let mut stream = StreamInfo::new("a.Service", Method::Delta, Peer::unknown(), meter);
    stream.set_node(Arc::new(Node::new(node)));
    let entry = registry.entry(&stream);
    entry.stream_admitted(&stream);
    entry
}

#[test]
fn a_stream_that_was_not_admitted_takes_out_nothing() {
    let registry = StatusRegistry::new(ResourceTypes::well_known());
    let stream = StreamInfo::new("s", Method::Delta, Peer::unknown(), Arc::default());
    let never = registry.entry(&stream);
    never.stream_admitted(&stream);
    let kept = admitted(&registry, "");
    drop(never);
    assert_eq!(registry.node("").unwrap().streams().len(), 1);
    drop(kept);
    assert!(registry.node("").is_none());
}

#[test]
fn streams_come_and_go_beside_readers() {
    let registry = StatusRegistry::new(ResourceTypes::well_known());
    let stays = admitted(&registry, "n0");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let nodes: Vec<_> = registry.nodes().collect();
                assert!(nodes.is_sorted_by(|a, b| a.id() < b.id()));
                assert!(nodes.iter().all(|node| !node.streams().is_empty()));
                assert!(registry.node("n0").is_some(), "one of its streams stays");
            }
        });
        let writer = |_| {
            scope.spawn(|| {
                for round in 0..500 {
                    let entries: Vec<_> = (0..8)
                        .map(|n| admitted(&registry, &format!("n{}", (round + n) % 10)))
                        .collect();
                    entries.iter().for_each(Entry::noticed);
                }
            })
        };
        let writers: Vec<_> = (0..4).map(writer).collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(registry.nodes().count(), 1);
    drop(stays);
    assert_eq!(registry.nodes().count(), 0);
}

/// What the status of the only stream says of a type after these events.
fn transition(events: &[Event], of: &TypeUrl) -> TransitionStatus {
    let registry = StatusRegistry::new(ResourceTypes::well_known());
    let entry = admitted(&registry, "n");
    let info = StreamInfo::new("a.Service", Method::Delta, Peer::unknown(), Arc::default());
    events.iter().for_each(|event| entry.event(&info, event));
    let node = registry.node("n").unwrap();
    let ty = node.streams()[0].of_type(of);
    ty.map(TypeStatus::transition).cloned().unwrap_or_default()
}

fn withheld(name: usize) -> Event {
    Event::Withheld {
        type_url: ROUTE,
        name: Name::from(format!("r{name}")),
        awaits: Name::from("b"),
    }
}

fn permitted(name: usize, ready: bool) -> Event {
    Event::Permitted {
        type_url: ROUTE,
        name: Name::from(format!("r{name}")),
        waited: Duration::from_secs(1),
        ready,
    }
}

#[test]
fn what_waits_for_clusters_is_named_and_counted() {
    let events = [withheld(1), withheld(2), permitted(1, true)];
    let status = transition(&events, &ROUTE);
    assert_eq!((status.withheld_len(), status.expired()), (1, 0));
    let [left] = status.withheld() else {
        panic!("{status:?}");
    };
    assert_eq!((left.name().as_str(), left.awaits().as_str()), ("r2", "b"));
    let events = [withheld(1), permitted(1, false)];
    let status = transition(&events, &ROUTE);
    assert_eq!((status.withheld_len(), status.expired()), (0, 1));
    let many: Vec<_> = (0..100).map(withheld).collect();
    let status = transition(&many, &ROUTE);
    assert_eq!((status.withheld_len(), status.withheld().len()), (100, 16));
}

#[test]
fn what_stays_and_what_is_empty_is_named_and_counted() {
    let names = |names: &[&str]| names.iter().map(|name| Name::from(*name)).collect();
    let released = |name: &str, because| Event::Released {
        type_url: CLUSTER,
        names: names(&[name]),
        because,
    };
    let events = [
        Event::Retained {
            type_url: CLUSTER,
            names: names(&["a", "b", "c"]),
            because: Retention::Rejected,
        },
        released("a", Release::Accepted),
        released("b", Release::Silence),
        Event::Empty {
            type_url: CLUSTER,
            names: names(&["x", "y"]),
            because: Emptiness::Assigned,
        },
    ];
    let status = transition(&events, &CLUSTER);
    assert_eq!(
        (status.retained_len(), status.abandoned(), status.emptied()),
        (1, 1, 2)
    );
    let [left] = status.retained() else {
        panic!("{status:?}");
    };
    assert_eq!(
        (left.name().as_str(), left.because()),
        ("c", Retention::Rejected)
    );
}
