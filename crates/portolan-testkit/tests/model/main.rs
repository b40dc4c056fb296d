//! Random clients, publications and connections against an oracle of what a client should be told and should have.
//!
//! Whatever happened: when all is read and said, a client has what it wants of what there is, everything that had to be
//! answered was, nothing was said without a reason, and nothing goes on for ever.

mod client;
mod content;
mod judge;
mod line;
mod message;
mod ops;
#[path = "../seeded/mod.rs"]
mod seeded;
mod store;
mod wants;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use portolan_engine::Variant;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use self::ops::{Op, op};
use self::world::{Shape, World};

/// So few names that everything happens to each of them.
const FEW: usize = 5;

/// So many that sets have several chunks, and names and knowledge are held as differences from sets.
const MANY: usize = 150;

fn run(shape: Shape, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut world = World::new(shape);
    let mut outcome = ops.iter().try_for_each(|op| world.apply(op));
    if outcome.is_ok() {
        outcome = world.finish();
    }
    outcome.map_err(|why| TestCaseError::fail(format!("{why}\n{shape:?}\n{}", world.transcript())))
}

fn check(variant: Variant, size: usize, cases: u32, steps: usize) {
    let shape = (
        any::<bool>(),
        any::<bool>(),
        select(vec![2, 64]),
        prop::bool::weighted(0.25),
    );
    let shape = shape.prop_map(move |(aggregated, cached, max_unacked, cut)| Shape {
        variant,
        size,
        aggregated,
        cached,
        max_unacked,
        cut,
    });
    let taken = AtomicUsize::new(0);
    let mut runner = TestRunner::new(seeded::config(cases));
    let outcome = runner.run(&(shape, vec(op(size), 1..steps)), |(shape, ops)| {
        taken.fetch_add(ops.len(), Ordering::Relaxed);
        run(shape, &ops)
    });
    println!("{} steps", taken.into_inner());
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn a_state_of_the_world_client_ends_with_what_it_wants() {
    check(Variant::Sotw, FEW, 300, 60);
}

#[test]
fn a_delta_client_ends_with_what_it_wants() {
    check(Variant::Delta, FEW, 300, 60);
}

#[test]
fn a_state_of_the_world_client_ends_with_the_many_that_it_wants() {
    check(Variant::Sotw, MANY, 16, 30);
}

#[test]
fn a_delta_client_ends_with_the_many_that_it_wants() {
    check(Variant::Delta, MANY, 16, 30);
}
