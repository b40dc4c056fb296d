//! What is given up before it was answered.

use portolan_core::well_known::CLUSTER;
use portolan_testkit::{Pair, PlainClient, Shelf, fixture};

#[test]
fn c151_what_was_given_up_before_the_wildcard_was_is_not_answered() {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(fixture::static_cluster));
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, ["*", "a", "x"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    pair.client.unsubscribe(&CLUSTER, ["a", "x"]);
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect(["> CDS -[a x]", "> CDS -[*]"]);
}
