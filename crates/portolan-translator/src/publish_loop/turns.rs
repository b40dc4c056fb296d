use std::sync::Arc;
use std::time::Duration;

use portolan_core::GroupKey;
use tokio::task::{Id, JoinError, JoinSet};

use crate::PublishConfig;
use crate::contain::{contain, panic_message};
use crate::schedule::{Assignment, Turn};
use crate::stages::{Progress, Stages, Verdict};

/// The translations that are going on, each on a thread of the blocking pool.
///
/// A thread cannot be stopped. A turn that passes its deadline is over for the loop, but its thread is still counted
/// until it returns.
#[derive(Debug)]
pub(super) struct Turns<G> {
    threads: JoinSet<Verdict>,
    running: Vec<Running<G>>,
    /// Turns that passed their deadline and have not returned.
    overdue: Vec<Running<G>>,
    deadline: Duration,
    most_running: usize,
    most_threads: usize,
}

#[derive(Clone, Debug)]
struct Running<G> {
    id: Id,
    turn: Turn<G>,
    started: Duration,
    progress: Arc<Progress>,
}

/// How a turn ended.
#[derive(Debug)]
pub(super) struct Ended<G> {
    /// Whether it had ended before, by passing its deadline.
    pub(super) late: bool,
    pub(super) turn: Turn<G>,
    /// When a thread was asked for.
    pub(super) started: Duration,
    /// How long it took from then on.
    pub(super) took: Duration,
    pub(super) progress: Arc<Progress>,
    pub(super) end: End,
}

#[derive(Debug)]
pub(super) enum End {
    Verdict(Box<Verdict>),
    Panicked(String),
    TimedOut,
    NoThread,
}

/// What a thread came to.
pub(super) type Returned = Result<(Id, Verdict), JoinError>;

impl<G: GroupKey> Turns<G> {
    pub(super) fn new(config: &PublishConfig) -> Self {
        Self {
            threads: JoinSet::new(),
            running: Vec::new(),
            overdue: Vec::new(),
            deadline: config.deadline,
            most_running: config.concurrency,
            most_threads: config.threads(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether one more turn may begin.
    pub(super) fn have_room(&self) -> bool {
        self.running.len() < self.most_running && self.threads.len() < self.most_threads
    }

    /// Whether no turn may begin, and none is going on whose end would change that.
    pub(super) fn are_stuck(&self) -> bool {
        self.running.is_empty() && !self.have_room()
    }

    /// Begins a turn. Gives it back ended where the system has no thread for it.
    pub(super) fn begin<M, D>(
        &mut self,
        now: Duration,
        turn: Turn<G>,
        assignment: Assignment<D>,
        stages: &Arc<Stages<M, G, D>>,
        model: &Arc<M>,
    ) -> Result<(), Ended<G>>
    where
        M: Send + Sync + 'static,
        D: Send + Sync + 'static,
    {
        let (stages, model, group) = (Arc::clone(stages), Arc::clone(model), turn.group.clone());
        let progress = Arc::new(Progress::default());
        let watched = Arc::clone(&progress);
        let run = move || stages.run(&model, &group, &assignment, &watched);
        match contain(|| self.threads.spawn_blocking(run)) {
            Ok(thread) => {
                self.running.push(Running {
                    id: thread.id(),
                    turn,
                    started: now,
                    progress,
                });
                Ok(())
            }
            Err(_) => Err(Ended::without_thread(turn, now)),
        }
    }

    /// When [`take_overdue`](Self::take_overdue) has something to give.
    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        let started = self.running.iter().map(|running| running.started).min()?;
        Some(started.saturating_add(self.deadline))
    }

    /// Ends a turn that has passed its deadline.
    pub(super) fn take_overdue(&mut self, now: Duration) -> Option<Ended<G>> {
        let is_overdue = |r: &Running<G>| r.started.saturating_add(self.deadline) <= now;
        let at = self.running.iter().position(is_overdue)?;
        let overdue = self.running.swap_remove(at);
        let ended = overdue.clone().ended(now, End::TimedOut);
        self.overdue.push(overdue);
        Some(ended)
    }

    /// A thread that has returned, if there is one.
    pub(super) fn try_returned(&mut self) -> Option<Returned> {
        self.threads.try_join_next_with_id()
    }

    /// Waits for a thread to return; for ever where there is none.
    pub(super) async fn returned(&mut self) -> Returned {
        match self.threads.join_next_with_id().await {
            Some(returned) => returned,
            None => std::future::pending().await,
        }
    }

    /// The turn that ends with this return.
    pub(super) fn take_returned(&mut self, now: Duration, returned: Returned) -> Option<Ended<G>> {
        let (id, end) = match returned {
            Ok((id, verdict)) => (id, End::Verdict(Box::new(verdict))),
            Err(error) => (error.id(), end_of(error)),
        };
        let place = |turns: &[Running<G>]| turns.iter().position(|running| running.id == id);
        if let Some(at) = place(&self.running) {
            return Some(self.running.swap_remove(at).ended(now, end));
        }
        let at = place(&self.overdue)?;
        let late = self.overdue.swap_remove(at).ended(now, end);
        Some(Ended { late: true, ..late })
    }
}

impl<G> Running<G> {
    fn ended(self, now: Duration, end: End) -> Ended<G> {
        Ended {
            late: false,
            turn: self.turn,
            started: self.started,
            took: now.saturating_sub(self.started),
            progress: self.progress,
            end,
        }
    }
}

impl<G> Ended<G> {
    pub(super) fn without_thread(turn: Turn<G>, now: Duration) -> Self {
        Self {
            late: false,
            turn,
            started: now,
            took: Duration::ZERO,
            progress: Arc::default(),
            end: End::NoThread,
        }
    }
}

fn end_of(error: JoinError) -> End {
    match error.try_into_panic() {
        Ok(payload) => End::Panicked(panic_message(&*payload)),
        // The runtime is shutting down and never began it.
        Err(_) => End::NoThread,
    }
}
