//! What is known of one type on a stream.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::Distrust;
use crate::content::{Content, Contents, Quality, of_type};
use crate::wants::Wants;

/// What the client was told of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Has(Content),
    Gone,
    /// It has something, and nobody knows what.
    Something,
}

impl Told {
    /// Whether it was told that there is nothing: not to be found is to be gone (C-367).
    pub(super) fn is_nothing(self) -> bool {
        match self {
            Self::Has(content) => content.quality == Quality::NotFound,
            Self::Gone => true,
            Self::Something => false,
        }
    }

    pub(super) fn of(content: Option<Content>) -> Self {
        content.map_or(Self::Gone, Self::Has)
    }
}

/// Why a name must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Must {
    Asked,
    /// It was asked for by a client that says what it has of it.
    Lacked,
    GivenUp,
    Reanswer,
}

/// What a response spoke of.
pub(super) type Touched = BTreeMap<usize, Option<Content>>;

#[derive(Debug)]
pub(super) struct Sent {
    pub(super) nonce: u64,
    pub(super) touched: Touched,
    /// Acknowledged, while an older one is not.
    pub(super) acked: bool,
}

/// A rejected response.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) touched: Touched,
    /// Members that were sent again.
    pub(super) cleared: BTreeSet<usize>,
    /// A member changed, and the answer that holds all of them is cut.
    pub(super) released: bool,
}

impl Batch {
    pub(super) fn contains(&self, number: usize) -> bool {
        self.touched.contains_key(&number) && !self.cleared.contains(&number)
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        let members = self.touched.keys().copied();
        members.filter(|number| !self.cleared.contains(number))
    }
}

#[derive(Debug, Default)]
pub(super) struct Type {
    pub(super) wants: Wants,
    pub(super) newest: Option<u64>,
    pub(super) told: BTreeMap<usize, Told>,
    /// The response that spoke of a name last.
    pub(super) told_by: BTreeMap<usize, u64>,
    /// Names that were gone without being told, and from which publication on: when a later one has them, they returned.
    pub(super) lapsed: BTreeMap<usize, u64>,
    /// What may be sent, changed or not.
    pub(super) may: BTreeSet<usize>,
    pub(super) may_all: bool,
    /// The answer to a first request is to come; what changed since the last stream is part of it.
    pub(super) begins: bool,
    pub(super) must: BTreeMap<usize, Must>,
    /// Something must be said, and be it that there is nothing.
    pub(super) must_speak: bool,
    /// A client that starts over, and was not answered since, had something or said so.
    pub(super) has_something: bool,
    /// All that the client has, by the version that it names.
    pub(super) claimed: Option<Vec<(usize, Content)>>,
    pub(super) in_flight: VecDeque<Sent>,
    pub(super) batches: VecDeque<Batch>,
    pub(super) last_changed: Option<(u64, Duration)>,
    /// Children that were told of before they were asked for, and by which response.
    pub(super) children: Vec<(usize, u64)>,
    pub(super) distrust: Distrust,
}

impl Type {
    pub(super) fn new(distrust: Distrust) -> Self {
        Self {
            distrust,
            ..Self::default()
        }
    }

    pub(super) fn unsettled(&self) -> Distrust {
        let awaited = self.in_flight.iter().filter(|sent| !sent.acked);
        let awaited = awaited.flat_map(|sent| sent.touched.keys().copied());
        let mut distrust = self.distrust.clone();
        distrust.names.extend(awaited);
        for batch in &self.batches {
            distrust.names.extend(batch.members());
            distrust.more.extend(batch.touched.keys());
        }
        distrust
    }

    pub(super) fn is_suspect(&self, number: usize) -> bool {
        self.batches.iter().any(|batch| batch.contains(number))
    }

    pub(super) fn reject(&mut self, touched: Touched, max: usize) {
        if !touched.is_empty() {
            let cleared = BTreeSet::new();
            self.batches.push_back(Batch {
                touched,
                cleared,
                released: false,
            });
        }
        while self.batches.len() > max {
            self.batches.pop_front();
        }
    }

    /// Notes that names were sent again.
    pub(super) fn clear(&mut self, touched: &Touched) {
        for batch in &mut self.batches {
            let members = touched.keys().filter(|n| batch.touched.contains_key(*n));
            batch.cleared.extend(members);
        }
        self.batches
            .retain(|batch| batch.cleared.len() < batch.touched.len());
    }

    /// The oldest response is taken for accepted: only where there are too many.
    pub(super) fn assume(&mut self, nonce: u64, max: usize) -> Result<(), String> {
        let oldest = self.in_flight.pop_front();
        let too_many = self.in_flight.len() >= max;
        self.drop_acked();
        match oldest {
            Some(oldest) if oldest.nonce == nonce && too_many => Ok(()),
            _ => Err(format!("{nonce} is assumed accepted")),
        }
    }

    /// Of acknowledged responses only those behind one that is not are remembered.
    pub(super) fn drop_acked(&mut self) {
        while self.in_flight.front().is_some_and(|sent| sent.acked) {
            self.in_flight.pop_front();
        }
    }

    /// Whether the client says that it has all of `contents`.
    pub(super) fn claims_all(&self, at: usize, contents: &Contents) -> bool {
        let all = || of_type(contents, at);
        let claimed = self.claimed.as_ref();
        claimed.is_some_and(|claimed| all().eq(claimed.iter().copied()))
    }

    /// Whether a name that this publication has was gone before.
    pub(super) fn has_returned(&self, number: &usize, generation: u64) -> bool {
        let gone = self.lapsed.get(number);
        gone.is_some_and(|gone| *gone < generation)
    }

    /// Forgets what is not wanted any more.
    pub(super) fn prune(&mut self, at: usize) {
        let wants = &self.wants;
        self.told.retain(|number, told| match told {
            Told::Has(content) => wants.covers(at, *number, *content),
            _ => wants.covers_name(*number),
        });
        let told = &self.told;
        self.lapsed.retain(|number, _| told.contains_key(number));
    }

    /// All of this is to be answered, whatever the client has.
    pub(super) fn answer_all(&mut self, names: impl Iterator<Item = usize>) {
        self.may_all = true;
        self.must.extend(names.map(|number| (number, Must::Asked)));
    }
}
