use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portolan_core::{Node, Peer};
use portolan_engine::Variant;

use super::meter::Meter;
use crate::Method;

/// What is known of a stream.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    id: u64,
    service: &'static str,
    method: Method,
    peer: Peer,
    node: Option<Arc<Node>>,
    meter: Arc<Meter>,
}

impl StreamInfo {
    pub(crate) fn new(
        service: &'static str,
        method: Method,
        peer: Peer,
        meter: Arc<Meter>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            service,
            method,
            peer,
            node: None,
            meter,
        }
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn set_node(&mut self, node: Arc<Node>) {
        self.node = Some(node);
    }

    /// A number that no other stream of the process has, whichever service, variant and server it is of.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Full name of the gRPC service.
    #[must_use]
    pub fn service(&self) -> &'static str {
        self.service
    }

    /// The method that was called. A call of [`Method::Fetch`] is a stream of one request and one response.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The variant of the protocol, by the method.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.method.variant()
    }

    /// What the transport knows of the client.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What the client said of itself in its first request, without the encoded form; `None` before that. It never
    /// changes (C-005).
    #[must_use]
    pub fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }

    /// Bytes of responses that were handed to the transport and that it has not written. They do not grow beyond the
    /// responses that it asked for; that they do not shrink either means that the client has ceased to read.
    #[must_use]
    pub fn bytes_in_flight(&self) -> u64 {
        self.meter.in_flight()
    }
}
