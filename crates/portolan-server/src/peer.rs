//! Who is at the other end, read from what the transport left in the request's extensions.

use std::fmt;
use std::sync::Arc;

use http::Extensions;
use portolan_core::Peer;
use tonic::transport::server::TcpConnectInfo;

/// How a [`Peer`] is made of a request's extensions.
#[derive(Clone)]
pub(crate) struct PeerExtractor(Arc<dyn Fn(&Extensions) -> Peer + Send + Sync>);

impl PeerExtractor {
    pub(crate) fn new(extract: impl Fn(&Extensions) -> Peer + Send + Sync + 'static) -> Self {
        Self(Arc::new(extract))
    }

    pub(crate) fn extract(&self, extensions: &Extensions) -> Peer {
        (self.0)(extensions)
    }
}

impl Default for PeerExtractor {
    fn default() -> Self {
        Self::new(from_transport)
    }
}

impl fmt::Debug for PeerExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerExtractor")
    }
}

/// What tonic's own transports know.
fn from_transport(extensions: &Extensions) -> Peer {
    #[cfg(any(feature = "tls-aws-lc", feature = "tls-ring"))]
    if let Some(peer) = from_tls(extensions) {
        return peer;
    }
    with_address(Peer::unknown(), extensions.get::<TcpConnectInfo>())
}

#[cfg(any(feature = "tls-aws-lc", feature = "tls-ring"))]
fn from_tls(extensions: &Extensions) -> Option<Peer> {
    use bytes::Bytes;
    use tonic::transport::server::TlsConnectInfo;

    let info = extensions.get::<TlsConnectInfo<TcpConnectInfo>>()?;
    let peer = with_address(Peer::unknown(), Some(info.get_ref()));
    let Some(chain) = info.peer_certs() else {
        return Some(peer);
    };
    let chain = chain
        .iter()
        .map(|certificate| Bytes::copy_from_slice(certificate));
    Some(peer.with_certificates(chain))
}

fn with_address(peer: Peer, info: Option<&TcpConnectInfo>) -> Peer {
    match info.and_then(TcpConnectInfo::remote_addr) {
        Some(address) => peer.with_address(address),
        None => peer,
    }
}
