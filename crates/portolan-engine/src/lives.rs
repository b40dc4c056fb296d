use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use portolan_core::{Generation, Name, Resource, Version};

/// Shortest time between two refreshes of a resource, however short it may live.
const MIN_PERIOD: Duration = Duration::from_millis(10);

/// What a client was told of one type that ends unless it hears of it again. Empty, and without cost, on streams that are
/// told no times to live and for types whose resources have none.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    lives: BTreeMap<Name, Life>,
    /// The same names, by when they are to be refreshed.
    due: BTreeSet<(Duration, Name)>,
    /// Version and publication of the newest response that held something.
    shown: Option<(Version, Generation)>,
    /// The time of the first refresh was noted; it is told no more.
    rung: bool,
}

/// What is known of one resource at the client.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// The resource's version as it was sent.
    pub(crate) version: Version,
    pub(crate) ttl: Duration,
    /// When the client heard of it last.
    heard: Duration,
    due: Duration,
    /// Whether a heartbeat would not do.
    in_full: bool,
}

impl Life {
    /// Whether the client keeps what it has when it hears a heartbeat.
    pub(crate) fn lasts(&self, now: Duration) -> bool {
        !self.in_full && now < self.heard.saturating_add(self.ttl)
    }
}

impl Lives {
    pub(crate) fn is_empty(&self) -> bool {
        self.lives.is_empty()
    }

    /// The resource was sent, with its time to live or without one.
    pub(crate) fn sent(&mut self, resource: &Resource, now: Duration) {
        self.begin(resource, now, period(resource.ttl()), false);
    }

    /// The client has the resource and is to hear of it now: its time to live is another, or was told on an earlier
    /// stream.
    pub(crate) fn retime(&mut self, resource: &Resource, now: Duration, was_told: bool) {
        match (resource.ttl(), self.lives.get(resource.name()).cloned()) {
            // The refresh tells what it is, or that there is none any more.
            (ttl, Some(life)) if ttl == Some(life.ttl) => {}
            (_, Some(life)) => self.put(resource.name(), Life { due: now, ..life }),
            (Some(_), None) => self.begin(resource, now, Duration::ZERO, !was_told),
            (None, None) => {}
        }
    }

    /// The client was told that the resource lives on.
    pub(crate) fn refreshed(&mut self, name: Name, mut life: Life, ttl: Duration, now: Duration) {
        life.ttl = ttl;
        life.heard = now;
        life.due = now.saturating_add(period(Some(ttl)));
        self.put(&name, life);
    }

    /// Something better will be said of the resource; if it is not, this is looked at again.
    pub(crate) fn postpone(&mut self, name: Name, mut life: Life, now: Duration) {
        life.due = now.saturating_add(period(Some(life.ttl)));
        self.put(&name, life);
    }

    /// Puts back what was taken out.
    pub(crate) fn restore(&mut self, name: &Name, life: Life) {
        self.put(name, life);
    }

