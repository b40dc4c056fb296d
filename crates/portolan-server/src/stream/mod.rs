//! One stream: from the call that opens it to the reason for which it ended.
//!
//! | module | what it is |
//! |---|---|
//! | `body` | the response body: the transport's demand, and the frames of one response |
//! | `signal` | what others tell the stream's task |
//! | `meter` | what was handed to the transport and is not written |
//! | `opening` | first request, admission, source |
//! | `driver` | the loop around the session |
//! | `fetch` | what takes its place where one answer is all that is asked for |
//! | `events` | what an event of the session means to log, source and observers |
//! | `watched` | the view, and when the session looks at it |

mod body;
mod driver;
mod events;
mod fetch;
mod info;
mod meter;
mod opening;
mod signal;
mod watched;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use portolan_core::Peer;
use portolan_engine::Scope;
use tokio::time::{Instant, sleep_until, timeout};
use tonic::body::Body;
use tracing::{Instrument, field};

use self::body::{Outlet, ResponseBody};
use self::driver::Driver;
use self::fetch::fetch;
pub use self::info::StreamInfo;
use self::opening::open;
use self::signal::{Flag, Signal};
use crate::observe::StreamRecord;
use crate::server::Shared;
use crate::shutdown::DrainWatch;
use crate::spread::share_of;
use crate::wire::Requests;
use crate::{Callbacks, CloseReason, Method, RequestError, server};

/// How long a stream that ends waits for a client that does not read. It bounds only how long the stream is counted
/// and what it is reported to have ended for; what was sent stays with the transport.
const LINGER: Duration = Duration::from_secs(5);

/// Most bytes of a text of the client's in a line of the log.
const MAX_LOGGED: usize = 256;

/// The call that opens a stream. Boxed, so that the task of an open stream, which mostly does not keep it, has no room
/// for it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) service: &'static str,
    pub(crate) scope: Scope,
    pub(crate) method: Method,
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
        service = info.service(),
        method = ?info.method(),
        peer = info.peer().address().map(field::display),
        node = field::Empty,
    );
    tokio::spawn(serve(stream, call, requests).instrument(span));
    Body::new(body)
}

async fn serve(mut stream: OpenStream, call: Box<Call>, mut requests: Requests) {
    let method = call.method;
    let reason = match open(&mut stream, call, &mut requests).await {
        Ok(opened) if method == Method::Fetch => fetch(&mut stream, opened).await,
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
    record: StreamRecord,
    signal: Arc<Signal>,
    outlet: Outlet,
    drain: DrainWatch,
    /// When the stream has reached its maximum age.
    expires: Option<Instant>,
    reported: bool,
    _place: server::Place,
}

impl OpenStream {
    fn new(server: Arc<Shared>, place: server::Place, call: &Call) -> (Self, ResponseBody) {
        let signal = Arc::new(Signal::new(server.announcer.notices()));
        let meter = Arc::default();
        let (outlet, body) = body::response(&signal, &meter);
        let info = StreamInfo::new(call.service, call.method, call.peer.clone(), meter);
        let stream = Self {
            drain: server.drain.watch(info.id()),
            expires: expiry(&server, info.id()),
            record: server.observatory.record(&info),
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
        // First, so that whoever is called next finds it recorded.
        self.record.tell(|callbacks| call(callbacks, &self.info));
        let observers = &self.server.config.observers;
        observers.tell(|callbacks| call(callbacks, &self.info));
    }

    /// Waits until nobody is there to serve any more, or the server wants to be rid of the stream.
    async fn interrupted(&mut self) -> CloseReason {
        tokio::select! {
            biased;
            () = self.signal.until(Flag::Gone) => CloseReason::Gone,
            () = self.drain.due() => CloseReason::Drained { answered: false },
            () = reached(self.expires) => CloseReason::Expired { answered: false },
        }
    }

    fn has_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= Instant::now())
    }

    /// When the client is given up, unless the transport gets on with what it was handed.
    fn stalls_at(&self) -> Option<Instant> {
        let meter = self.info.meter();
        let waits = meter.in_flight() > 0;
        let patience = self.server.config.stall_after;
        waits.then(|| meter.last_progress().checked_add(patience))?
    }

    fn is_stalled(&self) -> bool {
        self.stalls_at()
            .is_some_and(|stalls| stalls <= Instant::now())
    }

    async fn close(mut self, reason: CloseReason) {
        match reason {
            CloseReason::Stalled => self.outlet.abandon(),
            _ => self.outlet.finish(reason.trailers()),
        }
        let reason = match reason {
            // To the request stream a reset looks like an end, or a message that is cut off. Only what becomes of
            // the response tells them apart.
            CloseReason::HalfClosed | CloseReason::Unreadable(RequestError::Framing(_))
                if self.was_reset().await =>
            {
                CloseReason::Gone
            }
            CloseReason::Fetched => self.until_read().await,
            reason => reason,
        };
        self.report(&reason);
    }

    /// Waits until the client has read an answer to its end, or is given up.
    async fn until_read(&self) -> CloseReason {
        loop {
            if self.signal.is_up(Flag::Finished) {
                return CloseReason::Fetched;
            }
            if self.signal.is_up(Flag::Gone) {
                return CloseReason::Gone;
            }
            if self.is_stalled() {
                self.outlet.abandon();
                return CloseReason::Stalled;
            }
            tokio::select! {
                () = self.signal.raised() => {}
                () = reached(self.stalls_at()) => {}
            }
        }
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
        let (code, text) = (status.code(), status.message());
        tracing::debug!(reason = reason.name(), ?code, text, "stream closed");
        self.observe(|callbacks, stream| callbacks.stream_closed(stream, reason));
    }
}

/// When a stream of this number that begins now is to end for its age.
fn expiry(server: &Shared, stream: u64) -> Option<Instant> {
    let ages = server.config.max_stream_age.as_ref()?;
    let spread = ages.end().saturating_sub(*ages.start());
    let age = ages.start().checked_add(share_of(spread, stream))?;
    Instant::now().checked_add(age)
}

/// Waits until then; for ever where there is no such moment.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
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
