//! Which group is translated next: a state machine without a clock. `now` is the time since some fixed moment.
//!
//! ```text
//!            came, or released         next               finish
//!   settled ───────────────────▶ queued ─────▶ running ─────────────▶ settled, or queued again
//!      │                                                              where a newer model was released meanwhile
//!      └── went, and the linger time passed ──▶ forgotten
//! ```
//!
//! Groups do not wait for each other: one whose translation is slow is only late itself. A group is translated from
//! the newest model there is when its turn comes, so one that waited long in the queue catches up in one step.

mod queue;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use portolan_core::GroupKey;

use self::queue::{Class, Place, Queue};
use crate::Revision;

/// The groups that are translated, and the order of their turns.
#[derive(Debug)]
pub(crate) struct Schedule<G> {
    groups: BTreeMap<G, Group>,
    queue: Queue<G>,
    leaving: BTreeSet<(Duration, G)>,
    linger: Duration,
    newest: Revision,
    released: Revision,
}

#[derive(Debug)]
struct Group {
    /// The loop's round in which the group came.
    came: u64,
    state: State,
    /// Since when it waits for what it has not been given.
    since: Option<Duration>,
    /// Newest model that its turns came to an end with, whichever.
    attempted: Revision,
    /// Newest model that its publication shows.
    current: Revision,
    /// How the last turn ended; `None` before the first.
    ending: Option<Ending>,
    leaving: Leaving,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Settled,
    Queued(Place),
    Running(Revision),
}

/// Whether a group is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    No,
    At(Duration),
    /// The linger time passed, but the group still has a reason to stay.
    Expired,
}

/// How a group's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// What is published shows the model.
    Current,
    /// The group keeps what it has.
    Failed,
    /// There was no thread for it.
    NotTried,
}

/// A group whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct Turn<G> {
    pub(crate) group: G,
    pub(crate) revision: Revision,
    /// Since when the group waited.
    pub(crate) since: Duration,
    /// Newest model that its publication shows.
    pub(crate) current: Revision,
}

/// A group that is no longer translated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forgotten<G> {
    pub(crate) group: G,
    /// Whether something was published for it.
    pub(crate) published: bool,
}

impl<G: GroupKey> Schedule<G> {
    pub(crate) fn new(linger: Duration) -> Self {
        Self {
            groups: BTreeMap::new(),
            queue: Queue::default(),
            leaving: BTreeSet::new(),
            linger,
            newest: Revision::default(),
            released: Revision::default(),
        }
    }

    /// A newer model is there; groups get it from their next turn on.
    pub(crate) fn set_newest(&mut self, revision: Revision) {
        self.newest = revision;
    }

    /// Every group is to be given the newest model, for which it has waited since `since`.
    pub(crate) fn release(&mut self, since: Duration) {
        self.released = self.newest;
        for (name, group) in &mut self.groups {
            let on_its_way = match group.state {
                State::Settled => group.attempted,
                State::Queued(_) => Revision::default(),
                State::Running(revision) => revision,
            };
            if on_its_way < self.released {
                group.since.get_or_insert(since);
            }
            group.queue_if_stale(name, self.released, &mut self.queue);
        }
    }

    /// A group came in the loop's round `round`. One that has not been translated is queued at once.
    pub(crate) fn came(&mut self, name: G, round: u64, now: Duration) {
        let group = self.groups.entry(name.clone()).or_insert_with(|| Group {
            came: round,
            state: State::Settled,
            since: None,
            attempted: Revision::default(),
            current: Revision::default(),
            ending: None,
            leaving: Leaving::No,
        });
        if let Leaving::At(at) = group.leaving {
            self.leaving.remove(&(at, name.clone()));
        }
        group.leaving = Leaving::No;
        let has_nothing = group.current == Revision::default();
        let may_help = group.attempted < self.newest;
        if has_nothing && may_help && matches!(group.state, State::Settled) {
            group.since = Some(now);
            group.state = State::Queued(self.queue.push(name, Class::New));
        }
    }

    /// A group went. It is forgotten once the linger time has passed, at once if it never had a turn.
    #[must_use]
    pub(crate) fn went(&mut self, name: &G, now: Duration) -> Option<Forgotten<G>> {
        let group = self.groups.get_mut(name)?;
        let at = now.saturating_add(self.linger);
        group.leaving = Leaving::At(at);
        if group.ending.is_none() && !matches!(group.state, State::Running(_)) {
            return Some(self.forget(name));
        }
        self.leaving.insert((at, name.clone()));
        None
    }

