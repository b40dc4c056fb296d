use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::GroupKey;
use tokio::sync::watch;

use crate::debounce::Lane;
use crate::group_watch::Registrar;
use crate::{Change, Report, Reports, Revision};

/// Hands models to a [`PublishLoop`](crate::PublishLoop). Cloning is cheap, and the clones are equal.
///
/// The loop ends when the last one is dropped: keep one as long as the loop is to serve groups that come.
pub struct Publisher<M, G: GroupKey> {
    inbox: watch::Sender<Inbox<M>>,
    settled: watch::Receiver<u64>,
    registrar: Registrar<G>,
    reports: Arc<LastReports<G>>,
}

/// The loop has ended: it was dropped, its task was aborted, or its runtime is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the publish loop has ended, so nothing is translated any more")]
#[non_exhaustive]
pub struct Closed;

impl<M, G: GroupKey> Publisher<M, G> {
    pub(crate) fn new(
        inbox: watch::Sender<Inbox<M>>,
        settled: watch::Receiver<u64>,
        registrar: Registrar<G>,
        reports: Arc<LastReports<G>>,
    ) -> Self {
        Self {
            inbox,
            settled,
            registrar,
            reports,
        }
    }

    /// Hands in a model, in place of all that were handed in before. Nothing waits here: of models that come faster
    /// than they are translated only the newest counts.
    ///
    /// # Errors
    /// [`Closed`] where the loop has ended.
    pub fn update(&self, model: impl Into<Arc<M>>) -> Result<Revision, Closed> {
        self.update_with(model, Change::config())
    }

    /// As [`update`](Self::update), for a change of which more is known.
    ///
    /// # Errors
    /// [`Closed`] where the loop has ended.
    pub fn update_with(
        &self,
        model: impl Into<Arc<M>>,
        change: Change,
    ) -> Result<Revision, Closed> {
        if self.inbox.is_closed() {
            return Err(Closed);
        }
        let model = model.into();
        let (mut replaced, mut revision) = (None, Revision::default());
        self.inbox.send_modify(|inbox| {
            revision = inbox.revision.next();
            inbox.revision = revision;
            inbox.newest_of[change.lane as usize] = revision;
            if change.mass_deletion {
                inbox.mass_deletion_allowed = revision;
            }
            // Freed only after the lock is: a model may be large.
            replaced = inbox.model.replace(model);
        });
        drop(replaced);
        Ok(revision)
    }

    /// Has a group translated though it has no nodes.
    pub fn serve_group(&self, group: &G) {
        self.registrar.register(group, true);
    }

    /// Takes [`serve_group`](Self::serve_group) back. While the group has nodes nothing changes.
    pub fn release_group(&self, group: &G) {
        self.registrar.register(group, false);
    }

    /// Waits until every model that was handed in, and every group that came, before this call has been translated
    /// and published or refused, and gives the last report of each group.
    ///
    /// It does not shorten the debounce. It takes no longer than that, plus the deadline for each group that must
    /// wait for its turn.
    ///
    /// # Errors
    /// [`Closed`] where the loop has ended, or ends meanwhile.
    pub async fn flush(&self) -> Result<Reports<G>, Closed> {
        let mut number = 0;
        self.inbox.send_modify(|inbox| {
            inbox.flushes += 1;
            number = inbox.flushes;
        });
        let mut settled = self.settled.clone();
        let settled = settled.wait_for(|settled| *settled >= number).await;
        settled.map_err(|_| Closed)?;
        Ok(self.reports())
    }

    /// The last report of a group; `None` where it has had none, or where the loop has forgotten it.
    #[must_use]
    pub fn last_report(&self, group: &G) -> Option<Arc<Report>> {
        self.reports.lock().get(group).cloned()
    }

    /// The last report of each group.
    #[must_use]
    pub fn reports(&self) -> Reports<G> {
        Reports::new(self.reports.lock().clone())
    }
}

impl<M, G: GroupKey> Clone for Publisher<M, G> {
    fn clone(&self) -> Self {
        Self {
            inbox: self.inbox.clone(),
            settled: self.settled.clone(),
            registrar: self.registrar.clone(),
            reports: Arc::clone(&self.reports),
        }
    }
}

impl<M, G: GroupKey> fmt::Debug for Publisher<M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").finish_non_exhaustive()
    }
}

/// All that was handed in: a value that is overwritten, not a queue.
#[derive(Debug)]
pub(crate) struct Inbox<M> {
    pub(crate) model: Option<Arc<M>>,
    /// Of the newest model; 0 while there is none.
    pub(crate) revision: Revision,
    /// The newest change of each lane.
    pub(crate) newest_of: [Revision; Lane::ALL.len()],
    /// The newest model with which a mass deletion was allowed.
    pub(crate) mass_deletion_allowed: Revision,
    /// How often `flush` was called.
    pub(crate) flushes: u64,
}

impl<M> Inbox<M> {
    pub(crate) fn empty() -> Self {
        Self {
            model: None,
            revision: Revision::default(),
            newest_of: [Revision::default(); Lane::ALL.len()],
            mass_deletion_allowed: Revision::default(),
            flushes: 0,
        }
    }
}

/// The last report of each group that the loop knows.
#[derive(Debug)]
pub(crate) struct LastReports<G>(Mutex<BTreeMap<G, Arc<Report>>>);

impl<G: GroupKey> LastReports<G> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    pub(crate) fn insert(&self, group: &G, report: Arc<Report>) {
        let replaced = self.lock().insert(group.clone(), report);
        drop(replaced);
    }

    pub(crate) fn remove(&self, group: &G) {
        let removed = self.lock().remove(group);
        drop(removed);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<G, Arc<Report>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
