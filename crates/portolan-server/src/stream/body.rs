//! The response body, which is the transport's demand and nothing else.
//!
//! A response is computed when the transport asks for it, never before: what waits in a channel is out of date by the
//! time a slow client reads it, may be of a type that the client has unsubscribed, and takes memory for as long as
//! the client pleases. So the two halves here hold the frames of at most one response:
//!
//! ```text
//!  transport                                    stream's task
//!  ResponseBody::poll_frame ── nothing queued ──▶ Flag::Wanted
//!        ▲                                            │ computes one response from the newest data
//!        └────────── frames ◀──────────────── Outlet::send
//! ```
//!
//! The transport asks for the next frame before it has room for it, so one response may lie ready that was computed
//! when the client was not yet able to take it. That one is bounded, and the session does not send a further change
//! of a type before the previous one was read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};

use super::meter::Meter;
use super::signal::{Flag, Signal};
use crate::wire::Framed;

/// The two ends of a response: what the stream's task sends into, and what the transport reads from.
pub(super) fn response(signal: &Arc<Signal>, meter: &Arc<Meter>) -> (Outlet, ResponseBody) {
    let shared = Arc::new(Shared {
        queue: Mutex::default(),
        signal: Arc::clone(signal),
        meter: Arc::clone(meter),
    });
    let outlet = Outlet(Arc::clone(&shared));
    (outlet, ResponseBody(shared))
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    signal: Arc<Signal>,
    meter: Arc<Meter>,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Bytes>,
    end: End,
    reader: Option<Waker>,
}

#[derive(Debug, Default)]
enum End {
    #[default]
    Open,
    Trailers(HeaderMap),
    Abandoned,
    Finished,
}

/// The rest of a response will not come. The transport resets the stream for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client has ceased to read")]
pub(super) struct Abandoned;

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end.
#[derive(Debug)]
pub(super) struct Outlet(Arc<Shared>);

