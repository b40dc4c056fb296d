//! What a stream tells of waiting, staying and what has no endpoints.

use portolan_core::well_known::{CLUSTER, ROUTE};
use portolan_core::{Name, TypeUrl};
use portolan_engine::{Emptiness, Event, Release, Retention};
use portolan_testkit::EnvoyMux;
use portolan_testkit::fixture::{self, Fixture};

use crate::bed::*;

/// Why resources stay from now on, or do so no longer.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Retained(Retention),
    Released(Release),
}

use Told::{Released, Retained};

/// What was told of one type.
fn told(events: &[Event], of: &TypeUrl) -> Vec<Told> {
    let told = |event: &Event| match event {
        Event::Retained {
            type_url, because, ..
        } if type_url == of => Some(Retained(*because)),
        Event::Released {
            type_url, because, ..
        } if type_url == of => Some(Released(*because)),
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

#[test]
fn a_cluster_that_stays_is_told_with_the_reason_and_when_that_ends() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        publish(&shelf, leading_to("b"));
        pair.drive();
        let events = pair.take_events();
        assert_eq!(told(&events, &CLUSTER), [Retained(Retention::Changing)]);
        pair.advance(times().grace());
        let events = pair.take_events();
        assert_eq!(told(&events, &CLUSTER), [Released(Release::Accepted)]);
    }
}

#[test]
fn what_is_wanted_again_is_said_to_stay_no_longer() {
    let (shelf, mut pair) = serving(EnvoyMux::Delta, leading_to("a"));
    publish(&shelf, leading_to("b"));
    pair.drive();
    pair.take_events();
    let mut both = leading_to("b");
    both.extend([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    publish(&shelf, both);
    pair.drive();
    let events = pair.take_events();
    assert_eq!(told(&events, &CLUSTER), [Released(Release::Wanted)]);
}

#[test]
fn a_cluster_that_stays_because_of_a_rejection_is_told_so() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next[3] = fixture::route("r", ["b"]).bad();
        let mut both = next.clone();
        both.extend([fixture::cluster("a"), fixture::endpoints("a", "1")]);
        publish(&shelf, both);
        pair.drive();
        pair.take_events();
        publish(&shelf, next);
        pair.drive();
        let events = pair.take_events();
        assert_eq!(told(&events, &CLUSTER), [Retained(Retention::Rejected)]);
    }
}

#[test]
fn a_table_that_stays_is_told_once_and_when_it_is_given_up() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("a");
        next.truncate(2);
        publish(&shelf, next);
        pair.advance(secs(1));
        shelf.put([fixture::static_cluster("spare")]);
        pair.advance(secs(1));
        let events = pair.take_events();
        assert_eq!(told(&events, &ROUTE), [Retained(Retention::Subscribed)]);
        pair.advance(DRAIN);
        let events = pair.take_events();
        assert_eq!(told(&events, &ROUTE), [Released(Release::Accepted)]);
    }
}

#[test]
fn a_wait_is_told_once_however_much_is_published_meanwhile() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        drop(next.remove(1));
        publish(&shelf, next);
        for revision in 0..3 {
            shelf.put([fixture::static_cluster("spare").revision(revision)]);
            pair.advance(secs(1));
        }
        let events = pair.take_events();
        let withheld = events
            .iter()
            .filter(|event| matches!(event, Event::Withheld { .. }));
        assert_eq!(withheld.count(), 1, "{kind:?}");
    }
}

/// Empty endpoints are taken for meant: there is nothing to wait for, and something to tell.
#[test]
fn a_cluster_that_is_published_empty_is_not_waited_for_and_told() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next[1] = fixture::no_endpoints("b");
        publish(&shelf, next);
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=b", "{kind:?}");
        let of_b = |because| (vec!["b".into()], because);
        let told = empty(&pair.take_events());
        assert_eq!(
            told,
            [of_b(Emptiness::Assigned), of_b(Emptiness::Referenced)]
        );
        // Once per change, however often it is sent.
        shelf.put([fixture::cluster("b").revision(2)]);
        pair.advance(secs(10));
        assert_eq!(empty(&pair.take_events()), [], "{kind:?}");
        shelf.put([fixture::endpoints("b", "1")]);
        pair.advance(secs(1));
        shelf.put([fixture::no_endpoints("b")]);
        pair.advance(secs(1));
        assert_eq!(
            empty(&pair.take_events()),
            [of_b(Emptiness::Assigned)],
            "{kind:?}"
        );
    }
}

/// The clusters that were told to have no endpoints, and why they were.
fn empty(events: &[Event]) -> Vec<(Vec<Name>, Emptiness)> {
    let told = events.iter().filter_map(|event| match event {
        Event::Empty { names, because, .. } => Some((names.clone(), *because)),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_cluster_that_has_endpoints_is_not_told_to_have_none() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=b", "{kind:?}");
        assert_eq!(empty(&pair.take_events()), [], "{kind:?}");
    }
}

/// Without transitions nothing is known of what clusters are for.
#[test]
fn in_order_alone_nothing_is_told_of_empty_clusters() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving_with(kind, in_order(), leading_to("a"));
        let none: Vec<Fixture> = vec![fixture::no_endpoints("a")];
        shelf.put(none);
        pair.drive();
        assert_eq!(empty(&pair.take_events()), [], "{kind:?}");
    }
}
