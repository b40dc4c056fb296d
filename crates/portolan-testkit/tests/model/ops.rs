//! What can happen.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::content::{Content, Quality, TYPES};

/// The same content, or none, for a run of names of a type.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) at: usize,
    pub(crate) from: usize,
    pub(crate) count: usize,
    pub(crate) content: Option<Content>,
}

/// Some names, and maybe a star.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) numbers: Vec<usize>,
    pub(crate) star: bool,
}

/// How a client takes responses that have nothing bad in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Willing,
    /// It rejects them and applies every second name.
    Half,
    /// It rejects them and applies nothing.
    Unwilling,
}

impl Mood {
    pub(crate) fn applies(self, number: usize) -> bool {
        match self {
            Self::Willing => true,
            Self::Half => number.is_multiple_of(2),
            Self::Unwilling => false,
        }
    }
}

/// A nonce that a client has no business to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forged {
    Foreign,
    /// Of a response that is not sent yet.
    Future,
    /// Any number that was sent, of whatever type, answered or not.
    Old(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// `rebuild`: as a snapshot that shares nothing with the one before.
    Publish {
        edits: Vec<Edit>,
        rebuild: bool,
    },
    Clear,
    /// Names to ask for; in delta what to subscribe and what to give up. `flag`: afresh; in delta with an
    /// acknowledgement.
    Want {
        at: usize,
        names: Names,
        unsub: Names,
        flag: bool,
    },
    /// Answers one of the responses that wait for it.
    Answer {
        at: usize,
        which: usize,
    },
    Forge {
        at: usize,
        nonce: Forged,
        rejects: bool,
    },
    Repeat(usize),
    Mood(Mood),
    /// The session handles this many requests.
    Handle(usize),
    /// The session makes this many responses.
    Serve(usize),
    /// The client reads this many responses.
    Read(usize),
    /// Everything that is under way arrives; `answers`: and is answered.
    Flow {
        answers: bool,
    },
    Pass(u64),
    /// One of the streams is lost. `replica`: the next is to another server.
    Reconnect {
        line: usize,
        replica: bool,
        claims: bool,
    },
    /// Everything arrives and time passes, until nothing is left to say.
    Rest {
        answers: bool,
    },
}

fn names(size: usize) -> BoxedStrategy<Names> {
    let star = prop::bool::weighted(0.3);
    let some: BoxedStrategy<Vec<usize>> = match size {
        0..10 => subsequence((0..size).collect::<Vec<_>>(), 0..=size).boxed(),
        _ => (0..size, 0..=size)
            .prop_map(move |(from, count)| (from..(from + count).min(size)).collect())
            .boxed(),
    };
    (some, star)
        .prop_map(|(numbers, star)| Names { numbers, star })
        .boxed()
}

fn edits(size: usize) -> impl Strategy<Value = Vec<Edit>> {
    let good = (1..4u32).prop_map(|revision| (revision, Quality::Good));
    let bad = (1..4u32).prop_map(|revision| (revision, Quality::Bad));
    let garbled = (1..4u32).prop_map(|revision| (revision, Quality::Garbled));
    let failed = (1..4u32).prop_map(|revision| (revision, Quality::Failed));
    let not_found = (1..4u32).prop_map(|revision| (revision, Quality::NotFound));
    let content = prop_oneof![10 => good, 2 => bad, 1 => garbled, 1 => failed, 1 => not_found];
    let content = content.prop_map(|(revision, quality)| Content { revision, quality });
    let content = prop::option::weighted(0.85, content);
    let most = if size < 10 { 1 } else { size };
    let edit = (0..TYPES, 0..size, 1..=most, content);
    let edit = edit.prop_map(move |(at, from, count, content)| Edit {
        at,
        from,
        count: count.min(size - from),
        // What is said of failed virtual hosts is not said in errors.
        content: content.filter(|c| at < TYPES - 1 || !c.quality.is_error()),
    });
    vec(edit, 0..6)
}

pub(crate) fn op(size: usize) -> impl Strategy<Value = Op> {
    let few = select(vec![1, 1, 2, 100]);
    let mood = select(vec![
        Mood::Willing,
        Mood::Willing,
        Mood::Half,
        Mood::Unwilling,
    ]);
    let forged = prop_oneof![
        Just(Forged::Foreign),
        Just(Forged::Future),
        (0..20u64).prop_map(Forged::Old),
    ];
    let publish = (edits(size), prop::bool::weighted(0.1));
    let want = (0..TYPES, names(size), names(size), any::<bool>());
    let reconnect = (0..TYPES, any::<bool>(), prop::bool::weighted(0.8));
    prop_oneof![
        8 => publish.prop_map(|(edits, rebuild)| Op::Publish { edits, rebuild }),
        1 => Just(Op::Clear),
        8 => want.prop_map(|(at, names, unsub, flag)| Op::Want { at, names, unsub, flag }),
        3 => (0..TYPES, 0..8usize).prop_map(|(at, which)| Op::Answer { at, which }),
        1 => (0..TYPES, forged, any::<bool>())
            .prop_map(|(at, nonce, rejects)| Op::Forge { at, nonce, rejects }),
        1 => (0..TYPES).prop_map(Op::Repeat),
        1 => mood.prop_map(Op::Mood),
        4 => few.clone().prop_map(Op::Handle),
        4 => few.clone().prop_map(Op::Serve),
        4 => few.prop_map(Op::Read),
        4 => any::<bool>().prop_map(|answers| Op::Flow { answers }),
        2 => (1..7_000u64).prop_map(Op::Pass),
        1 => reconnect
            .prop_map(|(line, replica, claims)| Op::Reconnect { line, replica, claims }),
        1 => any::<bool>().prop_map(|answers| Op::Rest { answers }),
    ]
}
