use std::fmt::Debug;
use std::sync::Arc;

use portolan_core::{Generation, Node, TypeUrl, Version};
use portolan_engine::{ErrorDetail, Event, Nonce, Reason, Request, Scope};

use crate::panics::contain;
use crate::wire::Inbound;
use crate::{CloseReason, StreamInfo, TurnInfo};

/// Observes streams. It can change nothing: what decides is [`Admission`](crate::Admission).
///
/// Methods are called from the stream's own task, in order, and must not block. A panic is logged and has no other
/// effect. Several observers are called one after the other.
///
/// A call of a `Fetch` method is a stream of one request and one response.
///
/// Calls that are refused before there is a stream (an unknown method, a server that is not ready or full) are not
/// reported.
///
/// ```
/// use portolan_server::{Callbacks, Event, StreamInfo};
///
/// #[derive(Debug)]
/// struct ReportRejections;
///
/// impl Callbacks for ReportRejections {
///     fn event(&self, stream: &StreamInfo, event: &Event) {
///         if let Event::Nacked { type_url, message, .. } = event {
///             let node = stream.node().map_or("?", |node| node.id());
///             eprintln!("{node} rejected {type_url}: {message}");
///         }
///     }
/// }
/// ```
pub trait Callbacks: Debug + Send + Sync {
    /// A stream was opened. Its node is not known yet.
    fn stream_opened(&self, _stream: &StreamInfo) {}

    /// A stream was admitted and belongs to its node, and is about to be served.
    fn stream_admitted(&self, _stream: &StreamInfo) {}

    /// A stream ended. Called exactly once for each that was opened, however it ended (C-018).
    fn stream_closed(&self, _stream: &StreamInfo, _reason: &CloseReason) {}

    /// A request is about to be handled. The stream was admitted.
    fn request(&self, _stream: &StreamInfo, _request: &RequestInfo<'_>) {}

    /// The stream looked at what its source holds. The responses to which this gives rise, if any, follow.
    fn turn(&self, _stream: &StreamInfo, _turn: &TurnInfo) {}

    /// A response was handed to the transport.
    fn response(&self, _stream: &StreamInfo, _response: &ResponseInfo<'_>) {}

    /// Something happened in the protocol: an acknowledgement, a rejection, a change of interest, an irregularity.
    fn event(&self, _stream: &StreamInfo, _event: &Event) {}

    /// A client sent another node than before, as Envoy does when its dynamic parameters change (C-006). The stream
    /// goes on as the node that it began with.
    fn node_changed(&self, _stream: &StreamInfo, _node: &Node) {}
}

/// A request, without its names.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    pub(crate) type_url: &'a str,
    pub(crate) request: &'a Request,
    pub(crate) len: usize,
}

impl<'a> RequestInfo<'a> {
    pub(crate) fn of(scope: &'a Scope, inbound: &'a Inbound) -> Self {
        Self {
            type_url: type_url(scope, &inbound.request),
            request: &inbound.request,
            len: inbound.len,
        }
    }

    /// The type, which on a service of one type is that of the service.
    #[must_use]
    pub fn type_url(&self) -> &'a str {
        self.type_url
    }

    /// Nonce of the response that the request answers; empty where it answers none.
    #[must_use]
    pub fn nonce(&self) -> &'a str {
        match self.request {
            Request::Sotw(request) => &request.nonce,
            Request::Delta(request) => &request.nonce,
            _ => "",
        }
    }

    /// What the client did not like about that response.
    #[must_use]
    pub fn error(&self) -> Option<&'a ErrorDetail> {
        match self.request {
            Request::Sotw(request) => request.error.as_ref(),
            Request::Delta(request) => request.error.as_ref(),
            _ => None,
        }
    }

    /// Number of names that the request lists, or in delta subscribes to.
    #[must_use]
    pub fn names(&self) -> usize {
        match self.request {
            Request::Sotw(request) => request.names.len() + request.locators.len(),
            Request::Delta(request) => request.subscribe.len() + request.locators_subscribe.len(),
            _ => 0,
        }
    }

    /// Number of names that a delta request unsubscribes from.
    #[must_use]
    pub fn unsubscribed(&self) -> usize {
        match self.request {
            Request::Delta(request) => {
                request.unsubscribe.len() + request.locators_unsubscribe.len()
            }
            _ => 0,
        }
    }

    /// Length of the message in bytes.
    #[must_use]
    pub fn message_len(&self) -> usize {
        self.len
    }
}

/// The type of a request, where it need not name it that of the service (C-037).
fn type_url<'a>(scope: &'a Scope, request: &'a Request) -> &'a str {
    let named = match request {
        Request::Sotw(request) => &*request.type_url,
        Request::Delta(request) => &*request.type_url,
        _ => "",
    };
    match scope {
        Scope::Single(resource_type) if named.is_empty() => resource_type.url().as_str(),
        _ => named,
    }
}

/// A response, without its resources.
#[derive(Clone, Copy, Debug)]
pub struct ResponseInfo<'a> {
    pub(crate) response: &'a portolan_engine::Response,
    pub(crate) len: usize,
}

impl<'a> ResponseInfo<'a> {
    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &'a TypeUrl {
        &self.response.type_url
    }

    /// The version that it carries.
    #[must_use]
    pub fn version(&self) -> &'a Version {
        &self.response.version
    }

    /// Its nonce.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        self.response.nonce
    }

    /// Number of resources in it, those without a body included.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.response.resources.len() + self.response.bodyless.len()
    }

    /// Number of errors in it, each in the place of a resource (C-357).
    #[must_use]
    pub fn errors(&self) -> usize {
        self.response.errors.len()
    }

    /// Number of resources that it says live on, without their bodies.
    #[must_use]
    pub fn heartbeats(&self) -> usize {
        self.response.heartbeats.len()
    }

    /// Number of names that it says are gone.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.response.removed.len()
    }

    /// The publication that it was made from.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.response.generation
    }

    /// Why it is sent.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.response.reason
    }

    /// Length of the message in bytes.
    #[must_use]
    pub fn message_len(&self) -> usize {
        self.len
    }
}

/// All observers of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Callbacks>>);

impl Observers {
    pub(crate) fn add(&mut self, callbacks: Arc<dyn Callbacks>) {
        self.0.push(callbacks);
    }

    pub(crate) fn tell(&self, call: impl Fn(&dyn Callbacks)) {
        for callbacks in &self.0 {
            contain("a callback", || call(&**callbacks));
        }
    }
}
