//! Which names are wanted and what is known of them: a state machine without I/O, clocks and locks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use portolan_core::{GroupKey, Name, Resource, ResourceFailure, TypeUrl};

use super::limits::OnDemandLimits;
use super::queue::Queue;
use super::resolution::{Found, Keep, Resolution, Wanted};
use super::resolutions::{Step, Ticket};

/// A name of a type.
type Key = (TypeUrl, Name);

/// All names that are wanted, or kept for who may want them.
#[derive(Debug)]
pub(super) struct Names<K: GroupKey> {
    limits: OnDemandLimits,
    groups: BTreeMap<K, GroupNames>,
    tickets: BTreeMap<Ticket, Wanted<K>>,
    given: u64,
    queue: Queue,
    /// Of the queue, those that entered it since time was last told.
    unstamped: BTreeSet<Ticket>,
    waiting: usize,
    running: usize,
    timers: BTreeSet<(Duration, Ticket)>,
    /// What is kept though nobody wants it, oldest first.
    idle: Queue,
    steps: VecDeque<Step<K>>,
    now: Duration,
}

#[derive(Debug, Default)]
struct GroupNames {
    entries: BTreeMap<Key, Entry>,
    /// By the name that is published, the names that were wanted and led to it.
    placed: BTreeMap<Key, BTreeSet<Name>>,
}

#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    wanted_by: usize,
    stage: Stage,
    /// What is published for it; `None` where that is nothing.
    shown: Option<Resource>,
    timer: Option<Duration>,
    /// Whether a resolution was begun, so that its end must be told.
    begun: bool,
    /// Whether the answer is to be kept though nobody wants it.
    kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The base of the group has it.
    InBase,
    Queued,
    Running,
    Known,
}

impl<K: GroupKey> Names<K> {
    pub(super) fn new(limits: OnDemandLimits) -> Self {
        Self {
            limits,
            groups: BTreeMap::new(),
            tickets: BTreeMap::new(),
            given: 0,
            queue: Queue::default(),
            unstamped: BTreeSet::new(),
            waiting: 0,
            running: 0,
            timers: BTreeSet::new(),
            idle: Queue::default(),
            steps: VecDeque::new(),
            now: Duration::ZERO,
        }
    }

    /// Somebody wants a name. Gives the published names that change.
    pub(super) fn want(&mut self, wanted: Wanted<K>, in_base: bool) -> Vec<Key> {
        let key = (wanted.type_url.clone(), wanted.name.clone());
        let group = self.groups.entry(wanted.group.clone()).or_default();
        if let Some(entry) = group.entries.get_mut(&key) {
            entry.wanted_by += 1;
            let (ticket, was_idle) = (entry.ticket, entry.wanted_by == 1);
            if was_idle {
                self.idle.remove(ticket);
            }
            return Vec::new();
        }
        self.given += 1;
        let ticket = Ticket(self.given);
        let entry = Entry {
            ticket,
            wanted_by: 1,
            stage: Stage::InBase,
            shown: None,
            timer: None,
            begun: false,
            kept: false,
        };
        group.entries.insert(key, entry);
        self.tickets.insert(ticket, wanted);
        match in_base {
            true => Vec::new(),
            false => self.enqueue(ticket),
        }
    }

    /// One who wanted a name does so no more.
    pub(super) fn release(&mut self, wanted: &Wanted<K>) -> Vec<Key> {
        let key = (wanted.type_url.clone(), wanted.name.clone());
        let group = self.groups.get_mut(&wanted.group);
        let Some(entry) = group.and_then(|group| group.entries.get_mut(&key)) else {
            return Vec::new();
        };
        entry.wanted_by = entry.wanted_by.saturating_sub(1);
        let ticket = entry.ticket;
        if entry.wanted_by > 0 {
            return Vec::new();
        }
        if !(entry.kept && entry.stage == Stage::Known) {
            return self.forget(ticket);
        }
        self.idle.push(ticket);
        match self.idle.first() {
            Some(oldest) if self.idle.len() > self.limits.kept() => self.forget(oldest),
            _ => Vec::new(),
        }
    }

