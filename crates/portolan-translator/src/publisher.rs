use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_core::{Generation, GroupKey};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::group_watch::Registrar;
use crate::notices::Notices;
use crate::tracker::{DeliveryTracker, Wait};
use crate::{
    Change, GroupRollout, PublishReport, Publishing, Reports, Revision, Rollout, WaitError,
    WaitScope,
};

/// Hands models to a [`PublishLoop`](crate::PublishLoop). Cloning is cheap, and the clones are equal.
///
/// `M` is the model, `G` names a group, `D` is the detail of a change where the translator is
/// [incremental](crate::IncrementalTranslator).
///
/// The loop ends when the last one is dropped: keep one as long as the loop is to serve groups that come.
pub struct Publisher<M, G: GroupKey, D = ()> {
    inbox: watch::Sender<Inbox<M, G, D>>,
    settled: watch::Receiver<u64>,
    registrar: Registrar<G>,
    reports: Arc<LastReports<G>>,
    tracker: Option<Arc<DeliveryTracker<G>>>,
    most_details: usize,
}

/// The loop has ended: it was dropped, its task was aborted, or its runtime is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the publish loop has ended, so nothing is translated any more")]
#[non_exhaustive]
pub struct Closed;

impl<M, G: GroupKey, D> Publisher<M, G, D> {
    pub(crate) fn new(
        inbox: watch::Sender<Inbox<M, G, D>>,
        settled: watch::Receiver<u64>,
        registrar: Registrar<G>,
        reports: Arc<LastReports<G>>,
        tracker: Option<Arc<DeliveryTracker<G>>>,
        most_details: usize,
    ) -> Self {
        Self {
            inbox,
            settled,
            registrar,
            reports,
            tracker,
            most_details,
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
        change: Change<G, D>,
    ) -> Result<Revision, Closed> {
        if self.inbox.is_closed() {
            return Err(Closed);
        }
        let model = model.into();
        let (mut replaced, mut revision) = (None, Revision::NONE);
        self.inbox.send_modify(|inbox| {
            revision = inbox.revision.next();
            inbox.revision = revision;
            let notices = inbox.notices.get_mut();
            let notices = notices.unwrap_or_else(PoisonError::into_inner);
            notices.add(change, revision, self.most_details);
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

    /// Waits until the nodes of a scope have what was handed in before this call, and says what became of it at each: a
    /// [`flush`](Self::flush), and then, for each group, until all its nodes have come to rest on the publication. After
    /// `deadline`, counted from this call, it says how far it got.
    ///
    /// The nodes are those that have streams when it is called; where there are none, it returns at once.
    ///
    /// - A node that leaves is followed: until the deadline it may come back, and then counts as it is.
    /// - A group whose content is the same as before is waited for on the publication that it has.
    /// - A newer publication that is made meanwhile is waited for where a node skips the one in question.
    /// - A group for which nothing is published, because something [failed](crate::Outcome) or was refused, is
    ///   [reported](Rollout::not_published), and its nodes are not waited for.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use portolan_translator::{NodeOutcome, Publisher, WaitScope};
    /// # async fn roll_out(publisher: &Publisher<Vec<String>, String>, services: Vec<String>)
    /// #     -> Result<(), Box<dyn std::error::Error>> {
    /// publisher.update(services)?;
    /// let rollout = publisher.wait(WaitScope::all(), Duration::from_secs(10)).await?;
    /// for (group, failed) in rollout.not_published() {
    ///     println!("{group} keeps what it has: {:?}", failed.report());
    /// }
    /// for (group, node, outcome) in rollout.nodes().filter(|(.., outcome)| !outcome.is_accepted()) {
    ///     println!("{node} of {group}: {outcome}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Untracked`] where the loop was built without a
    /// [tracker](crate::PublishLoopBuilder::with_tracker); [`WaitError::Closed`] where it has ended, or ends meanwhile.
    pub async fn wait(
        &self,
        scope: WaitScope<G>,
        deadline: Duration,
    ) -> Result<Rollout<G>, WaitError> {
        let tracker = self.tracker.as_ref().ok_or(WaitError::Untracked)?;
        if self.inbox.is_closed() {
            return Err(Closed.into());
        }
        let wait = tracker.begin(&scope);
        let mut published = BTreeMap::new();
        if !wait.groups().is_empty() {
            let arrived = self.flush_and_settle(&wait, &mut published);
            // Out of time, it says how far it got.
            if let Ok(flushed) = timeout(deadline, arrived).await {
                flushed?;
            }
        }
        let groups = wait.end().into_iter().map(|(group, nodes)| {
            let publishing = published
                .get(&group)
                .copied()
                .unwrap_or(Publishing::Pending);
            let rollout = GroupRollout {
                publishing,
                report: self.last_report(&group),
                nodes,
            };
            (group, rollout)
        });
        Ok(Rollout::new(groups.collect()))
    }

    async fn flush_and_settle(
        &self,
        wait: &Wait<'_, G>,
        published: &mut BTreeMap<G, Publishing>,
    ) -> Result<(), Closed> {
        let handed_in = self.inbox.borrow().revision;
        self.flush().await?;
        for group in wait.groups() {
            let publishing = match self.reports.publication(group, handed_in) {
                Some(generation) => {
                    wait.aim(group, generation);
                    Publishing::Published(generation)
                }
                None => {
                    wait.give_up(group);
                    Publishing::NotPublished
                }
            };
            published.insert(group.clone(), publishing);
        }
        wait.settled().await;
        Ok(())
    }

    /// The last report of a group; `None` where it has had none, or where the loop has forgotten it.
    #[must_use]
    pub fn last_report(&self, group: &G) -> Option<Arc<PublishReport>> {
        self.reports.last(group)
    }

    /// The last report of each group.
    #[must_use]
    pub fn reports(&self) -> Reports<G> {
        Reports::new(self.reports.all())
    }
}

impl<M, G: GroupKey, D> Clone for Publisher<M, G, D> {
    fn clone(&self) -> Self {
        Self {
            inbox: self.inbox.clone(),
            settled: self.settled.clone(),
            registrar: self.registrar.clone(),
            reports: Arc::clone(&self.reports),
            tracker: self.tracker.clone(),
            most_details: self.most_details,
        }
    }
}

impl<M, G: GroupKey, D> fmt::Debug for Publisher<M, G, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").finish_non_exhaustive()
    }
}

/// All that was handed in: a value that is overwritten, not a queue.
#[derive(Debug)]
pub(crate) struct Inbox<M, G, D> {
    pub(crate) model: Option<Arc<M>>,
    /// Of the newest model; 0 while there is none.
    pub(crate) revision: Revision,
    /// What was handed in since the loop last looked. The lock is for the loop, which has to take it out of a value
    /// that it may only look at; it is held for a move.
    notices: Mutex<Notices<G, D>>,
    /// How often `flush` was called.
    pub(crate) flushes: u64,
}

impl<M, G: GroupKey, D> Inbox<M, G, D> {
    pub(crate) const fn empty() -> Self {
        Self {
            model: None,
            revision: Revision::NONE,
            notices: Mutex::new(Notices::new()),
            flushes: 0,
        }
    }

    pub(crate) fn take_notices(&self) -> Notices<G, D> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut notices, Notices::new())
    }
}

