//! The loop: takes notice of what changed, lets the state machines decide, starts and ends translations.

mod builder;
mod turns;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::{GroupKey, Published, Snapshot, SnapshotWriter};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

pub use self::builder::PublishLoopBuilder;
use self::turns::{End, Ended, Turns};
use crate::consistency::Findings;
use crate::contain::contain;
use crate::debounce::{Debounce, Lane};
use crate::flushes::Flushes;
use crate::group_watch::GroupChange;
use crate::publisher::{Inbox, LastReports};
use crate::schedule::{Ending, Forgotten, Schedule, Shown};
use crate::stages::{Judgement, Stages};
use crate::translator::{Full, Incremental};
use crate::{
    IncrementalTranslator, Outcome, PublishConfig, PublishObserver, PublishReport, Revision, Stage,
    StageTimes, Translator, WatchedGroups,
};

/// Translates models and publishes what comes of it. Nothing happens until [`run`](Self::run) is polled.
///
/// It is the one writer of the groups that it translates.
pub struct PublishLoop<M, G: GroupKey, D = ()> {
    handed_in: watch::Receiver<Inbox<M, G, D>>,
    groups: WatchedGroups<G>,
    settled: watch::Sender<u64>,
    reports: Arc<LastReports<G>>,
    stages: Arc<Stages<M, G, D>>,
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
        PublishLoopBuilder::new(Box::new(Full(translator)), writer, groups)
    }
}

