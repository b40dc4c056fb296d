//! Accepting, whatever goes wrong with it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};

/// The first pause after a failure; each further one in a row is twice as long.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// Where connections come from.
pub(super) trait Accept {
    type Io;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Io>>;
}

impl Accept for TcpListener {
    type Io = TcpStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        Self::poll_accept(self, cx).map_ok(|(stream, _)| stream)
    }
}

/// Accepts for ever. A connection that breaks while it is accepted is passed over. Any other failure, such as that
/// there are no more file descriptors, will not have gone by the next attempt, which therefore waits.
#[derive(Debug)]
pub(super) struct Acceptor<A> {
    accept: A,
    pause: Option<Pin<Box<Sleep>>>,
    next_pause: Duration,
}

impl<A: Accept> Acceptor<A> {
    pub(super) fn new(accept: A) -> Self {
        Self {
            accept,
            pause: None,
            next_pause: SHORTEST,
        }
    }

    pub(super) fn get_ref(&self) -> &A {
        &self.accept
    }

    pub(super) fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<A::Io> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match ready!(self.accept.poll_accept(cx)) {
                Ok(io) => {
                    self.next_pause = SHORTEST;
                    return Poll::Ready(io);
                }
                Err(error) if is_of_one_connection(&error) => {
                    tracing::debug!(%error, "a connection broke while it was accepted");
                }
                Err(error) => {
                    let pause = self.next_pause;
                    tracing::warn!(%error, ?pause, "no connection can be accepted");
                    self.pause = Some(Box::pin(sleep(pause)));
                    self.next_pause = (pause * 2).min(LONGEST);
                }
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::poll_fn;

    use tokio::time::Instant;

    use super::*;

    /// Accepts what stands in a list.
    struct List(VecDeque<io::Result<u32>>);

    impl Accept for List {
        type Io = u32;

        fn poll_accept(&mut self, _: &mut Context<'_>) -> Poll<io::Result<u32>> {
            Poll::Ready(self.0.pop_front().expect("accepted too often"))
        }
    }

    fn acceptor(list: impl IntoIterator<Item = io::Result<u32>>) -> Acceptor<List> {
        Acceptor::new(List(list.into_iter().collect()))
    }

    /// `EMFILE`, which has no kind of its own.
    fn no_descriptors() -> io::Result<u32> {
        Err(io::Error::other("too many open files"))
    }

    async fn accept(acceptor: &mut Acceptor<List>) -> (u32, Duration) {
        let begin = Instant::now();
        let io = poll_fn(|cx| acceptor.poll_accept(cx)).await;
        (io, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_breaks_holds_up_nobody() {
        let aborted = || Err(io::ErrorKind::ConnectionAborted.into());
        let mut acceptor = acceptor([aborted(), aborted(), Ok(1)]);
        assert_eq!(accept(&mut acceptor).await, (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_are_waited_for_longer_and_longer_up_to_a_second() {
        let millis = Duration::from_millis;
        let failures = |count| std::iter::repeat_with(no_descriptors).take(count);
        let once = failures(1).chain([Ok(1)]);
        let mut acceptor = acceptor(
            once.chain(failures(2))
                .chain([Ok(2)])
                .chain(failures(9))
                .chain([Ok(3)]),
        );
        assert_eq!(accept(&mut acceptor).await, (1, millis(10)));
        assert_eq!(accept(&mut acceptor).await, (2, millis(10 + 20)));
        let (last, waited) = accept(&mut acceptor).await;
        assert_eq!(last, 3);
        assert_eq!(waited, millis(10 * 127) + 2 * LONGEST);
    }
}
