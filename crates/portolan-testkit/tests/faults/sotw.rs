//! State of the world.

use std::time::Duration;

use portolan_core::well_known::CLUSTER;

use crate::bed::{Bed, both, rejections};
use portolan_testkit::fixture;

/// Elsewhere a rejected version looked like one that the client lacked, and went out again for ever.
#[test]
fn b01_a_rejection_starts_no_loop_and_a_correction_goes_at_once() {
    for client in both() {
        let bed = Bed::with([fixture::static_cluster("c").bad()]);
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        for _ in 0..50 {
            pair.client.nack(&CLUSTER);
            pair.advance(Duration::from_secs(1));
        }
        assert_eq!(pair.client.received().len(), 1);
        assert_eq!(rejections(&pair.take_events()).len(), 1);
        bed.put([fixture::static_cluster("c")]);
        pair.drive();
        assert_eq!(pair.client.held_names(&CLUSTER), ["c".into()]);
    }
}
