use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::Node;
use portolan_engine::ErrorDetail;
use portolan_server::{Callbacks, CloseReason, Event, RequestInfo, StreamInfo};

/// Keeps what a server says of its streams.
#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Recorded>);

#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) opened: usize,
    pub(super) node: Option<Arc<Node>>,
    pub(super) requests: Vec<Seen>,
    pub(super) events: Vec<Event>,
    pub(super) closed: Vec<CloseReason>,
}

/// What is told of a request.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) type_url: String,
    pub(super) nonce: String,
    pub(super) error: Option<ErrorDetail>,
    pub(super) names: usize,
    pub(super) unsubscribed: usize,
}

impl Recorder {
    pub(super) fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Callbacks for Recorder {
    fn stream_opened(&self, _: &StreamInfo) {
        self.recorded().opened += 1;
    }

    fn stream_admitted(&self, stream: &StreamInfo) {
        self.recorded().node = stream.node().cloned();
    }

    fn stream_closed(&self, _: &StreamInfo, reason: &CloseReason) {
        self.recorded().closed.push(reason.clone());
    }

    fn request(&self, _: &StreamInfo, request: &RequestInfo<'_>) {
        self.recorded().requests.push(Seen {
            type_url: request.type_url().to_owned(),
            nonce: request.nonce().to_owned(),
            error: request.error().cloned(),
            names: request.names(),
            unsubscribed: request.unsubscribed(),
        });
    }

    fn event(&self, _: &StreamInfo, event: &Event) {
        self.recorded().events.push(event.clone());
    }
}
