//! The wire of the Portolan xDS control plane: discovery services for a tonic server.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use portolan_core::Source;
//! use portolan_server::XdsServer;
//! use tonic::transport::Server;
//!
//! async fn serve(source: Arc<dyn Source>) -> Result<(), Box<dyn std::error::Error>> {
//!     let xds = XdsServer::builder(source).build();
//!     let interrupted = async {
//!         let _ = tokio::signal::ctrl_c().await;
//!     };
//!     Server::builder()
//!         .http2_keepalive_interval(Some(Duration::from_secs(30)))
//!         .add_routes(xds.routes())
//!         .serve_with_shutdown("[::1]:18000".parse()?, xds.drain_after(interrupted))
//!         .await?;
//!     Ok(())
//! }
//! ```
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
//!
//! # Traps in tonic's server
//!
//! - Graceful shutdown waits for streams, which do not end by themselves: [`XdsServer::drain_after`].
//! - HTTP/2 keep-alive is off by default. Without `http2_keepalive_interval` a client whose host has vanished stays
//!   for as long as the kernel retries.
//! - `max_connection_age` does not end open streams, and together with `max_connection_age_grace` it cuts the
//!   connection without a GOAWAY.
//! - `timeout`, `concurrency_limit_per_connection` and `load_shed` end with the response's headers, which here are
//!   sent at once. [`XdsServerBuilder::with_max_streams`] bounds streams.

mod admission;
mod announcer;
mod callbacks;
mod close_reason;
mod config;
mod notice;
mod observe;
mod panics;
mod peer;
mod server;
pub mod service;
mod shutdown;
mod spread;
mod status;
mod stream;
mod text;
pub mod transport;
mod unsettled;
mod wire;

pub use portolan_engine::{Event, Limits, ProtocolError, Reason, SessionConfig, Variant};

pub use crate::admission::{Admission, AdmissionRequest, BoxFuture};
pub use crate::callbacks::{Callbacks, RequestInfo, ResponseInfo};
pub use crate::close_reason::CloseReason;
pub use crate::config::XdsServerBuilder;
pub use crate::observe::{
    NodeStatus, RejectionStatus, ResponseStatus, StatusRegistry, StreamStatus, TurnInfo,
    TurnOutcome, TypeStatus,
};
pub use crate::server::XdsServer;
pub use crate::service::{DiscoveryService, Method};
pub use crate::stream::StreamInfo;
pub use crate::wire::RequestError;
