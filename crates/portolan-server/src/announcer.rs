//! The one task per server that tells streams of changes.
//!
//! A writer only notes what changed. The announcer wakes the streams concerned, a slice at a time, so that neither
//! publishing nor any other task waits for however many streams there are.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use portolan_core::{Announced, Source};
use tokio::task::JoinHandle;

use crate::notice::Notices;
use crate::panics::contain;

/// Streams woken before other tasks have their turn. Waking one costs about 0.2 µs.
const BUDGET: usize = 256;

/// Runs while it is held.
#[derive(Debug, Default)]
pub(crate) struct Announcer {
    task: Mutex<Option<JoinHandle<Infallible>>>,
    notices: Arc<Notices>,
}

impl Announcer {
    /// Starts the task unless it runs. One that ended with its runtime is started again on the caller's.
    pub(crate) fn ensure_running(&self, source: &Arc<dyn Source>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let announce = announce(Arc::clone(source), Arc::clone(&self.notices));
            *task = Some(tokio::spawn(announce));
        }
    }

    /// When the source said what the announcer is telling the streams.
    pub(crate) fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task {
            task.abort();
        }
    }
}

/// Registering before announcing makes a change in between wake this future again.
async fn announce(source: Arc<dyn Source>, notices: Arc<Notices>) -> Infallible {
    poll_fn(|cx| {
        notices.begin_round();
        let announced = contain("a source that announces", || {
            source.register_announcer(notices.waker(cx.waker()));
            source.announce(BUDGET)
        });
        match announced {
            Some(Announced::More) => cx.waker().wake_by_ref(),
            _ => notices.end_round(),
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use portolan_core::{Node, Peer, Refusal, View};
    use tokio::sync::mpsc;

    use super::*;

    /// Says when it is to announce, and panics the first time.
    #[derive(Debug)]
    struct Clumsy {
        calls: mpsc::UnboundedSender<usize>,
        waker: Mutex<Option<Waker>>,
        announced: Mutex<usize>,
    }

    impl Source for Clumsy {
        fn open(&self, _: &Arc<Node>, _: &Peer, _: Waker) -> Result<Box<dyn View>, Refusal> {
            Err(Refusal::denied("not for streams"))
        }

        fn announce(&self, budget: usize) -> Announced {
            let announced = {
                let mut announced = self.announced.lock().unwrap();
                *announced += 1;
                *announced
            };
            let _ = self.calls.send(budget);
            match announced {
                1 => panic!("the first time"),
                2 => Announced::More,
                _ => Announced::All,
            }
        }

        fn register_announcer(&self, waker: Waker) {
            *self.waker.lock().unwrap() = Some(waker);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn announcing_goes_on_until_all_is_told_and_after_a_panic() {
        let (calls, mut called) = mpsc::unbounded_channel();
        let clumsy = Arc::new(Clumsy {
            calls,
            waker: Mutex::default(),
            announced: Mutex::default(),
        });
        let source: Arc<dyn Source> = clumsy.clone();
        let announcer = Announcer::default();
        announcer.ensure_running(&source);
        announcer.ensure_running(&source);
        assert_eq!(called.recv().await, Some(BUDGET));
        tokio::task::yield_now().await;
        assert!(called.is_empty(), "a panic is not tried again at once");

        let waker = clumsy.waker.lock().unwrap().take();
        waker.expect("it registered").wake();
        assert_eq!(called.recv().await, Some(BUDGET));
        assert_eq!(called.recv().await, Some(BUDGET));
        tokio::task::yield_now().await;
        assert!(called.is_empty());

        drop(announcer);
        drop((source, clumsy));
        assert_eq!(
            called.recv().await,
            None,
            "the task has let go of the source"
        );
    }
}
