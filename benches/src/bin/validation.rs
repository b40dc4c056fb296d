//! How long it takes to validate a cluster by the schema.
//!
//! `cargo run --release -p portolan-benches --bin validation`

use std::hint::black_box;
use std::time::Instant;

use portolan_benches::cluster;
use portolan_consistency::schema::Validator;
use portolan_core::well_known::CLUSTER;
use prost::Message as _;

const ROUNDS: u32 = 2_000;

/// So few that most rounds end before something else gets the processor.
const TIMES: u32 = 100;

fn main() {
    let bytes = cluster(0, 5).encode_to_vec();
    let validator = Validator::new();
    assert_eq!(validator.validate(CLUSTER.as_str(), &bytes), []);

    let round = |_| {
        let started = Instant::now();
        for _ in 0..TIMES {
            black_box(validator.validate(CLUSTER.as_str(), black_box(&bytes)));
        }
        started.elapsed()
    };
    let mut rounds: Vec<_> = (0..ROUNDS).map(round).collect();
    rounds.sort();
    let took = rounds[rounds.len() / 2];
    println!(
        "{} bytes: {:?} each, {:.0} in a second, in the middle of {ROUNDS} rounds",
        bytes.len(),
        took / TIMES,
        f64::from(TIMES) / took.as_secs_f64(),
    );
}
