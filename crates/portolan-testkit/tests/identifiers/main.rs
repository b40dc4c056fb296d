//! Random clients that subscribe by name, alias, glob and wildcard, against an oracle of what they should have.
//!
//! A client has what one of the identifiers that it holds stands for, in the version that is published, and nothing else:
//! whatever was given up, lost and asked for again on the way.

#[path = "../seeded/mod.rs"]
mod seeded;
mod universe;
mod world;

use portolan_core::TypeUrl;
use portolan_core::well_known::{CLUSTER, ROUTE, VIRTUAL_HOST};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use self::universe::{Asked, COUNT, Content, asked};
use self::world::{Source, World};

/// What can happen.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// These are put in or taken out.
    Publish(Vec<(usize, Option<Content>)>),
    Ask {
        subscribe: Vec<Asked>,
        unsubscribe: Vec<Asked>,
    },
    /// Whatever is under way arrives.
    Drive,
    Advance(u64),
    /// The client takes responses from now on, or does not.
    Reading(bool),
    /// There is room for responses on the way from now on, or none, so that requests and publications are heard before
    /// any of them is answered.
    Room(bool),
    /// It acknowledges from now on, or does not.
    Acks(bool),
    /// It comes back, with the versions of what it has or without.
    Reconnect {
        claims: bool,
    },
    /// All is read and said.
    Rest,
}

fn op() -> impl Strategy<Value = Op> {
    let content = (0..3_u8, vec(any::<bool>(), 3), prop::bool::weighted(0.3));
    let content = content.prop_map(|(revision, aliases, on_demand)| Content {
        revision,
        aliases: std::array::from_fn(|at| aliases[at]),
        on_demand,
    });
    let edit = (0..COUNT, prop::option::weighted(0.7, content));
    let some = || vec(asked(), 0..4);
    prop_oneof![
        6 => vec(edit, 0..4).prop_map(Op::Publish),
        6 => (some(), some()).prop_map(|(subscribe, unsubscribe)| Op::Ask { subscribe, unsubscribe }),
        6 => Just(Op::Drive),
        1 => select(vec![1, 1_000, 6_000]).prop_map(Op::Advance),
        1 => any::<bool>().prop_map(Op::Reading),
        3 => any::<bool>().prop_map(Op::Room),
        2 => any::<bool>().prop_map(Op::Acks),
        1 => any::<bool>().prop_map(|claims| Op::Reconnect { claims }),
        4 => Just(Op::Rest),
    ]
}

fn shape() -> impl Strategy<Value = (TypeUrl, Source, bool)> {
    let sources = vec![Source::Shelf, Source::Linear];
    (
        select(vec![CLUSTER, ROUTE, VIRTUAL_HOST]),
        select(sources),
        any::<bool>(),
    )
}

proptest! {
    #![proptest_config(seeded::config(150))]

    #[test]
    fn a_client_ends_with_what_its_identifiers_stand_for(
        (type_url, source, cut) in shape(),
        ops in vec(op(), 1..60),
    ) {
        let mut world = World::new(type_url, source, cut);
        for op in ops.iter().chain([&Op::Rest]) {
            let outcome = world.apply(op);
            prop_assert!(outcome.is_ok(), "{}\n{}", outcome.unwrap_err(), world.transcript());
        }
    }
}
