use portolan_core::Refusal;
use portolan_engine::ProtocolError;

use crate::RequestError;

/// Why a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The client ended its side, and was sent what there was left to say (C-016). Status `OK`.
    HalfClosed,
    /// The client reset the stream, or its connection is gone. There is nobody to send a status to (C-017).
    Gone,
    /// The client sent what is not a request.
    Unreadable(RequestError),
    /// The first request has no node. Status `INVALID_ARGUMENT`.
    NoNode,
    /// The client broke a rule of the protocol, or exceeded a limit.
    Protocol(ProtocolError),
    /// [`Admission`](crate::Admission) refused the stream.
    NotAdmitted(Refusal),
    /// The source refused the node.
    NoSource(Refusal),
    /// The server is being drained. Status `OK` if the stream was sent a response, otherwise `UNAVAILABLE`, on which
    /// clients try elsewhere.
    Drained {
        /// Whether a response was sent.
        answered: bool,
    },
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
