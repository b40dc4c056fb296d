use std::fmt;

use portolan_core::Refusal;
use portolan_engine::ProtocolError;

use crate::RequestError;

/// Why a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The client ended its side, and was sent what there was left to say (C-016). Status `OK`.
    HalfClosed,
    /// The one request of a `Fetch` method was answered. Status `OK`.
    Fetched,
    /// Nothing was published for the client for as long as its `Fetch` was held. Status `UNAVAILABLE`.
    NothingPublished,
    /// The client reset the stream, or its connection is gone. There is nobody to send a status to (C-017).
    Gone,
    /// The client sent what is not a request.
    Unreadable(RequestError),
    /// The first request has no node. Status `INVALID_ARGUMENT`.
    NoNode,
    /// The client broke a rule of the protocol, or exceeded a limit.
    Protocol(ProtocolError),
    /// [`Admission`](crate::Admission) refused the stream, or a further request on it.
    NotAdmitted(Refusal),
    /// The source refused the node.
    NoSource(Refusal),
    /// The server is being drained. Status `OK` if the stream was sent a response, otherwise `UNAVAILABLE`, on which
    /// clients try elsewhere.
    Drained {
        /// Whether a response was sent.
        answered: bool,
    },
    /// The stream has reached its [maximum age](crate::XdsServerBuilder::with_max_stream_age). Status as of
    /// [`Drained`](Self::Drained).
    Expired {
        /// Whether a response was sent.
        answered: bool,
    },
    /// The client [ceased to read](crate::XdsServerBuilder::with_stall_after). The stream is reset; it has no status.
    Stalled,
    /// A response exceeds what a gRPC message can hold. Status `RESOURCE_EXHAUSTED`.
    ResponseTooLong {
        /// Length of the message in bytes.
        len: usize,
    },
    /// The source, the admission or the server panicked while it served this stream. Status `INTERNAL`.
    Panicked,
    /// The runtime was shut down under the stream.
    Aborted,
}

impl CloseReason {
    /// The reason without what belongs to the stream, as one of a few words: for logs and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::HalfClosed => "half_closed",
            Self::Fetched => "fetched",
            Self::NothingPublished => "nothing_published",
            Self::Gone => "gone",
            Self::Unreadable(_) => "unreadable",
            Self::NoNode => "no_node",
            Self::Protocol(_) => "protocol",
            Self::NotAdmitted(_) => "not_admitted",
            Self::NoSource(_) => "no_source",
            Self::Drained { .. } => "drained",
            Self::Expired { .. } => "expired",
            Self::Stalled => "stalled",
            Self::ResponseTooLong { .. } => "response_too_long",
            Self::Panicked => "panicked",
            Self::Aborted => "aborted",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HalfClosed => f.write_str("the client ended the stream"),
            Self::Fetched => f.write_str("the request was answered"),
            Self::NothingPublished => f.write_str("nothing was published for this node yet"),
            Self::Gone => f.write_str("the client is gone"),
            Self::Unreadable(error) => write!(f, "unreadable request: {error}"),
            Self::NoNode => f.write_str("the first request has no node"),
            Self::Protocol(error) => error.fmt(f),
            Self::NotAdmitted(refusal) => write!(f, "not admitted: {refusal}"),
            Self::NoSource(refusal) => write!(f, "refused by the source: {refusal}"),
            Self::Drained { .. } => f.write_str("the server is being drained"),
            Self::Expired { .. } => f.write_str("the stream has reached its maximum age"),
            Self::Stalled => f.write_str("the client has ceased to read"),
            Self::ResponseTooLong { len } => write!(f, "a response of {len} bytes is too long"),
            Self::Panicked => f.write_str("a panic while the stream was served"),
            Self::Aborted => f.write_str("the runtime was shut down"),
        }
    }
}

impl From<RequestError> for CloseReason {
    fn from(error: RequestError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<ProtocolError> for CloseReason {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}
