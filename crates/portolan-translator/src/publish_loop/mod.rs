//! The loop: takes notice of what changed, lets the state machines decide, starts and ends translations.

mod builder;
mod turns;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::{GroupKey, Published, SnapshotWriter};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

pub use self::builder::PublishLoopBuilder;
use self::turns::{End, Ended, Turns};
use crate::contain::contain;
use crate::debounce::{Debounce, Lane};
use crate::flushes::Flushes;
use crate::group_watch::GroupChange;
use crate::publisher::{Inbox, LastReports};
use crate::schedule::{Ending, Forgotten, Schedule, Turn};
use crate::stages::{AsksGuard, Stages, Verdict};
use crate::{Outcome, PublishConfig, PublishObserver, Report, Revision, Translator, WatchedGroups};

/// Translates models and publishes what comes of it. Nothing happens until [`run`](Self::run) is polled.
///
/// It is the one writer of the groups that it translates.
pub struct PublishLoop<M, G: GroupKey> {
    handed_in: watch::Receiver<Inbox<M>>,
    groups: WatchedGroups<G>,
    settled: watch::Sender<u64>,
    reports: Arc<LastReports<G>>,
    stages: Arc<Stages<M, G>>,
    observer: Arc<dyn PublishObserver<G>>,
    config: PublishConfig,
}

impl<M: Send + Sync + 'static, G: GroupKey> PublishLoop<M, G> {
    /// Starts a loop that translates with `translator` and publishes with `writer`, for the groups that a
    /// [`GroupWatch`](crate::GroupWatch) tells of.
    pub fn builder(
        translator: impl Translator<M, G>,
        writer: Arc<dyn SnapshotWriter<G>>,
        groups: WatchedGroups<G>,
    ) -> PublishLoopBuilder<M, G> {
        PublishLoopBuilder::new(translator, writer, groups)
    }

    /// Runs the loop until every [`Publisher`](crate::Publisher) is dropped. What was handed in before that is still
    /// translated and published, without waiting for the debounce.
    ///
    /// To be spawned, on a tokio runtime with time enabled. It never panics. When it is dropped, translations that
    /// are going on end in nothing.
    pub async fn run(self) {
        Running::new(self).run().await;
    }

    /// Spawns [`run`](Self::run).
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(self) -> JoinHandle<()> {
        tokio::spawn(self.run())
    }
}

impl<M, G: GroupKey> fmt::Debug for PublishLoop<M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishLoop")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

struct Running<M, G: GroupKey> {
    parts: PublishLoop<M, G>,
    epoch: Instant,
    /// How often the loop went round.
    round: u64,
    model: Option<Arc<M>>,
    seen: Seen,
    debounce: Debounce,
    schedule: Schedule<G>,
    turns: Turns<G>,
    flushes: Flushes<G>,
    /// No publisher is left: what was handed in is worked off.
    draining: bool,
}

/// What the loop has taken notice of.
#[derive(Debug, Default)]
struct Seen {
    newest_of: [Revision; Lane::ALL.len()],
    mass_deletion_allowed: Revision,
    flushes: u64,
}

