use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::Name;

use super::SafeTimes;
use crate::{Nonce, Release};

/// Clusters that are gone and stay on this stream until nothing that the client may hold leads to them.
#[derive(Debug, Default)]
pub(crate) struct Removals(BTreeMap<Name, Removal>);

#[derive(Debug)]
struct Removal {
    /// Since when nothing but the client's silence is in the way.
    since: Duration,
    /// A listener that was replaced leads to it by itself.
    drains: bool,
    /// Something that the client is shown, or may have kept, leads to it.
    used: bool,
    stage: Stage,
}

/// How far the changes are that take the last references away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Untold,
    /// They are told with the responses up to this one.
    Told(Nonce),
    /// They are accepted, since then.
    Accepted(Duration),
}

/// What decides over removals at one moment.
pub(crate) struct Review<'a> {
    pub(crate) times: &'a SafeTimes,
    pub(crate) now: Duration,
    /// Something that may refer to clusters changes, is not acknowledged, or waits.
    pub(crate) moves: bool,
    /// The client rejected something that may refer to clusters.
    pub(crate) pinned: bool,
    /// Something is held. A listener that waits for its table does not replace the one before yet.
    pub(crate) holds: bool,
    /// Something is shown as before, or drains, of which it is not known where it leads.
    pub(crate) unread: bool,
    /// So something drains.
    pub(crate) unread_drain: bool,
    /// Clusters that something which is shown as before leads to.
    pub(crate) named: &'a BTreeSet<Name>,
    /// Clusters that a replaced listener leads to.
    pub(crate) drains: &'a BTreeMap<Name, Duration>,
}

/// What a review changed.
#[derive(Debug, Default)]
pub(crate) struct Reviewed {
    /// What stays from now on.
    pub(crate) retained: Vec<Name>,
    /// What does not stay any longer.
    pub(crate) released: Vec<(Name, Release)>,
}

impl Removals {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What stays, sorted.
    pub(crate) fn names(&self) -> Vec<Name> {
        self.0.keys().cloned().collect()
    }

    /// Looks at all that is gone, which is sorted. `awaits` says whether a response up to this one is not acknowledged.
    pub(crate) fn review(
        &mut self,
        gone: &[Name],
        review: &Review<'_>,
        awaits: impl Fn(Nonce) -> bool,
    ) -> Reviewed {
        let mut reviewed = Reviewed::default();
        self.0.retain(|name, _| {
            let is_gone = gone.binary_search(name).is_ok();
            if !is_gone {
                reviewed.released.push((name.clone(), Release::Wanted));
            }
            is_gone
        });
        for name in gone {
            let used = review.unread
                || review.unread_drain
                || review.named.contains(name)
                || review.drains.contains_key(name);
            let stays = review.moves || review.pinned || used;
            if stays && !self.0.contains_key(name) {
                self.0.insert(name.clone(), Removal::new(review.now));
                reviewed.retained.push(name.clone());
            }
        }
        self.0.retain(|name, removal| {
            removal.update(name, review, &awaits);
            match removal.is_due(review) {
                Some(why) => reviewed.released.push((name.clone(), why)),
                None => return true,
            }
            false
        });
        reviewed
    }

    /// More has come to light of what may lead to them.
    pub(crate) fn restart(&mut self, now: Duration) {
        for removal in self.0.values_mut() {
            removal.stage = Stage::Untold;
            removal.since = now;
        }
    }

    /// All that may refer to clusters is told, with responses up to this one.
    pub(crate) fn told(&mut self, sent: Nonce, now: Duration, awaits: impl Fn(Nonce) -> bool) {
        for removal in self.0.values_mut() {
            if removal.stage == Stage::Untold && !removal.used {
                removal.stage = Stage::Told(sent);
            }
            removal.hear(now, &awaits);
        }
    }

    /// When the first of them may be due.
    pub(crate) fn deadline(&self, times: &SafeTimes) -> Option<Duration> {
        self.0
            .values()
            .filter_map(|removal| removal.deadline(times))
            .min()
    }
}

impl Removal {
    fn new(now: Duration) -> Self {
        Self {
            since: now,
            drains: false,
            used: false,
            stage: Stage::Untold,
        }
    }

    fn update(&mut self, name: &Name, review: &Review<'_>, awaits: &impl Fn(Nonce) -> bool) {
        self.drains |= review.unread_drain || review.drains.contains_key(name);
        let accepted = matches!(self.stage, Stage::Accepted(_));
        let was_used = self.used;
        self.used = review.unread
            || review.named.contains(name)
            || (review.pinned && !accepted)
            || (self.drains && review.holds);
        if self.used {
            self.stage = Stage::Untold;
        }
        if self.used || was_used {
            self.since = review.now;
        }
        self.hear(review.now, awaits);
    }

    fn hear(&mut self, now: Duration, awaits: &impl Fn(Nonce) -> bool) {
        if let Stage::Told(sent) = self.stage
            && !awaits(sent)
        {
            self.stage = Stage::Accepted(now);
        }
    }

    fn deadline(&self, times: &SafeTimes) -> Option<Duration> {
        match self.stage {
            _ if self.used => None,
            Stage::Accepted(at) => {
                let drain = times.drain().saturating_mul(self.drains.into());
                Some(at.saturating_add(drain).saturating_add(times.grace()))
            }
            _ => Some(self.since.saturating_add(times.removal_budget())),
        }
    }

    fn is_due(&self, review: &Review<'_>) -> Option<Release> {
        self.deadline(review.times).filter(|at| *at <= review.now)?;
        Some(match self.stage {
            Stage::Accepted(_) => Release::Accepted,
            _ => Release::Silence,
        })
    }
}