    /// What is in the base of a group may have changed.
    pub(super) fn rebase(&mut self, group: &K, in_base: impl Fn(&TypeUrl, &Name) -> bool) {
        let Some(names) = self.groups.get(group) else {
            return;
        };
        let entries = names.entries.iter();
        let moved = entries
            .filter(|((url, name), entry)| in_base(url, name) != (entry.stage == Stage::InBase));
        let moved: Vec<_> = moved
            .map(|(_, entry)| (entry.ticket, entry.stage))
            .collect();
        for (ticket, stage) in moved {
            if stage == Stage::InBase {
                self.enqueue(ticket);
                continue;
            }
            self.leave(ticket);
            self.show(ticket, None);
            let ended = self.entry(ticket).is_some_and(|entry| {
                entry.stage = Stage::InBase;
                std::mem::take(&mut entry.begun)
            });
            self.end(ticket, ended);
        }
    }

    /// What is published under a name besides the base.
    pub(super) fn at(&self, group: &K, url: &TypeUrl, name: &Name) -> Option<&Resource> {
        let names = self.groups.get(group)?;
        let askers = names.placed.get(&(url.clone(), name.clone()))?;
        let shown = |asker: &Name| {
            let entry = names.entries.get(&(url.clone(), asker.clone()))?;
            entry.shown.as_ref()
        };
        let mut all = askers.iter().filter_map(shown);
        // One may have been asked for by name and found by alias.
        all.clone().find(|r| r.is_resource()).or_else(|| all.next())
    }

    /// Everything that is published for a group besides the base.
    pub(super) fn all(&self, group: &K) -> impl Iterator<Item = &Resource> {
        let names = self.groups.get(group);
        let placed = names.into_iter().flat_map(|names| names.placed.keys());
        placed.filter_map(|(url, name)| self.at(group, url, name))
    }

    /// A resolution has ended. What nobody waits for any more changes nothing.
    pub(super) fn answer(&mut self, ticket: Ticket, resolution: Resolution) -> Vec<Key> {
        match self.is_running(ticket) {
            true => self.settle(ticket, resolution),
            false => Vec::new(),
        }
    }

