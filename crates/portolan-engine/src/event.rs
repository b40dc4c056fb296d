use alloc::string::String;
use alloc::vec::Vec;

use portolan_core::{Generation, Name, TypeUrl, Version};

use crate::{Nonce, Variant};

/// What happened in a session, for whoever watches it. Events change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A client's interest in a type changed.
    Interest {
        /// The type.
        type_url: TypeUrl,
        /// Names that are wanted now and were not before.
        added: Vec<Name>,
        /// Names that are not wanted any more.
        removed: Vec<Name>,
        /// Whether everything is wanted.
        wildcard: bool,
    },
    /// A client accepted a response.
    Acked {
        /// The type.
        type_url: TypeUrl,
        /// The response.
        nonce: Nonce,
        /// Version that it carried.
        version: Version,
        /// Publication that it was made from.
        generation: Generation,
    },
    /// A client rejected a response, in whole or in part. Told once per response (C-110).
    Nacked {
        /// The type.
        type_url: TypeUrl,
        /// The response.
        nonce: Nonce,
        /// Version that it carried.
        version: Version,
        /// Publication that it was made from.
        generation: Generation,
        /// Code that the client chose; any, 0 included.
        code: i32,
        /// The client's reason, control characters escaped, cut to [`Limits::with_nack_text`](crate::Limits::with_nack_text).
        message: String,
        /// Whether another answer of the type had been sent already. Parts of one answer do not overtake each other.
        stale: bool,
    },
    /// A request carried a nonce that is not that of the newest response. Its names count; nothing else of it does.
    StaleNonce {
        /// The type.
        type_url: TypeUrl,
        /// The nonce as sent, cut to 64 bytes.
        nonce: String,
    },
    /// A client asked for a type that nobody registered.
    UnregisteredType {
        /// The type.
        type_url: TypeUrl,
    },
    /// A client asked for a type that its variant of the protocol does not have (C-048). It gets no answer.
    UnsupportedVariant {
        /// The type.
        type_url: TypeUrl,
        /// The variant.
        variant: Variant,
    },
    /// A client that was sent everything named something, which ends the wildcard in state of the world (C-062).
    /// With Envoy this is a sign of on-demand clusters over state of the world, which delete all others.
    WildcardDropped {
        /// The type.
        type_url: TypeUrl,
    },
    /// Nothing is left to say of a publication, and everything that was said is acknowledged or rejected. Told once for
    /// each publication that the client settles on, and again when whether it rejects some of it changes.
    Settled {
        /// The publication.
        generation: Generation,
        /// Whether the client rejected some of what it was sent, and nothing has taken its place since.
        rejecting: bool,
    },
    /// A response is larger than responses are to be, and cannot be cut: it holds one resource, or its type must come as a
    /// whole. It is sent. Clients of gRPC drop the stream, again and again, when a message exceeds their limit.
    Oversized {
        /// The type.
        type_url: TypeUrl,
        /// The response.
        nonce: Nonce,
        /// Its length in bytes, a little more than it is.
        len: usize,
    },
    /// More responses wait for their acknowledgement than are remembered; the oldest is taken for accepted.
    AssumedAccepted {
        /// The type.
        type_url: TypeUrl,
        /// The response.
        nonce: Nonce,
    },
    /// A change waits for the previous response of its type to be read. Told once per wait, whatever else is published
    /// meanwhile.
    Held {
        /// The type.
        type_url: TypeUrl,
    },
    /// A change waited the longest it may for the previous response of its type to be read, and goes now.
    UnreadTooLong {
        /// The type.
        type_url: TypeUrl,
        /// The response that nobody acknowledged.
        nonce: Nonce,
    },
}
