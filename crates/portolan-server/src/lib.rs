//! The wire of the Portolan xDS control plane: discovery services for a tonic server.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use portolan_core::Source;
//! use portolan_server::XdsServer;
//! use portolan_server::transport::Incoming;
//!
//! async fn serve(source: Arc<dyn Source>) -> Result<(), Box<dyn std::error::Error>> {
//!     let xds = XdsServer::builder(source).build();
//!     let interrupted = async {
//!         let _ = tokio::signal::ctrl_c().await;
//!     };
//!     xds.serve(Incoming::bind("[::1]:18000".parse()?)?)
//!         .until(interrupted)
//!         .await?;
//!     Ok(())
//! }
//! ```
//!
//! The services work as well on a tonic or axum server of your own, beside whatever else that serves: see
//! [below](#on-a-server-of-your-own).
//!
//! The crate knows no cache: it reads from a [`Source`](portolan_core::Source). It takes no protocol decision: those
//! are the [`Session`](portolan_engine::Session)'s, of which each stream has one.
//!
//! # How a stream works
//!
//! One task per stream owns the session, the requests and the timers. The response body is only the transport's
//! demand: when the transport wants something to send, the task computes one response from what the source holds at
//! that moment. A slow client therefore skips what it was too slow for, gets the newest when it reads, holds memory
//! for one response, and keeps nobody else waiting. What a response shares with those of other streams, the encoded
//! resources, is handed to the transport as it is, without a copy.
//!
//! A publisher only notes that something changed. One task per server, the announcer, wakes the streams concerned.
//!
//! # What one can see
//!
//! [`XdsServer::status`] tells what each node was sent, accepted and rejected, and which are not on the latest content.
//! With feature `metrics`, numbers go to the recorder of the `metrics` facade that you install. Each stream is a span of
//! `tracing`. [`Callbacks`] hear of everything as it happens.
//!
//! # What a client may do
//!
//! Whatever a client sends, only its own stream ends, and with a status that says why:
//!
//! | it | status |
//! |---|---|
//! | sends what is no request, or breaks a rule of the protocol | `INVALID_ARGUMENT` |
//! | exceeds a limit | `RESOURCE_EXHAUSTED` |
//! | breaks the gRPC framing | `INTERNAL` |
//! | calls a method that is not served, or compresses its requests | `UNIMPLEMENTED` |
//! | comes while the server is not ready or is shutting down | `UNAVAILABLE` |
//! | is refused by [`Admission`] or the source | as the refusal says |
//! | ceases to read | none: the stream is [reset](XdsServerBuilder::with_stall_after) |
//!
//! # On a server of your own
//!
//! Most of what keeps a server of many long streams in order is in the services, and works wherever they are added:
//! readiness, admission, limits, clients that cease to read, the maximum age of streams, health and reflection. The
//! rest is the transport's. [`XdsServer::serve`] has all of it; each part can be had by itself:
//!
//! | | [`serve`](XdsServer::serve) | on a tonic server of your own |
//! |---|---|---|
//! | no hot loop when file descriptors run out, `TCP_NODELAY`, TCP keep-alive, a limit on connections | yes | [`Incoming`](transport::Incoming) with `serve_with_incoming` |
//! | HTTP/2 keep-alive, windows, calls per connection | yes | [`XdsServer::transport`] instead of `Server::builder` |
//! | connections that end when their streams have reached their age | yes | [`XdsServer::transport`], or `max_connection_age` without a grace |
//! | streams that end when the server is told to stop | yes | [`XdsServer::drain_after`] as the signal of `serve_with_shutdown` |
//! | an end that no client can hold up | yes | a deadline of your own, then [`Connections::close`](transport::Connections::close) |
//! | TLS | [`with_transport`](transport::Serve::with_transport) | tonic's `tls_config`, or [`with_peer`](XdsServerBuilder::with_peer) for another |
//! | other services beside | [`with_routes`](transport::Serve::with_routes) | `add_routes`, `add_service` |
//!
//! For axum, `xds.routes().into_axum_router()` is a router to merge or to serve; it needs HTTP/2.
//!
//! ## Traps in tonic's server
//!
//! - Graceful shutdown waits for streams, which do not end by themselves, and so do calls of the health service of
//!   `tonic-health` itself, unlike those of [`XdsServer::health`](#features).
//! - HTTP/2 keep-alive is off by default: a client whose host has vanished stays for as long as the kernel retries.
//! - `max_connection_age` does not end open streams, and together with `max_connection_age_grace` it cuts the
//!   connection without a GOAWAY.
//! - `timeout`, `concurrency_limit_per_connection` and `load_shed` end with the response's headers, which here are
//!   sent at once. [`XdsServerBuilder::with_max_streams`] bounds streams.
//! - A TLS handshake may take for ever, unless `ServerTlsConfig::timeout` is set.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `health` | `XdsServer::health`: the gRPC health service, tied to readiness |
//! | `metrics` | metrics through the `metrics` facade |
//! | `reflection` | `reflection`: the gRPC reflection service, with the schema of the xDS APIs |
//! | `tls-ring`, `tls-aws-lc` | the peer's certificates, from connections that tonic's own TLS accepted |

mod admission;
mod announcer;
mod callbacks;
mod close_reason;
mod config;
#[cfg(feature = "health")]
mod health;
mod notice;
mod observe;
mod of_node;
mod panics;
mod peer;
#[cfg(feature = "reflection")]
mod reflection;
mod server;
pub mod service;
mod shutdown;
mod spread;
mod status;
mod stream;
mod text;
mod transitions_for;
pub mod transport;
mod unsettled;
mod wire;

pub use portolan_engine::{
    ClientFeatures, Emptiness, Event, Limits, ProtocolError, Reason, Release, Retention, SafeTimes,
    SessionConfig, Transitions, TtlPolicy, Variant,
};

pub use crate::admission::{Admission, AdmissionRequest, BoxFuture};
pub use crate::callbacks::{Callbacks, RequestInfo, ResponseInfo};
pub use crate::close_reason::CloseReason;
pub use crate::config::XdsServerBuilder;
#[cfg(feature = "health")]
pub use crate::health::ServerHealth;
pub use crate::observe::{
    NodeStatus, RejectionStatus, ResponseStatus, RetainedStatus, StatusRegistry, StreamStatus,
    TransitionStatus, TurnInfo, TurnOutcome, TypeStatus, WithheldStatus,
};
#[cfg(feature = "reflection")]
pub use crate::reflection::reflection;
pub use crate::server::XdsServer;
pub use crate::service::{DiscoveryService, Method};
pub use crate::stream::StreamInfo;
pub use crate::wire::RequestError;
