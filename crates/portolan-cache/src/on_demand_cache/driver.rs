use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use portolan_core::GroupKey;

use super::resolution::{Resolution, Wanted};
use super::resolutions::{Resolutions, Step, Ticket};
use crate::contain::contain;

/// Finds out what a name is.
///
/// A resolution is dropped when nobody wants its name any more, or when it takes
/// [too long](super::OnDemandLimits::with_deadline). One that panics is given up; no other notices.
pub trait Resolver<K>: Send + Sync + 'static {
    /// Resolves a name, once for all who want it.
    fn resolve(&self, wanted: &Wanted<K>) -> impl Future<Output = Resolution> + Send;

    /// Nobody wants a name any more of which a resolution was begun: what was kept for it can go. Called once. Must not
    /// block. Default: nothing is done.
    fn released(&self, _wanted: &Wanted<K>) {}
}

/// The time, and how to wait: of an async runtime, or of a test.
pub trait Clock: Send + Sync + 'static {
    /// The time since any fixed moment.
    fn now(&self) -> Duration;

    /// Comes when the time is up.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

impl<K: GroupKey> Resolutions<K> {
    /// Resolves what is wanted, as many names at a time as the limits allow, within the task that runs this. It runs until
    /// it is dropped, and with it all that it resolves.
    pub async fn run(self, resolver: impl Resolver<K>, clock: impl Clock) -> Infallible {
        let resolver = Arc::new(resolver);
        let mut running = FuturesUnordered::new();
        let mut aborts: BTreeMap<Ticket, AbortHandle> = BTreeMap::new();
        let mut alarm = Alarm::default();
        poll_fn(|cx| {
            loop {
                self.register(cx.waker().clone());
                while let Some(step) = self.next(clock.now()) {
                    match step {
                        Step::Resolve(ticket, wanted) => {
                            let (abort, registration) = AbortHandle::new_pair();
                            aborts.insert(ticket, abort);
                            let resolver = Arc::clone(&resolver);
                            let resolved = async move { resolver.resolve(&wanted).await };
                            let resolved = AssertUnwindSafe(resolved).catch_unwind();
                            let resolved = Abortable::new(resolved, registration);
                            running.push(resolved.map(move |outcome| (ticket, outcome)));
                        }
                        Step::Cancel(ticket) => abort(&mut aborts, ticket),
                        Step::Release(ticket, wanted) => {
                            abort(&mut aborts, ticket);
                            contain(|| resolver.released(&wanted));
                        }
                    }
                }
                if let Poll::Ready(Some((ticket, outcome))) = running.poll_next_unpin(cx) {
                    // One that was aborted may have a successor of its ticket.
                    if let Ok(outcome) = outcome {
                        aborts.remove(&ticket);
                        match outcome {
                            Ok(resolution) => self.answer(ticket, resolution, clock.now()),
                            Err(_reported) => self.give_up(ticket, clock.now()),
                        }
                    }
                    continue;
                }
                if alarm.poll(cx, self.deadline(), &clock).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }
}

fn abort(aborts: &mut BTreeMap<Ticket, AbortHandle>, ticket: Ticket) {
    if let Some(handle) = aborts.remove(&ticket) {
        handle.abort();
    }
}

/// A sleep until some time, which may move.
#[derive(Default)]
struct Alarm<'a>(Option<(Duration, Sleep<'a>)>);

type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl<'a> Alarm<'a> {
    /// Ready when the time has come; never without one.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        at: Option<Duration>,
        clock: &'a impl Clock,
    ) -> Poll<()> {
        let Some(at) = at else {
            self.0 = None;
            return Poll::Pending;
        };
        if self.0.as_ref().is_none_or(|(set, _)| *set != at) {
            let wait = at.saturating_sub(clock.now());
            self.0 = Some((at, Box::pin(clock.sleep(wait))));
        }
        let Some((_, sleep)) = &mut self.0 else {
            return Poll::Pending;
        };
        let rang = sleep.as_mut().poll(cx);
        if rang.is_ready() {
            self.0 = None;
        }
        rang
    }
}