    /// When [`expire`](Self::expire) has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.leaving.first().map(|(at, _)| *at)
    }

    /// Forgets groups whose linger time has passed. One that failed keeps its last good publication until it is
    /// translated again.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<Forgotten<G>> {
        let mut forgotten = Vec::new();
        while let Some((at, name)) = self.leaving.pop_first() {
            if at > now {
                self.leaving.insert((at, name));
                break;
            }
            if let Some(group) = self.groups.get_mut(&name) {
                group.leaving = Leaving::Expired;
                forgotten.extend(self.forget_if_free(&name));
            }
        }
        forgotten
    }

    /// The group whose turn it is, if any waits. It is running until [`finish`](Self::finish).
    pub(crate) fn next(&mut self, now: Duration) -> Option<Turn<G>> {
        let name = self.queue.pop()?;
        let group = self.groups.get_mut(&name)?;
        group.state = State::Running(self.newest);
        Some(Turn {
            group: name,
            revision: self.newest,
            since: group.since.take().unwrap_or(now),
            current: group.current,
        })
    }

    /// A turn ended. May say that the group is forgotten now.
    #[must_use]
    pub(crate) fn finish(&mut self, turn: &Turn<G>, ending: Ending) -> Option<Forgotten<G>> {
        let group = self.groups.get_mut(&turn.group)?;
        group.attempted = turn.revision;
        group.ending = Some(ending);
        group.state = State::Settled;
        match ending {
            Ending::Current => group.current = turn.revision,
            Ending::NotTried => group.since = Some(turn.since),
            Ending::Failed => {}
        }
        if group.leaving == Leaving::Expired
            && let Some(forgotten) = self.forget_if_free(&turn.group)
        {
            return Some(forgotten);
        }
        if let Some(group) = self.groups.get_mut(&turn.group) {
            group.queue_if_stale(&turn.group, self.released, &mut self.queue);
        }
        None
    }

    /// Whether what a turn came to after it had been finished may still count: the group had no other turn since, and
    /// none is coming.
    pub(crate) fn takes_late(&self, turn: &Turn<G>) -> bool {
        self.groups.get(&turn.group).is_some_and(|group| {
            group.attempted == turn.revision && matches!(group.state, State::Settled)
        })
    }

    /// Queues the groups for which there was no thread.
    pub(crate) fn retry_not_tried(&mut self) {
        for (name, group) in &mut self.groups {
            if group.ending == Some(Ending::NotTried) && matches!(group.state, State::Settled) {
                group.state = State::Queued(self.queue.push(name.clone(), Class::Stale));
            }
        }
    }

    /// Whether no group waits for a turn.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The first group, at or after `from`, that came by the loop's round `round` and whose turn with `revision` or a
    /// newer model has not ended.
    pub(crate) fn first_behind(
        &self,
        from: Option<&G>,
        revision: Revision,
        round: u64,
    ) -> Option<&G> {
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        let mut groups = self.groups.range((from, Bound::Unbounded));
        let behind = groups.find(|(_, g)| g.came <= round && g.attempted < revision);
        behind.map(|(name, _)| name)
    }

    fn forget_if_free(&mut self, name: &G) -> Option<Forgotten<G>> {
        let group = self.groups.get(name)?;
        let keeps_last_good =
            group.current > Revision::default() && group.ending != Some(Ending::Current);
        let free = !keeps_last_good && !matches!(group.state, State::Running(_));
        free.then(|| self.forget(name))
    }

    fn forget(&mut self, name: &G) -> Forgotten<G> {
        let group = self.groups.remove(name);
        if let Some(State::Queued(place)) = group.as_ref().map(|group| group.state) {
            self.queue.remove(place);
        }
        Forgotten {
            group: name.clone(),
            published: group.is_some_and(|group| group.current > Revision::default()),
        }
    }
}

impl Group {
    fn queue_if_stale<G: Clone>(&mut self, name: &G, released: Revision, queue: &mut Queue<G>) {
        if self.attempted < released && matches!(self.state, State::Settled) {
            self.state = State::Queued(queue.push(name.clone(), Class::Stale));
        }
    }
}
