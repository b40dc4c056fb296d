use std::fmt::Debug;
use std::pin::Pin;

use http::{Extensions, HeaderMap};
use portolan_core::{Node, Peer, Refusal};
use portolan_engine::Variant;

use crate::{Method, RequestInfo};

/// A future that an object-safe trait returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Decides whether a stream is served.
///
/// Asked once per stream: after its first message was read, because only that says which node it is, and before the
/// source is opened, so that a stream that is refused has been sent nothing and left nothing behind (C-022). With
/// [`with_admission_per_request`](crate::XdsServerBuilder::with_admission_per_request) it is asked again for each
/// further request. While it decides, no other request of the stream is read and nothing is sent on it, so it should
/// decide soon. A panic ends the stream.
///
/// ```
/// use portolan_core::Refusal;
/// use portolan_server::{Admission, AdmissionRequest, BoxFuture};
///
/// /// The node must be the one that the client's certificate is for.
/// #[derive(Debug)]
/// struct OwnNodeOnly;
///
/// impl Admission for OwnNodeOnly {
///     fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
///         Box::pin(async move {
///             match request.peer().identity() {
///                 Some(identity) if identity == request.node().id() => Ok(()),
///                 _ => Err(Refusal::denied("the node's id is not the certificate's")),
///             }
///         })
///     }
/// }
/// ```
pub trait Admission: Debug + Send + Sync {
    /// Admits a stream, or a further request of one.
    ///
    /// # Errors
    /// A refusal ends the stream with the refusal's reason as text and a code by its kind: `INVALID_ARGUMENT`,
    /// `UNAUTHENTICATED`, `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED` or `UNAVAILABLE`.
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>>;
}

/// A stream that wants to be admitted, or a request of one.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    pub(crate) service: &'static str,
    pub(crate) method: Method,
    pub(crate) peer: &'a Peer,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) extensions: &'a Extensions,
    pub(crate) node: &'a Node,
    pub(crate) request: RequestInfo<'a>,
}

impl<'a> AdmissionRequest<'a> {
    /// Full name of the gRPC service.
    #[must_use]
    pub fn service(&self) -> &'static str {
        self.service
    }

    /// The method that was called.
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
    pub fn peer(&self) -> &'a Peer {
        self.peer
    }

    /// The request's metadata.
    #[must_use]
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What transport, interceptors and layers attached to the request.
    #[must_use]
    pub fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// What the client said of itself in the first request of the stream. The encoded form is there when that request
    /// is decided about, and not later.
    #[must_use]
    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// The request that is to be admitted: its type, and how many names it has.
    #[must_use]
    pub fn request(&self) -> &RequestInfo<'a> {
        &self.request
    }
}
