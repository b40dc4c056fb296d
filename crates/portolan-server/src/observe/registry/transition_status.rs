use std::time::SystemTime;

use portolan_core::Name;
use portolan_engine::{Event, Release, Retention};

/// Most resources of a kind that are named.
const MAX_NAMED: usize = 16;

/// How far a stream is with one type on the way from one publication to the next: see
/// [`Transitions::Safe`](crate::Transitions::Safe).
#[derive(Clone, Debug, Default)]
pub struct TransitionStatus {
    withheld: Vec<WithheldStatus>,
    withheld_len: usize,
    retained: Vec<RetainedStatus>,
    retained_len: usize,
    expired: u64,
    abandoned: u64,
    emptied: u64,
}

impl TransitionStatus {
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Withheld { name, awaits, .. } => {
                self.withheld_len += 1;
                if self.withheld.len() < MAX_NAMED {
                    self.withheld.push(WithheldStatus {
                        name: name.clone(),
                        awaits: awaits.clone(),
                        since: SystemTime::now(),
                    });
                }
            }
            Event::Permitted { name, ready, .. } => {
                self.withheld_len = self.withheld_len.saturating_sub(1);
                self.withheld.retain(|withheld| withheld.name != *name);
                self.expired += u64::from(!ready);
            }
            Event::Retained { names, because, .. } => self.retain(names, *because),
            Event::Released { names, because, .. } => {
                self.retained_len = self.retained_len.saturating_sub(names.len());
                self.retained.retain(|kept| !names.contains(&kept.name));
                if *because == Release::Silence {
                    self.abandoned += names.len() as u64;
                }
            }
            Event::Empty { names, .. } => self.emptied += names.len() as u64,
            _ => {}
        }
    }

    fn retain(&mut self, names: &[Name], because: Retention) {
        self.retained_len += names.len();
        let room = MAX_NAMED.saturating_sub(self.retained.len());
        let since = SystemTime::now();
        let named = names.iter().take(room).map(|name| RetainedStatus {
            name: name.clone(),
            because,
            since,
        });
        self.retained.extend(named);
    }

    /// Resources that wait for clusters, up to 16 of them.
    #[must_use]
    pub fn withheld(&self) -> &[WithheldStatus] {
        &self.withheld
    }

    /// How many resources wait for clusters.
    #[must_use]
    pub fn withheld_len(&self) -> usize {
        self.withheld_len
    }

    /// Resources that are gone and stay for the client, up to 16 of them.
    #[must_use]
    pub fn retained(&self) -> &[RetainedStatus] {
        &self.retained
    }

    /// How many resources are gone and stay for the client.
    #[must_use]
    pub fn retained_len(&self) -> usize {
        self.retained_len
    }

    /// How many resources were sent on this stream though their cluster was not ready, because their time was up.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.expired
    }

    /// How many resources were removed on this stream although the client had not left them, because it said nothing for
    /// too long.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// How often clusters were left without endpoints on this stream, or newly led to while they had none.
    #[must_use]
    pub fn emptied(&self) -> u64 {
        self.emptied
    }
}

/// A resource that waits for a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldStatus {
    name: Name,
    awaits: Name,
    since: SystemTime,
}

impl WithheldStatus {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The cluster that it waited for first.
    #[must_use]
    pub fn awaits(&self) -> &Name {
        &self.awaits
    }

    /// Since when it waits.
    #[must_use]
    pub fn since(&self) -> SystemTime {
        self.since
    }
}

/// A resource that is gone and stays for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedStatus {
    name: Name,
    because: Retention,
    since: SystemTime,
}

impl RetainedStatus {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Why it stayed at first. What the client rejects is in [`TypeStatus::rejection`](crate::TypeStatus::rejection).
    #[must_use]
    pub fn because(&self) -> Retention {
        self.because
    }

    /// Since when it is gone.
    #[must_use]
    pub fn since(&self) -> SystemTime {
        self.since
    }
}
