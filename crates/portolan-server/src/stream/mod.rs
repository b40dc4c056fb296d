//! One stream: from the call that opens it to the reason for which it ended.
//!
//! | module | what it is |
//! |---|---|
//! | `body` | the response body: the transport's demand, and the frames of one response |
//! | `signal` | what others tell the stream's task |
//! | `meter` | what was handed to the transport and is not written |
//! | `opening` | first request, admission, source |
//! | `driver` | the loop around the session |
//! | `events` | what an event of the session means to log, source and observers |

mod body;
mod driver;
mod events;
mod info;
mod meter;
mod opening;
mod signal;

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use portolan_core::Peer;
use portolan_engine::{Scope, Variant};
use tokio::time::timeout;
use tonic::body::Body;
use tracing::{Instrument, field};

use self::body::{Outlet, ResponseBody};
use self::driver::Driver;
pub use self::info::StreamInfo;
use self::opening::open;
use self::signal::{Flag, Signal};
use crate::server::Shared;
use crate::shutdown::DrainWatch;
use crate::wire::Requests;
use crate::{Callbacks, CloseReason, RequestError, server};

/// How long a stream that ends waits for a client that does not read. It bounds only how long the stream is counted
/// and what it is reported to have ended for; what was sent stays with the transport.
const LINGER: Duration = Duration::from_secs(5);

/// Most bytes of a text of the client's in a line of the log.
const MAX_LOGGED: usize = 256;

/// A stream that is being opened. Boxed where it is kept, so that the task of an open stream has no room for it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) service: &'static str,
    pub(crate) scope: Scope,
    pub(crate) variant: Variant,
    pub(crate) peer: Peer,
    pub(crate) head: Parts,
}

/// Opens a stream and starts its task. The body is the stream's response.
pub(crate) fn spawn(
    server: Arc<Shared>,
    place: server::Place,
    call: Box<Call>,
    requests: Requests,
) -> Body {
    let (stream, body) = OpenStream::new(server, place, &call);
    let info = &stream.info;
    let span = tracing::info_span!(
        "xds_stream",
        id = info.id(),
        variant = ?info.variant(),
        peer = info.peer().address().map(field::display),
        node = field::Empty,
    );
    tokio::spawn(serve(stream, call, requests).instrument(span));
    Body::new(body)
}

async fn serve(mut stream: OpenStream, call: Box<Call>, mut requests: Requests) {
    let reason = match open(&mut stream, call, &mut requests).await {
        Ok(opened) => Driver::new(&mut stream, &mut requests, opened).run().await,
        Err(reason) => reason,
    };
    drop(requests);
    stream.close(reason).await;
}

/// What a stream is to the server. Whatever becomes of its task, dropping this ends the response, reports the end
/// and gives back the stream's place.
#[derive(Debug)]
struct OpenStream {
    server: Arc<Shared>,
    info: StreamInfo,
    signal: Arc<Signal>,
    outlet: Outlet,
    drain: DrainWatch,
    reported: bool,
    _place: server::Place,
}

impl OpenStream {
    fn new(server: Arc<Shared>, place: server::Place, call: &Call) -> (Self, ResponseBody) {
        let (signal, meter) = (Arc::default(), Arc::default());
        let (outlet, body) = body::response(&signal, &meter);
        let info = StreamInfo::new(call.service, call.variant, call.peer.clone(), meter);
        let stream = Self {
            drain: server.drain.watch(info.id()),
            server,
            info,
            signal,
            outlet,
            reported: false,
            _place: place,
        };
        stream.observe(|callbacks, stream| callbacks.stream_opened(stream));
        (stream, body)
    }

    fn observe(&self, call: impl Fn(&dyn Callbacks, &StreamInfo)) {
        let observers = &self.server.config.observers;
        observers.tell(|callbacks| call(callbacks, &self.info));
    }

    /// Waits until nobody is there to serve any more, or the server wants to be rid of the stream.
    async fn interrupted(&mut self) -> CloseReason {
        tokio::select! {
            biased;
            () = self.signal.until(Flag::Gone) => CloseReason::Gone,
            () = self.drain.due() => CloseReason::Drained { answered: false },
        }
    }

    async fn close(mut self, reason: CloseReason) {
        self.outlet.finish(reason.trailers());
        let reason = match reason {
            // To the request stream a reset looks like an end, or a message that is cut off. Only what becomes of
            // the response tells them apart.
            CloseReason::HalfClosed | CloseReason::Unreadable(RequestError::Framing(_))
                if self.was_reset().await =>
            {
                CloseReason::Gone
            }
            reason => reason,
        };
        self.report(&reason);
    }

    async fn was_reset(&self) -> bool {
        let ended = async {
            while !self.signal.is_up(Flag::Finished) && !self.signal.is_up(Flag::Gone) {
                self.signal.raised().await;
            }
        };
        let ended = timeout(LINGER, ended).await.is_ok();
        ended && !self.signal.is_up(Flag::Finished)
    }

    fn report(&mut self, reason: &CloseReason) {
        self.reported = true;
        let status = reason.status();
        tracing::debug!(code = ?status.code(), text = status.message(), "stream closed");
        self.observe(|callbacks, stream| callbacks.stream_closed(stream, reason));
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if self.reported {
            return;
        }
        let reason = if std::thread::panicking() {
            CloseReason::Panicked
        } else {
            CloseReason::Aborted
        };
        self.outlet.finish(reason.trailers());
        self.report(&reason);
    }
}
