//! Delta.

use portolan_core::well_known::ENDPOINT;
use portolan_testkit::{PlainClient, fixture};

use crate::bed::Bed;

/// Elsewhere an unsubscription was answered with a push, and the name that it gave up was still served.
#[test]
fn b44_giving_a_name_up_is_not_answered() {
    let bed = Bed::with(["a", "b"].map(|name| fixture::endpoints(name, "1")));
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&ENDPOINT, ["a", "b"]);
    pair.drive();
    pair.skip();
    pair.client.unsubscribe(&ENDPOINT, ["a"]);
    pair.drive();
    bed.put([fixture::endpoints("a", "2")]);
    pair.drive();
    pair.expect(["> EDS -[a]"]);
    bed.put([fixture::endpoints("b", "2")]);
    pair.drive();
    pair.expect(["< EDS n2 [b@2]", "> ACK EDS n2"]);
}

/// Elsewhere what was removed, or did not exist yet, was no longer subscribed, and never came.
#[test]
fn b35_what_is_removed_stays_subscribed() {
    let bed = Bed::with([fixture::endpoints("a", "1")]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&ENDPOINT, ["a", "later"]);
    pair.drive();
    bed.remove(&ENDPOINT, ["a"]);
    pair.drive();
    bed.put(["a", "later"].map(|name| fixture::endpoints(name, "1")));
    pair.drive();
    pair.expect([
        "> EDS +[a later]",
        "< EDS n1 [a] -[later]",
        "> ACK EDS n1",
        "< EDS n2 [] -[a]",
        "> ACK EDS n2",
        "< EDS n3 [a later]",
        "> ACK EDS n3",
    ]);
}
