use portolan_core::Announced;

use super::*;
use crate::wakes::Wakes;
use crate::{LinearCache, SnapshotCache};

fn waker(wakes: &Arc<Wakes>) -> Waker {
    Waker::from(Arc::clone(wakes))
}

fn drain(mux: &MuxCache, budget: usize) -> usize {
    let mut calls = 1;
    while mux.announce(budget) == Announced::More {
        calls += 1;
    }
    calls
}

#[test]
fn parts_share_the_budget_and_a_quiet_one_takes_nothing_of_it() {
    let ([a, b, c], mux) = union();
    drain(&mux, 100);
    let _ = [&a, &b, &c].map(Own::budgets);
    a.note(1_000);
    c.note(1_000);
    assert_eq!(mux.announce(100), Announced::More);
    assert_eq!([&a, &b, &c].map(Own::budgets), [vec![50], vec![], vec![50]]);
    assert_eq!(drain(&mux, 100), 19);
    assert_eq!([&a, &c].map(Own::unannounced), [0, 0]);
}

#[test]
fn parts_take_turns_where_the_budget_is_small() {
    let ([a, b, c], mux) = union();
    drain(&mux, 100);
    for part in [&a, &b, &c] {
        part.note(2);
    }
    assert_eq!(mux.announce(0), Announced::More);
    for left in [[1, 2, 2], [1, 1, 2], [1, 1, 1], [0, 1, 1]] {
        assert_eq!(mux.announce(1), Announced::More);
        assert_eq!([&a, &b, &c].map(Own::unannounced), left);
    }
    assert_eq!(drain(&mux, 1), 2);
}

#[test]
fn an_announcer_is_woken_by_any_part_and_no_part_collects_wakers() {
    let ([a, b], mux) = union();
    let wakes = Arc::default();
    for round in 1..=10 {
        mux.register_announcer(waker(&wakes));
        mux.register_announcer(waker(&wakes));
        drain(&mux, 1);
        let part = [&a, &b][round % 2];
        part.note(3);
        assert_eq!(wakes.count(), round, "once, although it registered twice");
        drain(&mux, 1);
        assert_eq!(part.unannounced(), 0);
        assert!(a.announcers() <= 1 && b.announcers() <= 1);
    }
}

#[test]
fn a_change_between_two_calls_is_not_lost() {
    let ([a, _], mux) = union();
    let wakes = Arc::default();
    // Nobody announces before the first change.
    mux.register_announcer(waker(&wakes));
    a.note(1);
    assert_eq!(wakes.count(), 1);
    mux.register_announcer(waker(&wakes));
    a.note(1);
    assert_eq!(mux.announce(10), Announced::All);
    assert_eq!(a.unannounced(), 0);
    a.note(1);
    assert_eq!(wakes.count(), 2);
}

#[test]
fn a_stream_is_woken_for_each_of_its_parts() {
    let (config, config_reader) = SnapshotCache::new(portolan_core::NodeId::default()).split();
    let (writer, reader) = LinearCache::new(ENDPOINT).split();
    let mut mux = MuxCache::builder();
    let part = mux.part("config", Arc::new(config_reader));
    mux.otherwise([part]);
    let part = mux.part("endpoints", Arc::new(reader));
    mux.route(ENDPOINT, [part]);
    let mux = mux.build();
    let wakes = Arc::default();
    let node = Arc::new(Node::new("n"));
    let mut view = mux.open(&node, &Peer::unknown(), waker(&wakes)).unwrap();
    let wanted = ["a".into()];
    view.interest(&portolan_core::Interest::new(
        &ENDPOINT,
        &wanted,
        &[],
        false,
    ));
    let _ = config.set(&"n".to_owned(), clusters(&["a"]));
    drain(&mux, 1);
    assert_eq!(wakes.count(), 1);
    let _ = view.load();
    let _ = writer.upsert(resource(&ENDPOINT, "a", "1")).unwrap();
    drain(&mux, 1);
    assert_eq!(wakes.count(), 2);
    let _ = view.load();
    let _ = writer.upsert(resource(&ENDPOINT, "b", "1")).unwrap();
    drain(&mux, 1);
    assert_eq!(wakes.count(), 2, "it does not want that one");
}
