//! How everything that ends a stream, or keeps one from being opened, is told to the client: the one table.

use http::HeaderMap;
use portolan_core::{Refusal, RefusalKind};
use portolan_engine::ProtocolError;
use tonic::{Code, Status};

use crate::text::cut;
use crate::{CloseReason, RequestError};

/// Most bytes of a status's text. It may quote what the client sent, and clients bound the headers they accept.
const MAX_TEXT: usize = 1024;

/// Why a call is answered with a status at once. No stream is opened, and callbacks do not hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    #[error("this server has no such method")]
    NoSuchMethod,
    #[error("this server does not serve this variant of the protocol")]
    VariantDisabled,
    #[error("compressed requests are not accepted")]
    Compressed,
    #[error("the server is not ready")]
    NotReady,
    #[error("the server is shutting down")]
    Draining,
    #[error("the server has {max} streams, which is its limit")]
    TooManyStreams { max: usize },
    #[error("the peer could not be identified")]
    NoPeer,
}

impl Rejection {
    pub(crate) fn status(self) -> Status {
        let code = match self {
            Self::NoSuchMethod | Self::VariantDisabled | Self::Compressed => Code::Unimplemented,
            Self::NotReady | Self::Draining => Code::Unavailable,
            Self::TooManyStreams { .. } => Code::ResourceExhausted,
            Self::NoPeer => Code::Internal,
        };
        let mut status = Status::new(code, self.to_string());
        if self == Self::Compressed {
            let identity = tonic::metadata::MetadataValue::from_static("identity");
            status
                .metadata_mut()
                .insert("grpc-accept-encoding", identity);
        }
        status
    }
}

impl CloseReason {
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::HalfClosed
            | Self::Fetched
            | Self::Drained { answered: true }
            | Self::Expired { answered: true } => Status::ok(""),
            Self::Gone | Self::Stalled => Status::cancelled(""),
            Self::NothingPublished | Self::Expired { answered: false } => {
                Status::unavailable(self.to_string())
            }
            Self::Unreadable(error) => status(code_of_unreadable(error), &error.to_string()),
            Self::NoNode => Status::invalid_argument(
                "the first request of the stream has no node; set one in the client's bootstrap",
            ),
            Self::Protocol(error) => status(code_of_breach(error), &error.to_string()),
            Self::NotAdmitted(refusal) | Self::NoSource(refusal) => {
                status(code_of_refusal(refusal), refusal.reason())
            }
            Self::Drained { answered: false } => Status::unavailable("the server is shutting down"),
            Self::ResponseTooLong { len } => Status::resource_exhausted(format!(
                "a response of {len} bytes exceeds what a gRPC message can hold"
            )),
            Self::Panicked => Status::internal("the server failed to serve this stream"),
            Self::Aborted => Status::unavailable("the server stopped"),
        }
    }

    /// The status as it ends a response.
    pub(crate) fn trailers(&self) -> HeaderMap {
        let mut trailers = HeaderMap::new();
        if self.status().add_header(&mut trailers).is_err() {
            trailers.insert(
                Status::GRPC_STATUS,
                http::HeaderValue::from(Code::Internal as i32),
            );
        }
        trailers
    }
}

fn status(code: Code, text: &str) -> Status {
    Status::new(code, cut(text, MAX_TEXT))
}

fn code_of_unreadable(error: &RequestError) -> Code {
    match error {
        RequestError::Malformed { .. } | RequestError::NotText { .. } => Code::InvalidArgument,
        RequestError::TooLarge { .. }
        | RequestError::NodeTooLarge { .. }
        | RequestError::TooManyNames { .. } => Code::ResourceExhausted,
        RequestError::Framing(_) => Code::Internal,
    }
}

fn code_of_breach(error: &ProtocolError) -> Code {
    match error {
        ProtocolError::TooManyTypes { .. }
        | ProtocolError::TooManyNames { .. }
        | ProtocolError::NamesTooLong { .. } => Code::ResourceExhausted,
        _ => Code::InvalidArgument,
    }
}

fn code_of_refusal(refusal: &Refusal) -> Code {
    match refusal.kind() {
        RefusalKind::Invalid => Code::InvalidArgument,
        RefusalKind::Unauthenticated => Code::Unauthenticated,
        RefusalKind::Exhausted => Code::ResourceExhausted,
        RefusalKind::Unavailable => Code::Unavailable,
        // A kind that this version does not know is refused all the same.
        _ => Code::PermissionDenied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_reason_and_has_the_code_of_its_kind() {
        let table = [
            (RefusalKind::Invalid, Code::InvalidArgument),
            (RefusalKind::Unauthenticated, Code::Unauthenticated),
            (RefusalKind::Denied, Code::PermissionDenied),
            (RefusalKind::Exhausted, Code::ResourceExhausted),
            (RefusalKind::Unavailable, Code::Unavailable),
        ];
        for (kind, code) in table {
            let status = CloseReason::NotAdmitted(Refusal::new(kind, "because")).status();
            assert_eq!((status.code(), status.message()), (code, "because"));
        }
    }

    #[test]
    fn text_that_does_not_fit_a_header_is_escaped() {
        let reason = CloseReason::NotAdmitted(Refusal::denied("não\r\ngrpc-status: 0"));
        let trailers = reason.trailers();
        assert_eq!(trailers["grpc-status"], "7");
        assert_eq!(trailers["grpc-message"], "n%C3%A3o%0D%0Agrpc-status:%200");
    }

    #[test]
    fn text_that_quotes_the_client_is_bounded() {
        let error = ProtocolError::WrongType {
            expected: "t".into(),
            found: "x".repeat(1 << 20),
        };
        let status = CloseReason::Protocol(error).status();
        assert_eq!(status.message().len(), MAX_TEXT);
        assert!(status.message().starts_with("this service serves t, not"));
    }

    #[test]
    fn a_drained_stream_ends_well_only_if_it_was_answered() {
        let code = |answered| CloseReason::Drained { answered }.status().code();
        assert_eq!(code(true), Code::Ok);
        assert_eq!(code(false), Code::Unavailable);
    }
}
