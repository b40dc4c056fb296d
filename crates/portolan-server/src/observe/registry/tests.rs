use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use portolan_core::{Node, Peer, ResourceTypes};

use super::{Entry, StatusRegistry};
use crate::{Callbacks, Method, StreamInfo};

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