    /// A resolution has failed.
    pub(super) fn fail(&mut self, ticket: Ticket) -> Vec<Key> {
        match self.is_running(ticket) {
            true => self.give_up(ticket, "the name could not be resolved"),
            false => Vec::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let idle = self.queue.is_empty() && self.timers.is_empty() && self.idle.is_empty();
        idle && self.groups.is_empty()
            && self.tickets.is_empty()
            && self.waiting + self.running == 0
    }

    pub(super) fn set_now(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    pub(super) fn group_of(&self, ticket: Ticket) -> Option<&K> {
        self.tickets.get(&ticket).map(|wanted| &wanted.group)
    }

    fn is_running(&mut self, ticket: Ticket) -> bool {
        let entry = self.entry(ticket);
        entry.is_some_and(|entry| entry.stage == Stage::Running)
    }

    /// What a wanted name is has changed; `None` where nobody wants it.
    pub(super) fn revise(&mut self, wanted: &Wanted<K>, news: Resolution) -> Option<Vec<Key>> {
        let key = (wanted.type_url.clone(), wanted.name.clone());
        let entry = self.groups.get(&wanted.group)?.entries.get(&key)?;
        let (ticket, stage, kept) = (entry.ticket, entry.stage, entry.kept);
        if stage == Stage::InBase {
            return None;
        }
        if stage == Stage::Running {
            self.steps.push_back(Step::Cancel(ticket));
        }
        let left = self.entry(ticket).and_then(|entry| entry.timer);
        let left = left.filter(|_| kept && stage == Stage::Known);
        let keep = left.map_or(news.keep, |at| Keep::For(at.saturating_sub(self.now)));
        Some(self.settle(ticket, news.keep(keep)))
    }

    /// What time brings, and then the next thing to do. Call it until there is nothing.
    pub(super) fn next(&mut self, now: Duration) -> (Option<Step<K>>, Vec<Changed<K>>) {
        self.now = self.now.max(now);
        for ticket in std::mem::take(&mut self.unstamped) {
            let deadline = self.now.saturating_add(self.limits.deadline());
            self.set_timer(ticket, Some(deadline));
        }
        let mut changed = Vec::new();
        while let Some((_, ticket)) = self
            .timers
            .first()
            .copied()
            .filter(|(at, _)| *at <= self.now)
        {
            let group = self.tickets.get(&ticket).map(|wanted| wanted.group.clone());
            let keys = self.ring(ticket);
            changed.extend(group.map(|group| (group, keys)));
        }
        (self.step(), changed)
    }

    /// When [`next`](Self::next) has something to do, if nothing else happens.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether there is something to do at once.
    pub(super) fn is_ready(&self) -> bool {
        !self.steps.is_empty()
            || !self.unstamped.is_empty()
            || (self.running < self.limits.at_once() && !self.queue.is_empty())
    }

    fn step(&mut self) -> Option<Step<K>> {
        if let Some(step) = self.steps.pop_front() {
            return Some(step);
        }
        while self.running < self.limits.at_once() {
            let ticket = self.queue.pop()?;
            let Some(entry) = self.entry(ticket).filter(|e| e.stage == Stage::Queued) else {
                continue;
            };
            entry.stage = Stage::Running;
            entry.begun = true;
            self.running += 1;
            let wanted = self.tickets.get(&ticket)?.clone();
            return Some(Step::Resolve(ticket, wanted));
        }
        None
    }

    /// The time of an entry has come.
    fn ring(&mut self, ticket: Ticket) -> Vec<Key> {
        self.set_timer(ticket, None);
        let Some(entry) = self.entry(ticket) else {
            return Vec::new();
        };
        match entry.stage {
            Stage::Queued | Stage::Running => {
                if entry.stage == Stage::Running {
                    self.steps.push_back(Step::Cancel(ticket));
                }
                self.give_up(ticket, "the name was not resolved in time")
            }
            Stage::Known if entry.wanted_by == 0 => self.forget(ticket),
            Stage::Known => self.enqueue(ticket),
            Stage::InBase => Vec::new(),
        }
    }

    /// Has a name resolved, for the first time or again: then what is known of it stands meanwhile.
    fn enqueue(&mut self, ticket: Ticket) -> Vec<Key> {
        if self.waiting >= self.limits.waiting() {
            return self.give_up(ticket, "too many names are being resolved");
        }
        let Some(entry) = self.entry(ticket) else {
            return Vec::new();
        };
        let is_first = entry.stage == Stage::InBase;
        entry.stage = Stage::Queued;
        self.waiting += 1;
        self.queue.push(ticket);
        self.unstamped.insert(ticket);
        let wanted = self.tickets.get(&ticket).filter(|_| is_first).cloned();
        let pending = wanted.map(|w| Resource::pending(w.type_url, w.name));
        match pending {
            // What cannot be a name is no resource's either.
            Some(Err(_)) => self.give_up(ticket, "no resource can have the name"),
            Some(Ok(pending)) => self.show(ticket, Some(pending)),
            None => Vec::new(),
        }
    }

    /// A name is not resolved, for now. What was there stays there; what was not is said not to exist, since only that
    /// makes every client go on.
    fn give_up(&mut self, ticket: Ticket, why: &str) -> Vec<Key> {
        let retry = Keep::For(self.limits.retry_after());
        let shown = self.entry(ticket).and_then(|entry| entry.shown.clone());
        let found = match shown.filter(Resource::is_resource) {
            Some(resource) => Found::Resource(resource),
            None => Found::Failed(ResourceFailure::not_found(why)),
        };
        let changed = self.settle(ticket, Resolution { found, keep: retry });
        if let Some(entry) = self.entry(ticket) {
            entry.kept = false;
        }
        changed
    }

    fn settle(&mut self, ticket: Ticket, resolution: Resolution) -> Vec<Key> {
        let Some(wanted) = self.tickets.get(&ticket).cloned() else {
            return Vec::new();
        };
        self.leave(ticket);
        let retry = self.limits.retry_after();
        let (shown, hold) = match (resolution.found, resolution.keep) {
            (Found::Resource(resource), keep) if is_answer(&wanted, &resource) => {
                (Some(resource.without_wildcard()), keep)
            }
            (Found::Resource(found), _) => {
                let text = match found.constraints() {
                    Some(_) => "what was found has constraints, and a name has one answer for all",
                    None => "what was found has neither the name nor the alias",
                };
                let failure = ResourceFailure::not_found(text);
                (failed(&wanted, failure), Keep::For(retry))
            }
            (Found::Failed(failure), Keep::WhileWanted) if !failure.is_not_found() => {
                (failed(&wanted, failure), Keep::For(retry))
            }
            (Found::Failed(failure), keep) => (failed(&wanted, failure), keep),
            (Found::Absent, keep) => (None, keep),
        };
        let timer = match hold {
            Keep::WhileWanted => None,
            Keep::For(time) => Some(self.now.saturating_add(time)),
        };
        self.set_timer(ticket, timer);
        if let Some(entry) = self.entry(ticket) {
            entry.stage = Stage::Known;
            entry.kept = resolution.keep != Keep::WhileWanted;
        }
        self.show(ticket, shown)
    }

    /// An entry waits no more, and nothing is due for it.
    fn leave(&mut self, ticket: Ticket) {
        self.set_timer(ticket, None);
        let stage = self.entry(ticket).map(|entry| entry.stage);
        self.waiting -= usize::from(matches!(stage, Some(Stage::Queued | Stage::Running)));
        self.running -= usize::from(stage == Some(Stage::Running));
        if stage == Some(Stage::Queued) {
            self.queue.remove(ticket);
        }
        self.unstamped.remove(&ticket);
    }

    fn forget(&mut self, ticket: Ticket) -> Vec<Key> {
        self.leave(ticket);
        let changed = self.show(ticket, None);
        self.idle.remove(ticket);
        let begun = self.entry(ticket).is_some_and(|entry| entry.begun);
        self.end(ticket, begun);
        if let Some(wanted) = self.tickets.remove(&ticket)
            && let Some(group) = self.groups.get_mut(&wanted.group)
        {
            group.entries.remove(&(wanted.type_url, wanted.name));
            if group.entries.is_empty() {
                self.groups.remove(&wanted.group);
            }
        }
        changed
    }

    fn end(&mut self, ticket: Ticket, begun: bool) {
        if let Some(wanted) = self.tickets.get(&ticket).filter(|_| begun) {
            self.steps.push_back(Step::Release(ticket, wanted.clone()));
        }
    }

    /// Changes what is published for an entry; gives the names that this may change.
    fn show(&mut self, ticket: Ticket, shown: Option<Resource>) -> Vec<Key> {
        let Some(wanted) = self.tickets.get(&ticket) else {
            return Vec::new();
        };
        let (url, asked) = (&wanted.type_url, &wanted.name);
        let Some(group) = self.groups.get_mut(&wanted.group) else {
            return Vec::new();
        };
        let Some(entry) = group.entries.get_mut(&(url.clone(), asked.clone())) else {
            return Vec::new();
        };
        let former = std::mem::replace(&mut entry.shown, shown);
        let mut changed = Vec::new();
        if let Some(former) = former {
            let place = (url.clone(), former.name().clone());
            if let Some(askers) = group.placed.get_mut(&place) {
                askers.remove(asked);
                if askers.is_empty() {
                    group.placed.remove(&place);
                }
            }
            changed.push(place);
        }
        if let Some(shown) = &entry.shown {
            let place = (url.clone(), shown.name().clone());
            let askers = group.placed.entry(place.clone()).or_default();
            askers.insert(asked.clone());
            changed.push(place);
        }
        changed
    }

    fn set_timer(&mut self, ticket: Ticket, at: Option<Duration>) {
        let Some(entry) = self.entry(ticket) else {
            return;
        };
        let former = std::mem::replace(&mut entry.timer, at);
        if let Some(former) = former {
            self.timers.remove(&(former, ticket));
        }
        self.timers.extend(at.map(|at| (at, ticket)));
    }

    fn entry(&mut self, ticket: Ticket) -> Option<&mut Entry> {
        let wanted = self.tickets.get(&ticket)?;
        let group = self.groups.get_mut(&wanted.group)?;
        let key = (wanted.type_url.clone(), wanted.name.clone());
        group.entries.get_mut(&key)
    }
}

/// Published names of a group that may have changed.
pub(super) type Changed<K> = (K, Vec<Key>);

fn is_answer<K>(wanted: &Wanted<K>, resource: &Resource) -> bool {
    let name = &wanted.name;
    *resource.type_url() == wanted.type_url
        && resource.constraints().is_none()
        && (resource.name() == name || resource.aliases().contains(name))
}

fn failed<K>(wanted: &Wanted<K>, failure: ResourceFailure) -> Option<Resource> {
    let (url, name) = (wanted.type_url.clone(), wanted.name.clone());
    Resource::failed(url, name, failure).ok()
}
