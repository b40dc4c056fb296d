//! Random clients, publications and connections against an oracle that fits on a page.
//!
//! Whatever happened: when all is read and said, a client has what it wants of what there is, nothing was said without
//! a reason, and nothing goes on for ever.

mod audit;
mod ops;
mod wants;
mod world;

use std::time::Duration;

use portolan_engine::Variant;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use self::audit::Auditor;
use self::ops::{Op, op};
use self::world::World;

/// So few names that everything happens to each of them.
const FEW: usize = 4;

/// So many that sets have several chunks, and names and knowledge are held as differences from sets.
const MANY: usize = 150;

fn run(variant: Variant, size: usize, latency: u64, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut world = World::new(variant, size, latency);
    ops.iter().for_each(|op| world.apply(op));
    world.settle();
    let verdict = judge(variant, &mut world);
    verdict.map_err(|why| TestCaseError::fail(format!("{why}\n{}", world.pair.transcript())))
}

fn judge(variant: Variant, world: &mut World) -> Result<(), String> {
    if let Some(error) = world.pair.error() {
        return Err(error.to_string());
    }
    world.check()?;
    Auditor::new(variant).audit(world.pair.transcript().lines())?;

    // All is said: the same content again, and every acknowledgement again, is answered with nothing.
    let said = world.pair.client.received().len();
    world.publish(&[]);
    world.repeat_acks();
    world.pair.advance(Duration::from_secs(10));
    match world.pair.client.received().len() == said {
        true => Ok(()),
        false => Err("it goes on".to_owned()),
    }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(cases)
    }
}

fn latency() -> impl Strategy<Value = u64> {
    select(vec![0, 0, 10])
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_state_of_the_world_client_ends_with_what_it_wants(
        latency in latency(),
        ops in vec(op(FEW), 1..40),
    ) {
        run(Variant::Sotw, FEW, latency, &ops)?;
    }

    #[test]
    fn a_delta_client_ends_with_what_it_wants(
        latency in latency(),
        ops in vec(op(FEW), 1..40),
    ) {
        run(Variant::Delta, FEW, latency, &ops)?;
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn a_state_of_the_world_client_ends_with_the_many_that_it_wants(
        latency in latency(),
        ops in vec(op(MANY), 1..20),
    ) {
        run(Variant::Sotw, MANY, latency, &ops)?;
    }

    #[test]
    fn a_delta_client_ends_with_the_many_that_it_wants(
        latency in latency(),
        ops in vec(op(MANY), 1..20),
    ) {
        run(Variant::Delta, MANY, latency, &ops)?;
    }
}