/// What was last reported of each group that the loop knows.
#[derive(Debug)]
pub(crate) struct LastReports<G>(Mutex<BTreeMap<G, Last>>);

#[derive(Clone, Debug)]
struct Last {
    report: Arc<PublishReport>,
    /// The newest publication, and the newest model that it shows; the report may be of a later failure.
    current: Option<(Generation, Revision)>,
}

impl<G: GroupKey> LastReports<G> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    pub(crate) fn insert(&self, group: &G, report: Arc<PublishReport>) {
        let current = report.outcome.generation().zip(Some(report.revision));
        let mut reports = self.lock();
        let current = current.or_else(|| reports.get(group)?.current);
        let replaced = reports.insert(group.clone(), Last { report, current });
        drop(reports);
        drop(replaced);
    }

    pub(crate) fn remove(&self, group: &G) {
        let removed = self.lock().remove(group);
        drop(removed);
    }

    /// The newest publication of a group, if it shows all that concerned the group up to `revision`.
    fn publication(&self, group: &G, revision: Revision) -> Option<Generation> {
        let reports = self.lock();
        let last = reports.get(group)?;
        let (generation, shown) = last.current?;
        // A group that no later change concerned shows an older model, and is none the worse.
        let is_current = last.report.is_current() || shown >= revision;
        is_current.then_some(generation)
    }

    fn last(&self, group: &G) -> Option<Arc<PublishReport>> {
        Some(Arc::clone(&self.lock().get(group)?.report))
    }

    fn all(&self) -> BTreeMap<G, Arc<PublishReport>> {
        let reports = self.lock();
        let reports = reports.iter();
        reports
            .map(|(group, last)| (group.clone(), Arc::clone(&last.report)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<G, Last>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, Outcome, StageTimes};

    fn revision(number: u64) -> Revision {
        (0..number).fold(Revision::NONE, |revision, _| revision.next())
    }

    fn report(number: u64, outcome: Outcome) -> Arc<PublishReport> {
        Arc::new(PublishReport {
            revision: revision(number),
            outcome,
            extent: Extent::Everything,
            diff: Vec::new(),
            findings: Default::default(),
            times: StageTimes::default(),
        })
    }

    #[test]
    fn a_publication_counts_for_the_models_that_it_shows_whatever_failed_since() {
        let (reports, generation) = (LastReports::new(), Generation::default().next());
        assert_eq!(reports.publication(&"a", revision(1)), None);
        reports.insert(&"a", report(1, Outcome::NotTried));
        assert_eq!(reports.publication(&"a", revision(1)), None);
        reports.insert(&"a", report(2, Outcome::Published { generation }));
        assert_eq!(reports.publication(&"a", revision(2)), Some(generation));
        let unconcerned = reports.publication(&"a", revision(9));
        assert_eq!(
            unconcerned,
            Some(generation),
            "no later change concerned it"
        );
        reports.insert(&"a", report(4, Outcome::TranslateFailed("no".into())));
        assert_eq!(reports.publication(&"a", revision(2)), Some(generation));
        assert_eq!(reports.publication(&"a", revision(3)), None);
    }
}
