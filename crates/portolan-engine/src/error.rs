use alloc::string::String;

use portolan_core::TypeUrl;

use crate::Variant;

/// What a client did that ends its stream. The fault is the client's; the session answers every later call with the
/// same error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A request on an aggregated stream does not say which type it is about (C-039).
    #[error("type_url is empty; on an aggregated stream each request must name its type")]
    EmptyTypeUrl,
    /// A request on a single-type stream is about another type (C-038).
    #[error("this service serves {expected}, not {found:?}")]
    WrongType {
        /// Type of the service.
        expected: TypeUrl,
        /// Type of the request.
        found: String,
    },
    /// A request of the other variant.
    #[error("a {found:?} request on a {expected:?} stream")]
    WrongVariant {
        /// Variant of the stream.
        expected: Variant,
        /// Variant of the request.
        found: Variant,
    },
    /// A text that must be UTF-8 is not, or a name holds a NUL.
    #[error("{field} of a request for {type_url} is not valid UTF-8, or holds a NUL")]
    InvalidText {
        /// Type of the request.
        type_url: TypeUrl,
        /// Field of the request.
        field: &'static str,
    },
    /// More types than [`Limits::with_types`](crate::Limits::with_types).
    #[error("more than {max} types on one stream")]
    TooManyTypes {
        /// The limit.
        max: usize,
    },
    /// More names than [`Limits::with_names`](crate::Limits::with_names).
    #[error("more than {max} {field} on one stream, in a request for {type_url}")]
    TooManyNames {
        /// Type of the request that exceeded the limit.
        type_url: TypeUrl,
        /// Field of the request.
        field: &'static str,
        /// The limit.
        max: usize,
    },
    /// Names of more bytes in all than [`Limits::with_name_bytes`](crate::Limits::with_name_bytes).
    #[error(
        "names of more than {max} bytes on one stream, with {field} of a request for {type_url}"
    )]
    NamesTooLong {
        /// Type of the request that exceeded the limit.
        type_url: TypeUrl,
        /// Field of the request.
        field: &'static str,
        /// The limit.
        max: usize,
    },
    /// A type URL that is longer than any could be.
    #[error("type_url has {len} bytes; more than {max} are not accepted")]
    TypeUrlTooLong {
        /// Its length.
        len: usize,
        /// The limit.
        max: usize,
    },
}
