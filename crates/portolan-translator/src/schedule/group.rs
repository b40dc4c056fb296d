use std::sync::Arc;
use std::time::Duration;

use super::queue::{Class, Place, Queue};
use super::{AsksGuard, Assignment, Ending, Shown, Work};
use crate::Revision;
use crate::debounce::Lane;
use crate::notices::{Detail, Marks};

/// What the schedule knows of a group.
#[derive(Debug)]
pub(super) struct Group<D> {
    pub(super) state: State,
    /// Since when it waits for what it has not been given.
    pub(super) since: Option<Duration>,
    /// Newest model that its turns came to an end with, whichever.
    pub(super) attempted: Revision,
    /// Newest model that its publication shows.
    pub(super) current: Revision,
    /// How the last turn ended; `None` before the first.
    pub(super) ending: Option<Ending>,
    pub(super) leaving: Leaving,
    /// The changes that concern it by name, with those of which there are details.
    pub(super) own: Marks,
    /// Newest change that concerns it and was released.
    pub(super) due: Revision,
    /// Details of changes that its publication does not show, in order.
    details: Vec<Detail<D>>,
    shown: Option<Shown>,
    /// Whether its last turn failed, so that nobody knows how far what is published is from what should be.
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Settled,
    Queued(Place),
    Running(Revision),
}

/// Whether a group is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    No,
    At(Duration),
    /// The linger time passed, but the group still has a reason to stay.
    Expired,
}

impl<D> Group<D> {
    /// A group that wants the model `newest`.
    pub(super) fn new(newest: Revision) -> Self {
        Self {
            state: State::Settled,
            since: None,
            attempted: Revision::NONE,
            current: Revision::NONE,
            ending: None,
            leaving: Leaving::No,
            own: Marks {
                newest,
                ..Marks::default()
            },
            due: newest,
            details: Vec::new(),
            shown: None,
            failed: false,
        }
    }

    /// Takes a detail of a change that concerns the group.
    pub(super) fn note(&mut self, detail: Detail<D>, most: usize) {
        self.details.push(detail);
        if self.details.len() > most {
            for detail in self.details.drain(..) {
                self.own.note_vague(detail.lane, detail.revision);
            }
        }
    }

    /// Every change that concerns the group is due.
    pub(super) fn release(&mut self, everyone_due: Revision, since: Duration) {
        self.due = self.own.newest.max(everyone_due);
        let on_its_way = match self.state {
            State::Settled => self.attempted,
            State::Queued(_) => Revision::NONE,
            State::Running(revision) => revision,
        };
        if on_its_way < self.due {
            self.since.get_or_insert(since);
        }
    }

    pub(super) fn queue_if_stale<G: Clone>(&mut self, name: &G, queue: &mut Queue<G>) {
        if self.attempted < self.due && matches!(self.state, State::Settled) {
            self.state = State::Queued(queue.push(name.clone(), Class::Stale));
        }
    }

    /// What is to be done in a turn that begins now. `everyone` are the changes that concern every group.
    pub(super) fn assignment(&self, everyone: Marks) -> Assignment<D> {
        let marks = self.own.and(everyone);
        Assignment {
            work: self.work(marks),
            shown: self.shown,
            asks_guard: match self.current < marks.mass_deletion {
                true => AsksGuard::No,
                false => AsksGuard::Yes,
            },
        }
    }

    fn work(&self, marks: Marks) -> Work<D> {
        let unknown = |lane: Lane| marks.vague[lane as usize] > self.current;
        let has_nothing = self.current == Revision::NONE;
        if has_nothing || self.failed || unknown(Lane::Config) {
            return Work::Everything;
        }
        if unknown(Lane::Endpoints) {
            let is_of_endpoints = |detail: &Detail<D>| detail.lane == Lane::Endpoints;
            return match self.details.iter().all(is_of_endpoints) {
                true => Work::Endpoints,
                false => Work::Everything,
            };
        }
        if self.details.is_empty() {
            return Work::Everything;
        }
        let said = self.details.iter().map(|detail| Arc::clone(&detail.said));
        Work::Details(said.collect())
    }

    pub(super) fn finish(
        &mut self,
        revision: Revision,
        since: Duration,
        ending: Ending,
        shown: Option<Shown>,
    ) {
        self.attempted = revision;
        self.ending = Some(ending);
        self.state = State::Settled;
        match ending {
            Ending::Current => {
                self.current = revision;
                self.shown = shown;
                self.failed = false;
            }
            Ending::Failed => self.failed = true,
            Ending::NotTried => {
                self.since = Some(since);
                return;
            }
        }
        // What failed is made good by translating everything.
        self.details.retain(|detail| detail.revision > revision);
    }

    /// Whether nothing keeps it from being forgotten: neither a turn that is going on, nor a last good publication that
    /// could not be made again.
    pub(super) fn is_free(&self) -> bool {
        let keeps_last_good = self.current > Revision::NONE && self.ending != Some(Ending::Current);
        !keeps_last_good && !matches!(self.state, State::Running(_))
    }
}
