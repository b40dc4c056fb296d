//! What can happen.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The types of the model, by number: clusters, endpoints, routes, secrets.
pub(crate) const TYPES: usize = 4;

/// What is published under a name: a revision, good or bad, or nothing.
pub(crate) type Content = Option<(u32, bool)>;

/// The same content for a run of names of a type.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) of_type: usize,
    pub(crate) from: usize,
    pub(crate) count: usize,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Publish(Vec<Edit>),
    Clear,
    /// Names to ask for; in delta what to subscribe and what to give up.
    Want(usize, Vec<String>, Vec<String>),
    Read(bool),
    Send(bool),
    Acknowledge(bool),
    Window(usize),
    Pass(u64),
    Reconnect,
}

pub(crate) fn name(number: usize) -> String {
    format!("n{number:02}")
}

/// Whether a resource is left out of wildcards.
pub(crate) fn is_on_demand(of_type: usize, number: usize) -> bool {
    of_type == 0 && number % 4 == 3
}

/// Some names, and maybe a star: any of a few, a run of many.
fn names(size: usize) -> BoxedStrategy<Vec<String>> {
    let star = any::<bool>().prop_map(|star| star.then(|| "*".to_owned()));
    let some: BoxedStrategy<Vec<usize>> = match size {
        0..10 => subsequence((0..size).collect::<Vec<_>>(), 0..=size).boxed(),
        _ => (0..size, 0..=size)
            .prop_map(move |(from, count)| (from..(from + count).min(size)).collect())
            .boxed(),
    };
    (some, star)
        .prop_map(|(some, star)| some.into_iter().map(name).chain(star).collect())
        .boxed()
}

pub(crate) fn op(size: usize) -> impl Strategy<Value = Op> {
    let content = prop_oneof![
        1 => Just(None),
        6 => (1..4u32).prop_map(|revision| Some((revision, false))),
        1 => (1..4u32).prop_map(|revision| Some((revision, true))),
    ];
    let most = if size < 10 { 1 } else { size / 2 };
    let edit = (0..TYPES, 0..size, 1..=most, content);
    let edit = edit.prop_map(move |(of_type, from, count, content)| Edit {
        of_type,
        from,
        count: count.min(size - from),
        content,
    });
    let want = (0..TYPES, names(size), names(size));
    prop_oneof![
        8 => vec(edit, 1..5).prop_map(Op::Publish),
        1 => Just(Op::Clear),
        8 => want.prop_map(|(of_type, names, unsub)| Op::Want(of_type, names, unsub)),
        2 => any::<bool>().prop_map(Op::Read),
        2 => any::<bool>().prop_map(Op::Send),
        2 => any::<bool>().prop_map(Op::Acknowledge),
        1 => select(vec![0, 1, 2, usize::MAX]).prop_map(Op::Window),
        2 => (1..7_000u64).prop_map(Op::Pass),
        1 => Just(Op::Reconnect),
    ]
}
