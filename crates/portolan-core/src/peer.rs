use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;

/// Who is at the other end of a connection, as the transport knows it. Unlike a [`Node`](crate::Node), a client
/// cannot make it up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    address: Option<SocketAddr>,
    certificates: Arc<[Bytes]>,
    identity: Option<Arc<str>>,
}

impl Peer {
    /// A peer of whom nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self::default()
    }

    /// Sets the address.
    #[must_use]
    pub fn with_address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Sets the verified certificate chain, DER-encoded, the peer's own first.
    #[must_use]
    pub fn with_certificates(mut self, chain: impl IntoIterator<Item = Bytes>) -> Self {
        self.certificates = chain.into_iter().collect();
        self
    }

    /// Sets a name established by whoever authenticated the connection, such as a SPIFFE id.
    #[must_use]
    pub fn with_identity(mut self, identity: impl Into<Arc<str>>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// The address, where the transport has one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The verified certificate chain; empty without mutual TLS.
    #[must_use]
    pub fn certificates(&self) -> &[Bytes] {
        &self.certificates
    }

    /// The authenticated name, where somebody established one.
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }
}