    pub(crate) fn end(&mut self, name: &Name) {
        if let Some(life) = self.lives.remove(name) {
            self.due.remove(&(life.due, name.clone()));
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes out what is to be refreshed first, if that is by `until`.
    pub(crate) fn pop(&mut self, until: Duration) -> Option<(Name, Life)> {
        self.due.first().filter(|(due, _)| *due <= until)?;
        self.rung = false;
        let (_, name) = self.due.pop_first()?;
        let life = self.lives.remove(&name)?;
        Some((name, life))
    }

    /// How much earlier than its time a resource may be refreshed together with the one that is first.
    pub(crate) fn slack(&self) -> Duration {
        let first = self.due.first().and_then(|(_, name)| self.lives.get(name));
        first.map_or(Duration::ZERO, |life| life.ttl / 8)
    }

    pub(crate) fn is_due(&self, now: Duration) -> bool {
        self.due.first().is_some_and(|(due, _)| *due <= now)
    }

    /// When something is to be refreshed, unless that was noted.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let (due, _) = self.due.first().filter(|_| !self.rung)?;
        Some(*due)
    }

    /// Notes that something is to be refreshed; says whether that is news.
    pub(crate) fn ring(&mut self, now: Duration) -> bool {
        let rings = !self.rung && self.is_due(now);
        self.rung |= rings;
        rings
    }

    pub(crate) fn shown(&self) -> Option<&(Version, Generation)> {
        self.shown.as_ref()
    }

    pub(crate) fn show(&mut self, version: Version, generation: Generation) {
        self.shown = Some((version, generation));
    }

    /// The client said no to a heartbeat: it may not have what it was to keep.
    pub(crate) fn distrust(&mut self) {
        self.lives.values_mut().for_each(|life| life.in_full = true);
    }

    fn begin(&mut self, resource: &Resource, now: Duration, wait: Duration, in_full: bool) {
        let Some(ttl) = resource.ttl() else {
            return self.end(resource.name());
        };
        let life = Life {
            version: resource.version().clone(),
            ttl,
            heard: now,
            due: now.saturating_add(wait),
            in_full,
        };
        self.put(resource.name(), life);
    }

    fn put(&mut self, name: &Name, life: Life) {
        self.end(name);
        // Another time may be the first now.
        self.rung = false;
        self.due.insert((life.due, name.clone()));
        self.lives.insert(name.clone(), life);
    }
}

/// How long after it was told a resource is to be refreshed: at half of its time, so that one refresh may be late.
fn period(ttl: Option<Duration>) -> Duration {
    ttl.map_or(MIN_PERIOD, |ttl| (ttl / 2).max(MIN_PERIOD))
}

#[cfg(test)]
mod tests {
    use portolan_core::well_known::RUNTIME;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn resource(name: &str, seconds: u32) -> Resource {
        let builder = Resource::builder(RUNTIME, name, &b""[..]);
        builder.ttl(SECOND * seconds).build().unwrap()
    }

    #[test]
    fn a_refresh_is_due_at_half_of_the_time_and_is_told_once() {
        let mut lives = Lives::default();
        lives.sent(&resource("a", 4), SECOND);
        assert_eq!(lives.deadline(), Some(SECOND * 3));
        assert!(!lives.ring(SECOND * 2));
        assert!(lives.ring(SECOND * 3));
        assert!(!lives.ring(SECOND * 3));
        assert_eq!(lives.deadline(), None);
        let (name, life) = lives.pop(SECOND * 3).unwrap();
        assert!(life.lasts(SECOND * 4) && !life.lasts(SECOND * 5));
        lives.refreshed(name, life, SECOND * 4, SECOND * 3);
        assert_eq!(lives.deadline(), Some(SECOND * 5));
    }

    #[test]
    fn what_was_sent_again_is_due_later_and_what_has_no_time_never() {
        let mut lives = Lives::default();
        lives.sent(&resource("a", 4), SECOND);
        lives.sent(&resource("a", 4), SECOND * 2);
        assert_eq!(lives.deadline(), Some(SECOND * 4));
        let forever = Resource::builder(RUNTIME, "a", &b""[..]).build().unwrap();
        lives.sent(&forever, SECOND * 3);
        assert!(lives.is_empty() && lives.deadline().is_none());
    }

    #[test]
    fn what_is_told_in_another_way_is_looked_at_again_at_half_of_its_time() {
        let mut lives = Lives::default();
        lives.sent(&resource("a", 4), SECOND);
        let (name, life) = lives.pop(SECOND * 3).unwrap();
        lives.postpone(name, life, SECOND * 3);
        assert_eq!(lives.deadline(), Some(SECOND * 5));
        lives.clear();
        assert!(lives.is_empty() && lives.deadline().is_none());
    }

    #[test]
    fn only_a_time_that_differs_is_told_at_once() {
        let mut lives = Lives::default();
        lives.sent(&resource("a", 4), SECOND);
        lives.retime(&resource("a", 4), SECOND * 2, true);
        assert!(!lives.is_due(SECOND * 2));
        lives.retime(&resource("a", 8), SECOND * 2, true);
        assert!(lives.is_due(SECOND * 2));
    }

    #[test]
    fn the_shortest_time_does_not_keep_a_stream_busy() {
        let mut lives = Lives::default();
        let builder = Resource::builder(RUNTIME, "a", &b""[..]);
        let brief = builder.ttl(Duration::from_nanos(1)).build().unwrap();
        lives.sent(&brief, SECOND);
        assert_eq!(lives.deadline(), Some(SECOND + MIN_PERIOD));
    }
}
