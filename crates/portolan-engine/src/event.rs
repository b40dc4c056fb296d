use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

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
    /// A resource leads to a cluster that is not ready, and did not before: it is shown as before, or not at all, until
    /// the cluster is ready or its time is up. Told once per wait. See [`Transitions::Safe`](crate::Transitions::Safe).
    Withheld {
        /// Its type.
        type_url: TypeUrl,
        /// Its name.
        name: Name,
        /// The cluster.
        awaits: Name,
    },
    /// A resource that was withheld goes now.
    Permitted {
        /// Its type.
        type_url: TypeUrl,
        /// Its name.
        name: Name,
        /// How long it waited.
        waited: Duration,
        /// Whether nothing is left to wait for, be it that the client does not ask for all clusters any more; otherwise its
        /// time was up.
        ready: bool,
    },
    /// Resources that are gone stay for this client.
    Retained {
        /// Their type.
        type_url: TypeUrl,
        /// Their names.
        names: Vec<Name>,
        /// Why.
        because: Retention,
    },
    /// Resources that stayed though they were gone do so no longer.
    Released {
        /// Their type.
        type_url: TypeUrl,
        /// Their names.
        names: Vec<Name>,
        /// Why.
        because: Release,
    },
    /// Clusters that the client has, or is led to, have no endpoints: what is sent to them fails. That is taken for meant,
    /// and nothing waits for it to end. Told once per change. See [`Transitions::Safe`](crate::Transitions::Safe).
    Empty {
        /// Their type.
        type_url: TypeUrl,
        /// Their names.
        names: Vec<Name>,
        /// What made it so.
        because: Emptiness,
    },
}

/// What made clusters of a client fail what is sent to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Emptiness {
    /// Assignments without endpoints were sent for them.
    Assigned,
    /// Something leads to them that goes now, and did not before.
    Referenced,
}

/// Why resources that are gone stay for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// What may lead to them changes, and the client has not accepted that yet.
    Changing,
    /// The client rejected what may lead to them, and goes on with what it has.
    Rejected,
    /// The client asks for them, or for what leads to them, although no listener does any more: connections drain.
    Subscribed,
}

/// Why resources that stayed for a client do so no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Release {
    /// The client accepted that nothing leads to them, some time ago.
    Accepted,
    /// The client said nothing for too long.
    Silence,
    /// They are there again.
    Wanted,
    /// The client does not ask for all clusters any more, and what it has is not followed.
    Unfollowed,
}