impl<M: Send + Sync + 'static, G: GroupKey> Running<M, G> {
    fn new(parts: PublishLoop<M, G>) -> Self {
        Self {
            epoch: Instant::now(),
            round: 0,
            model: None,
            seen: Seen::default(),
            debounce: Debounce::new(parts.config.debounce.clone()),
            schedule: Schedule::new(parts.config.linger),
            turns: Turns::new(&parts.config),
            flushes: Flushes::new(),
            draining: false,
            parts,
        }
    }

    /// Each round does all that can be done now, so that no source of events starves another, and then waits.
    async fn run(mut self) {
        loop {
            self.round += 1;
            self.end_turns();
            self.expire_groups();
            if !self.draining {
                self.take_handed_in();
                self.take_groups();
                self.release();
            }
            self.begin_turns();
            if let Some(number) = self.flushes.settle(&self.schedule) {
                self.parts.settled.send_replace(number);
            }
            if self.draining && self.turns.is_empty() && self.schedule.is_idle() {
                return;
            }
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        let timeouts = [
            self.debounce.poll_timeout(),
            self.schedule.poll_timeout(),
            self.turns.poll_timeout(),
        ];
        let next = timeouts.into_iter().flatten().min();
        let next = next.and_then(|at| self.epoch.checked_add(at));
        let open = !self.draining;
        tokio::select! {
            returned = self.turns.returned() => self.end_turn_of(returned),
            changed = self.parts.handed_in.changed(), if open => {
                if changed.is_err() {
                    self.drain();
                }
            }
            () = self.parts.groups.changed(), if open => {}
            () = sleep_or_wait(next) => {}
        }
    }

    /// The last publisher is gone, and what it handed in was taken. From here on nothing new is.
    fn drain(&mut self) {
        self.take_groups();
        if let Some(since) = self.debounce.run_now(self.now()) {
            self.schedule.release(since);
        }
        self.draining = true;
    }

    fn end_turns(&mut self) {
        while let Some(returned) = self.turns.try_returned() {
            self.end_turn_of(returned);
        }
        while let Some(ended) = self.turns.take_overdue(self.now()) {
            self.conclude(ended);
        }
    }

    fn take_handed_in(&mut self) {
        let inbox = self.parts.handed_in.borrow_and_update();
        let newest_of = inbox.newest_of;
        let (revision, flushes) = (inbox.revision, inbox.flushes);
        self.seen.mass_deletion_allowed = inbox.mass_deletion_allowed;
        let replaced = std::mem::replace(&mut self.model, inbox.model.clone());
        drop(inbox);
        drop(replaced);
        let now = self.now();
        for lane in Lane::ALL {
            let (newest, seen) = (newest_of[lane as usize], self.seen.newest_of[lane as usize]);
            if newest > seen {
                self.debounce.change(now, lane);
            }
        }
        self.seen.newest_of = newest_of;
        self.schedule.set_newest(revision);
        if flushes > self.seen.flushes {
            self.seen.flushes = flushes;
            self.flushes.called(flushes, revision, self.round);
        }
    }

    /// Comes after [`take_handed_in`](Self::take_handed_in), so that a flush waits for all groups that came before it.
    fn take_groups(&mut self) {
        let now = self.now();
        for change in self.parts.groups.take_changes() {
            match change {
                GroupChange::Came(group) => self.schedule.came(group, self.round, now),
                GroupChange::Went(group) => {
                    if let Some(forgotten) = self.schedule.went(&group, now) {
                        self.forget(&forgotten);
                    }
                }
            }
        }
    }

    fn expire_groups(&mut self) {
        for forgotten in self.schedule.expire(self.now()) {
            self.forget(&forgotten);
        }
    }

    fn release(&mut self) {
        if let Some(since) = self.debounce.poll_run(self.now()) {
            self.schedule.release(since);
        }
    }

    fn begin_turns(&mut self) {
        let Some(model) = self.model.clone() else {
            return;
        };
        while self.turns.have_room()
            && let Some(turn) = self.schedule.next(self.now())
        {
            let asks_guard = self.asks_guard(&turn);
            let (now, stages) = (self.now(), &self.parts.stages);
            if let Err(ended) = self.turns.begin(now, turn, stages, &model, asks_guard) {
                self.conclude(ended);
            }
        }
        while self.turns.are_stuck()
            && let Some(turn) = self.schedule.next(self.now())
        {
            self.conclude(Ended::without_thread(turn));
        }
    }

    /// An allowance holds for the step from what is published to what is next, if the allowed change lies in between.
    fn asks_guard(&self, turn: &Turn<G>) -> AsksGuard {
        match turn.current < self.seen.mass_deletion_allowed {
            true => AsksGuard::No,
            false => AsksGuard::Yes,
        }
    }

    fn end_turn_of(&mut self, returned: turns::Returned) {
        let Some(ended) = self.turns.take_returned(self.now(), returned) else {
            return;
        };
        let late = ended.late;
        if !late || self.schedule.takes_late(&ended.turn) {
            self.conclude(ended);
        }
        if late {
            self.schedule.retry_not_tried();
        }
    }

    fn conclude(&mut self, ended: Ended<G>) {
        let Ended {
            turn, took, end, ..
        } = ended;
        let outcome = match end {
            End::Verdict(verdict) => self.publish(&turn.group, verdict),
            End::Panicked(message) => Outcome::Panicked(message),
            End::TimedOut => Outcome::TimedOut(self.parts.config.deadline),
            End::NoThread => Outcome::NotTried,
        };
        let report = Arc::new(Report {
            revision: turn.revision,
            outcome,
            took,
            latency: self.now().saturating_sub(turn.since),
        });
        log(&turn.group, &report);
        self.parts.reports.insert(&turn.group, Arc::clone(&report));
        let observer = &self.parts.observer;
        if let Err(message) = contain(|| observer.reported(&turn.group, &report)) {
            tracing::error!(message, "a publish observer panicked");
        }
        let ending = match report.outcome {
            Outcome::Published { .. } | Outcome::Unchanged => Ending::Current,
            Outcome::NotTried => Ending::NotTried,
            _ => Ending::Failed,
        };
        if let Some(forgotten) = self.schedule.finish(&turn, ending) {
            self.forget(&forgotten);
        }
    }

    fn publish(&self, group: &G, verdict: Verdict) -> Outcome {
        let snapshot = match verdict {
            Verdict::Publish(snapshot) => snapshot,
            Verdict::Unchanged => return Outcome::Unchanged,
            Verdict::Refused(refusal) => return Outcome::Refused(refusal),
            Verdict::Failed(error) => return Outcome::TranslateFailed(error),
        };
        match contain(|| self.parts.stages.writer.set(group, snapshot)) {
            Ok(Published::Unchanged(_)) => Outcome::Unchanged,
            Ok(published) => Outcome::Published {
                generation: published.generation(),
            },
            Err(message) => Outcome::Panicked(message),
        }
    }

    fn forget(&self, forgotten: &Forgotten<G>) {
        let Forgotten { group, published } = forgotten;
        self.parts.reports.remove(group);
        if *published && let Err(message) = contain(|| self.parts.stages.writer.clear(group)) {
            tracing::error!(?group, message, "clearing a group panicked");
        }
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }
}

fn log<G: GroupKey>(group: &G, report: &Report) {
    let (revision, outcome) = (report.revision.get(), &report.outcome);
    let (took, latency) = (report.took, report.latency);
    match outcome {
        Outcome::Published { .. } | Outcome::Unchanged => {
            tracing::debug!(?group, revision, ?took, ?latency, "{outcome}");
        }
        failed => tracing::warn!(
            ?group,
            revision,
            ?took,
            ?latency,
            "not published, the last good snapshot is kept: {failed}"
        ),
    }
}

async fn sleep_or_wait(until: Option<Instant>) {
    match until {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
