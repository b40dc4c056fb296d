//! Ending all streams, spread over a window so that their clients do not all come back at once.

use std::future::pending;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::spread::share_of;

/// Tells streams when to end.
#[derive(Debug)]
pub(crate) struct Drain(watch::Sender<Option<Window>>);

#[derive(Clone, Copy, Debug)]
struct Window {
    start: Instant,
    length: Duration,
}

impl Drain {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    pub(crate) fn start(&self, length: Duration) {
        let start = Instant::now();
        self.0.send_replace(Some(Window { start, length }));
    }

    pub(crate) fn watch(&self, stream: u64) -> DrainWatch {
        DrainWatch {
            window: self.0.subscribe(),
            stream,
        }
    }
}

/// One stream's part in a [`Drain`].
#[derive(Debug)]
pub(crate) struct DrainWatch {
    window: watch::Receiver<Option<Window>>,
    stream: u64,
}

impl DrainWatch {
    /// Whether it is this stream's turn to end.
    pub(crate) fn is_due(&self) -> bool {
        let window = *self.window.borrow();
        window.is_some_and(|window| window.turn_of(self.stream) <= Instant::now())
    }

    /// Waits until it is this stream's turn to end. Another window replaces one that has not passed.
    pub(crate) async fn due(&mut self) {
        loop {
            let window = *self.window.borrow_and_update();
            let changed = self.window.changed();
            let still_there = match window.map(|window| window.turn_of(self.stream)) {
                Some(turn) => match timeout_at(turn, changed).await {
                    Err(_) => return,
                    Ok(changed) => changed.is_ok(),
                },
                None => changed.await.is_ok(),
            };
            if !still_there {
                pending::<()>().await;
            }
        }
    }
}

impl Window {
    fn turn_of(self, stream: u64) -> Instant {
        let wait = share_of(self.length, stream);
        self.start.checked_add(wait).unwrap_or(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_shorter_window_hurries_those_that_wait() {
        let drain = Drain::new();
        let mut watch = drain.watch(1);
        drain.start(Duration::from_secs(3600));
        let begin = Instant::now();
        let hurry = async {
            tokio::task::yield_now().await;
            drain.start(Duration::ZERO);
        };
        tokio::join!(watch.due(), hurry);
        assert!(begin.elapsed() < Duration::from_secs(1));
    }
}
