//! The gRPC services, by hand: generated ones would encode each response anew for each stream.
//!
//! [`XdsServer::routes`](crate::XdsServer::routes) has all of them; [`XdsServer::service`](crate::XdsServer::service)
//! makes one, of a kind:
//!
//! | kind | serves | stream | delta | fetch |
//! |---|---|---|---|---|
//! | [`Ads`] | any type | x | x | |
//! | [`Lds`] | listeners | x | x | x |
//! | [`Rds`] | route tables | x | x | x |
//! | [`Srds`] | scoped routes | x | x | x |
//! | [`Vhds`] | virtual hosts | | x | |
//! | [`Cds`] | clusters | x | x | x |
//! | [`Eds`] | endpoints of clusters | x | x | x |
//! | [`Leds`] | endpoints of localities | | x | |
//! | [`Sds`] | secrets | x | x | x |
//! | [`Rtds`] | runtime layers | x | x | x |
//! | [`Ecds`] | extension configurations | x | x | x |
//! | [`Rls`] | the rate limit service's configuration | x | | x |
//!
//! A method that a service does not have, or whose variant the server was built without, answers `UNIMPLEMENTED`, and
//! so does a service that was not added (C-036).

mod kind;

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use portolan_engine::Scope;
use tonic::body::Body;
use tonic::server::NamedService;
use tower_service::Service;

#[cfg(any(feature = "health", feature = "reflection"))]
pub(crate) use self::kind::NAMES;
pub use self::kind::{
    Ads, Cds, Ecds, Eds, Lds, Leds, Method, Rds, Rls, Rtds, Sds, ServiceKind, Srds, Vhds,
};
pub(crate) use self::kind::{Description, all};
use crate::panics::contain;
use crate::server::Shared;
use crate::status::Rejection;
use crate::stream::{Call, spawn};
use crate::wire::{Bounds, Requests};

/// A discovery service, to be added to a tonic server.
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
}

/// Opens a stream. The headers of the response are there before anything was read of the request: some clients send
/// their first request only when they have them (C-011).
fn open(
    server: &Arc<Shared>,
    service: &Description,
    request: Request<Body>,
) -> Result<Response<Body>, Rejection> {
    let method = service
        .method(request.uri().path())
        .ok_or(Rejection::NoSuchMethod)?;
    let config = &server.config;
    if config.disabled == Some(method.variant()) {
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
    let place = server.take_place()?;
    let bounds = Bounds {
        size: config.max_request_size,
        names: server.session.limits().names(),
    };
    let requests = Requests::new(body, method.variant(), bounds);
    let call = Box::new(Call {
        service: service.name,
        method,
        scope: match &service.type_url {
            Some(type_url) => Scope::Single(server.session.types().get(type_url)),
            None => Scope::Aggregated,
        },
        peer,
        head,
    });
    let mut response = Response::new(spawn(Arc::clone(server), place, call, requests));
    let content_type = HeaderValue::from_static("application/grpc");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    Ok(response)
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
        let service = Description::of::<K>();
        let opened = open(&self.server, &service, request.map(Body::new));
        ready(Ok(opened.unwrap_or_else(|rejection| {
            tracing::debug!(service = K::NAME, %rejection, "no stream opened");
            rejection.status().into_http()
        })))
    }
}

impl<K: ServiceKind> NamedService for DiscoveryService<K> {
    const NAME: &'static str = K::NAME;
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