impl Outlet {
    /// Whether the transport has taken everything and asks for more.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.signal.is_up(Flag::Wanted)
    }

    /// Answers the transport's demand.
    pub(super) fn send(&self, message: Framed) {
        let Framed { mut frames, len } = message;
        let Some(last) = frames.pop() else {
            return;
        };
        frames.push(self.0.meter.mark(last, len));
        self.change(|queue| {
            self.0.signal.take(Flag::Wanted);
            queue.frames.extend(frames);
        });
    }

    /// Ends the response behind what was sent.
    pub(super) fn finish(&self, trailers: HeaderMap) {
        self.change(|queue| queue.end = End::Trailers(trailers));
    }

    /// Ends the response where it is, and lets go of what the transport has not taken.
    pub(super) fn abandon(&self) {
        let mut queue = self.0.queue();
        let unsent = std::mem::take(&mut queue.frames);
        if !matches!(queue.end, End::Finished) {
            queue.end = End::Abandoned;
        }
        let reader = queue.reader.take();
        drop(queue);
        drop(unsent);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.0.queue();
        if matches!(queue.end, End::Open) {
            change(&mut queue);
        }
        let reader = queue.reader.take();
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// The transport's end.
#[derive(Debug)]
pub(super) struct ResponseBody(Arc<Shared>);

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Abandoned;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Abandoned>>> {
        let mut queue = self.0.queue();
        if let Some(frame) = queue.frames.pop_front() {
            self.0.meter.note_progress();
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        match std::mem::replace(&mut queue.end, End::Finished) {
            End::Open => {
                queue.end = End::Open;
                queue.reader = Some(cx.waker().clone());
                // Under the lock: raised after it, the flag could outlive the response that answers it.
                self.0.signal.raise(Flag::Wanted);
                Poll::Pending
            }
            End::Trailers(trailers) => {
                self.0.signal.raise(Flag::Finished);
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            End::Abandoned => Poll::Ready(Some(Err(Abandoned))),
            End::Finished => Poll::Ready(None),
        }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.end = End::Finished;
        let unsent = std::mem::take(&mut queue.frames);
        drop(queue);
        drop(unsent);
        self.0.signal.raise(Flag::Gone);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    struct Fixture {
        signal: Arc<Signal>,
        meter: Arc<Meter>,
        outlet: Outlet,
        body: Option<ResponseBody>,
    }

    impl Fixture {
        fn new() -> Self {
            let (signal, meter) = (Arc::default(), Arc::default());
            let (outlet, body) = response(&signal, &meter);
            Self {
                signal,
                meter,
                outlet,
                body: Some(body),
            }
        }

        fn poll(&mut self) -> Poll<Option<Frame<Bytes>>> {
            let body = Pin::new(self.body.as_mut().unwrap());
            let mut cx = Context::from_waker(Waker::noop());
            body.poll_frame(&mut cx)
                .map(|frame| frame.map(Result::unwrap))
        }

        fn data(&mut self) -> Bytes {
            match self.poll() {
                Poll::Ready(Some(frame)) => frame.into_data().unwrap(),
                other => panic!("{other:?}"),
            }
        }

        fn send(&self, frames: &[Bytes]) {
            self.outlet.send(Framed {
                frames: frames.to_vec(),
                len: frames.iter().map(Bytes::len).sum(),
            });
        }
    }

    #[test]
    fn the_transport_wants_something_only_when_nothing_is_queued() {
        let mut f = Fixture::new();
        assert!(!f.outlet.is_wanted());
        assert!(f.poll().is_pending());
        assert!(f.outlet.is_wanted());
        f.send(&[Bytes::from_static(b"a"), Bytes::from_static(b"b")]);
        assert!(!f.outlet.is_wanted());
        assert_eq!(f.data(), "a");
        assert!(!f.outlet.is_wanted());
        assert_eq!(f.data(), "b");
        assert!(f.poll().is_pending());
        assert!(f.outlet.is_wanted());
    }

    #[test]
    fn shared_bytes_are_not_copied() {
        let mut f = Fixture::new();
        let chunks = [Bytes::from(vec![1; 20_000]), Bytes::from(vec![2; 20_000])];
        f.send(&chunks);
        for chunk in &chunks {
            let data = f.data();
            assert_eq!(data.as_ptr(), chunk.as_ptr());
            assert_eq!(data.len(), chunk.len());
        }
    }

    #[test]
    fn a_response_is_in_flight_until_its_last_frame_is_dropped() {
        let mut f = Fixture::new();
        f.send(&[Bytes::from_static(b"ab"), Bytes::from_static(b"c")]);
        assert_eq!(f.meter.in_flight(), 3);
        drop(f.data());
        assert_eq!(f.meter.in_flight(), 3);
        let last = f.data();
        assert_eq!(f.meter.in_flight(), 3);
        drop(last);
        assert_eq!(f.meter.in_flight(), 0);
    }

    #[test]
    fn the_status_comes_behind_what_was_sent_and_once() {
        let mut f = Fixture::new();
        f.send(&[Bytes::from_static(b"a")]);
        f.outlet.finish(HeaderMap::new());
        f.outlet.finish(HeaderMap::new());
        assert_eq!(f.data(), "a");
        assert!(!f.signal.is_up(Flag::Finished));
        let Poll::Ready(Some(frame)) = f.poll() else {
            panic!("no status");
        };
        assert!(frame.is_trailers());
        assert!(f.signal.is_up(Flag::Finished));
        assert!(matches!(f.poll(), Poll::Ready(None)));
    }

    #[test]
    fn an_abandoned_response_keeps_nothing_and_is_no_whole_response() {
        let mut f = Fixture::new();
        f.send(&[Bytes::from_static(b"a"), Bytes::from_static(b"b")]);
        assert_eq!(f.data(), "a");
        f.outlet.finish(HeaderMap::new());
        f.outlet.abandon();
        assert_eq!(f.meter.in_flight(), 0);
        let body = Pin::new(f.body.as_mut().unwrap());
        let next = body.poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(next, Poll::Ready(Some(Err(Abandoned)))));
        assert!(matches!(f.poll(), Poll::Ready(None)));
    }

    #[test]
    fn a_dropped_body_keeps_nothing() {
        let mut f = Fixture::new();
        f.send(&[Bytes::from_static(b"a")]);
        f.body = None;
        assert!(f.signal.is_up(Flag::Gone));
        assert_eq!(f.meter.in_flight(), 0);
        f.send(&[Bytes::from_static(b"b")]);
        assert_eq!(f.meter.in_flight(), 0);
    }
}
