//! The gRPC services, by hand: a generated one would encode each response anew for each stream.
//!
//! A service is a [`ServiceKind`]: a name, the methods it has, and the type it serves.

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use portolan_core::ResourceTypes;
use portolan_engine::{Scope, Variant};
use tonic::body::Body;
use tonic::server::NamedService;
use tower_service::Service;

use crate::panics::contain;
use crate::server::Shared;
use crate::status::Rejection;
use crate::stream::{Call, spawn};
use crate::wire::{Bounds, Requests};

/// One of the discovery services. Sealed: those of the protocol are all there are.
pub trait ServiceKind: sealed::ServiceKind + Send + Sync + 'static {}

#[expect(
    unnameable_types,
    reason = "sealed: the protocol has no other services"
)]
mod sealed {
    use portolan_core::ResourceTypes;
    use portolan_engine::{Scope, Variant};

    pub trait ServiceKind {
        /// Full name of the service.
        const NAME: &'static str;

        /// Its methods.
        const METHODS: &'static [(&'static str, Variant)];

        /// What its streams may carry.
        fn scope(types: &ResourceTypes) -> Scope;
    }
}

/// `envoy.service.discovery.v3.AggregatedDiscoveryService` (ADS).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Aggregated;

impl ServiceKind for Aggregated {}

impl sealed::ServiceKind for Aggregated {
    const NAME: &'static str = "envoy.service.discovery.v3.AggregatedDiscoveryService";
    const METHODS: &'static [(&'static str, Variant)] = &[
        ("StreamAggregatedResources", Variant::Sotw),
        ("DeltaAggregatedResources", Variant::Delta),
    ];

    fn scope(_: &ResourceTypes) -> Scope {
        Scope::Aggregated
    }
}

/// A discovery service, to be added to a tonic server. Methods that it does not have answer `UNIMPLEMENTED`.
pub struct DiscoveryService<K> {
    server: Arc<Shared>,
    kind: PhantomData<fn() -> K>,
}

impl<K: ServiceKind> DiscoveryService<K> {
    pub(crate) fn new(server: Arc<Shared>) -> Self {
        Self {
            server,
            kind: PhantomData,
        }
    }

    fn open(&self, request: Request<Body>) -> Result<Response<Body>, Rejection> {
        let variant = variant_of::<K>(request.uri().path()).ok_or(Rejection::NoSuchMethod)?;
        let config = &self.server.config;
        if config.disabled == Some(variant) {
            return Err(Rejection::VariantDisabled);
        }
        if is_compressed(request.headers()) {
            return Err(Rejection::Compressed);
        }
        let (head, body) = request.into_parts();
        let peer = contain("the peer extractor", || {
            config.peer.extract(&head.extensions)
        });
        let peer = peer.ok_or(Rejection::NoPeer)?;
        let place = self.server.take_place()?;
        let bounds = Bounds {
            size: config.max_request_size,
            names: self.server.session.limits().names(),
        };
        let requests = Requests::new(body, variant, bounds);
        let call = Box::new(Call {
            service: K::NAME,
            scope: K::scope(self.server.session.types()),
            variant,
            peer,
            head,
        });
        let body = spawn(Arc::clone(&self.server), place, call, requests);
        // The headers go out with this, before anything was read: some clients send their first request only when
        // they have them (C-011).
        let mut response = Response::new(body);
        let content_type = HeaderValue::from_static("application/grpc");
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
        Ok(response)
    }
}

/// The variant that a path stands for.
fn variant_of<K: ServiceKind>(path: &str) -> Option<Variant> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let mut methods = K::METHODS.iter();
    let found = methods.find(|(name, _)| service == K::NAME && method == *name)?;
    Some(found.1)
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers
        .get("grpc-encoding")
        .is_some_and(|encoding| encoding != "identity")
}

impl<K: ServiceKind, B> Service<Request<B>> for DiscoveryService<K>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.open(request.map(Body::new)).unwrap_or_else(
            |rejection| {
                tracing::debug!(%rejection, "no stream opened");
                rejection.status().into_http()
            },
        )))
    }
}

impl<K: ServiceKind> NamedService for DiscoveryService<K> {
    const NAME: &'static str = <K as sealed::ServiceKind>::NAME;
}

impl<K> Clone for DiscoveryService<K> {
    fn clone(&self) -> Self {
        Self {
            server: Arc::clone(&self.server),
            kind: PhantomData,
        }
    }
}

impl<K: ServiceKind> fmt::Debug for DiscoveryService<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(K::NAME).finish_non_exhaustive()
    }
}