impl<M: Send + Sync + 'static, G: GroupKey, D: Send + Sync + 'static> PublishLoop<M, G, D> {
    /// As [`builder`](PublishLoop::builder), for a translator that can apply what changed to what a group has.
    pub fn incremental(
        translator: impl IncrementalTranslator<M, G, Detail = D>,
        writer: Arc<dyn SnapshotWriter<G>>,
        groups: WatchedGroups<G>,
    ) -> PublishLoopBuilder<M, G, D> {
        PublishLoopBuilder::new(Box::new(Incremental(translator)), writer, groups)
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

impl<M, G: GroupKey, D> fmt::Debug for PublishLoop<M, G, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishLoop")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

struct Running<M, G: GroupKey, D> {
    parts: PublishLoop<M, G, D>,
    epoch: Instant,
    model: Option<Arc<M>>,
    /// How many calls of `flush` the loop has taken notice of.
    flushes_seen: u64,
    debounce: Debounce,
    schedule: Schedule<G, D>,
    turns: Turns<G>,
    flushes: Flushes<G>,
    /// No publisher is left: what was handed in is worked off.
    draining: bool,
}

impl<M: Send + Sync + 'static, G: GroupKey, D: Send + Sync + 'static> Running<M, G, D> {
    fn new(parts: PublishLoop<M, G, D>) -> Self {
        let config = &parts.config;
        Self {
            epoch: Instant::now(),
            model: None,
            flushes_seen: 0,
            debounce: Debounce::new(config.debounce.clone()),
            schedule: Schedule::new(config.linger, config.most_details),
            turns: Turns::new(config),
            flushes: Flushes::new(),
            draining: false,
            parts,
        }
    }

    /// Each round does all that can be done now, so that no source of events starves another, and then waits.
    async fn run(mut self) {
        loop {
            self.end_turns();
            self.expire_groups();
            if !self.draining {
                let flushes = self.take_handed_in();
                self.take_groups();
                self.take_flushes(flushes);
                self.release();
            }
            self.begin_turns();
            let attempted = |group: &G| self.schedule.attempted(group);
            if let Some(number) = self.flushes.settle(attempted) {
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

    /// Takes notice of what was handed in, and says how often `flush` was called by then.
    fn take_handed_in(&mut self) -> u64 {
        let inbox = self.parts.handed_in.borrow_and_update();
        let (revision, flushes) = (inbox.revision, inbox.flushes);
        let notices = inbox.take_notices();
        let replaced = std::mem::replace(&mut self.model, inbox.model.clone());
        drop(inbox);
        drop(replaced);
        let now = self.now();
        for lane in Lane::ALL {
            if notices.lanes[lane as usize] > Revision::NONE {
                self.debounce.change(now, lane);
            }
        }
        self.schedule.hand_in(revision, notices);
        flushes
    }

    /// Comes after groups and what was handed in, all of which a flush waits for that came before it.
    fn take_flushes(&mut self, flushes: u64) {
        if flushes > self.flushes_seen {
            self.flushes_seen = flushes;
            self.flushes.called(flushes, self.schedule.behind());
        }
    }

    fn take_groups(&mut self) {
        let now = self.now();
        for change in self.parts.groups.take_changes() {
            match change {
                GroupChange::Came(group) => self.schedule.came(group, now),
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
            && let Some((turn, assignment)) = self.schedule.next(self.now())
        {
            let (now, stages) = (self.now(), &self.parts.stages);
            if let Err(ended) = self.turns.begin(now, turn, assignment, stages, &model) {
                self.conclude(ended);
            }
        }
        while self.turns.are_stuck()
            && let Some((turn, _)) = self.schedule.next(self.now())
        {
            self.conclude(Ended::without_thread(turn, self.now()));
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
        let (turn, progress) = (ended.turn, ended.progress);
        let stage = progress.stage();
        let translate = progress.translate_time(ended.took);
        let began = self.now();
        let nothing = |outcome| (outcome, Vec::new(), Findings::default());
        let mut shown = None;
        let (outcome, diff, findings) = match ended.end {
            End::Verdict(verdict) => {
                let outcome = self.publish(&turn.group, verdict.judgement, &mut shown);
                (outcome, verdict.diff, verdict.findings)
            }
            End::Panicked(message) => nothing(Outcome::Panicked { stage, message }),
            End::TimedOut => {
                let deadline = self.parts.config.deadline;
                nothing(Outcome::TimedOut { stage, deadline })
            }
            End::NoThread => nothing(Outcome::NotTried),
        };
        let report = Arc::new(PublishReport {
            revision: turn.revision,
            outcome,
            extent: progress.extent(),
            diff,
            findings,
            times: StageTimes {
                wait: ended.started.saturating_sub(turn.since),
                translate,
                gates: ended.took - translate,
                publish: self.now().saturating_sub(began),
            },
        });
        self.report(&turn.group, &report);
        let ending = match report.outcome {
            Outcome::Published { .. } | Outcome::Unchanged { .. } => Ending::Current,
            Outcome::NotTried => Ending::NotTried,
            _ => Ending::Failed,
        };
        if let Some(forgotten) = self.schedule.finish(&turn, ending, shown) {
            self.forget(&forgotten);
        }
    }

    /// Publishes what may be. What the group has then goes into `shown`.
    fn publish(&self, group: &G, judgement: Judgement, shown: &mut Option<Shown>) -> Outcome {
        let (next, previous) = match judgement {
            Judgement::Publish { next, previous } => (next, previous),
            Judgement::Unchanged(held) => {
                *shown = Some(held);
                let generation = held.generation;
                return Outcome::Unchanged { generation };
            }
            Judgement::Refused(refusal) => return Outcome::Refused(refusal),
            Judgement::Failed(error) => return Outcome::TranslateFailed(error),
        };
        let (before, after) = (previous.as_ref().map(Snapshot::id), next.id());
        let published = match contain(|| self.parts.stages.writer.set(group, next)) {
            Ok(published) => published,
            Err(message) => {
                let stage = Stage::Publish;
                return Outcome::Panicked { stage, message };
            }
        };
        let generation = published.generation();
        let (value, outcome) = match published {
            Published::Unchanged(_) => {
                let held = before.unwrap_or(after);
                ([held, after], Outcome::Unchanged { generation })
            }
            _ => ([after; 2], Outcome::Published { generation }),
        };
        *shown = Some(Shown { generation, value });
        outcome
    }

    fn report(&self, group: &G, report: &Arc<PublishReport>) {
        log(group, report);
        self.parts.reports.insert(group, Arc::clone(report));
        let observer = &self.parts.observer;
        if let Err(message) = contain(|| observer.reported(group, report)) {
            tracing::error!(message, "a publish observer panicked");
        }
    }

    fn forget(&self, forgotten: &Forgotten<G>) {
        let Forgotten { group, published } = forgotten;
        self.parts.reports.remove(group);
        self.parts.stages.consistency.forget(group);
        if *published && let Err(message) = contain(|| self.parts.stages.writer.clear(group)) {
            tracing::error!(?group, message, "clearing a group panicked");
        }
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }
}

fn log<G: GroupKey>(group: &G, report: &PublishReport) {
    let (revision, outcome, extent) = (report.revision.get(), &report.outcome, report.extent);
    let times = report.times;
    match outcome {
        Outcome::Published { .. } | Outcome::Unchanged { .. } => {
            tracing::debug!(?group, revision, ?extent, ?times, "{outcome}");
        }
        failed => tracing::warn!(
            ?group,
            revision,
            ?extent,
            ?times,
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
