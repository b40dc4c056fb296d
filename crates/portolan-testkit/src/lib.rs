//! Tests xDS control planes without sockets, sleeps or real time.
//!
//! A [`Pair`] joins a [`Client`] and a protocol session in one thread, under a virtual clock. The clients are machines
//! without I/O: [`EnvoyClient`] and [`GrpcClient`] behave as the real ones do, and expose what they hold and serve;
//! [`PlainClient`] does what the test says. What was said is kept as a [`Transcript`] that can be compared with
//! literal text, and slow readers, withheld acknowledgements, latency, lost streams and rejections are knobs.
//!
//! Resources are [fixtures](fixture) with a few words for a body. They come from any
//! [`Source`](portolan_core::Source): a cache, or a [`Shelf`] that has one publication for everybody.
//!
//! ```
//! use std::time::Duration;
//!
//! use portolan_core::well_known::{CLUSTER, ENDPOINT};
//! use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, Shelf, fixture};
//!
//! let shelf = Shelf::new();
//! shelf.put([fixture::cluster("a"), fixture::endpoints("a", "10.0.0.1")]);
//! shelf.put([fixture::tcp_listener("l")]);
//!
//! let mut pair = Pair::new(EnvoyClient::new(EnvoyMux::Legacy), &shelf);
//! pair.drive();
//! pair.expect([
//!     "> CDS [] v= n=",
//!     "< CDS v1 n1 [a]",
//!     "> EDS [a] v= n=",
//!     "< EDS v1 n2 [a]",
//!     "> ACK CDS n1",
//!     "> LDS [] v= n=",
//!     "< LDS v1 n3 [l]",
//!     "> ACK EDS n2",
//!     "> ACK LDS n3",
//! ]);
//!
//! // A cluster without endpoints warms until the client's patience ends.
//! shelf.put([fixture::cluster("b")]);
//! pair.drive();
//! assert_eq!(pair.client.warming_clusters().len(), 1);
//! pair.advance(Duration::from_secs(15));
//! assert!(pair.client.clusters().contains_key("b"));
//! ```
//!
//! The rules of the protocol are [cases](conformance) that run against any source.
//!
//! # What this crate does not do
//! It knows no protobuf and no gRPC, and so tests no encoding and no transport. Two features are apart from all this.
//! With `testbed`, module `testbed`, and a binary of that name, are a control plane on the wire that outside conformance
//! harnesses drive; with `envoy-gate`, module `envoy_gate` asks a real Envoy whether it would take a snapshot.

mod client;
pub mod conformance;
#[cfg(feature = "envoy-gate")]
pub mod envoy_gate;
pub mod fixture;
mod pair;
mod shelf;
#[cfg(feature = "testbed")]
pub mod testbed;
mod transcript;

pub use client::{Client, EnvoyClient, EnvoyMux, GrpcClient, PlainClient};
pub use pair::{Pair, Setup};
pub use shelf::Shelf;
pub use transcript::Transcript;
