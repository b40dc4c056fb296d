//! The wire, through the public API alone.
//!
//! Most tests call the service as a transport would, without one: what is polled and when is then in the test's hand,
//! and time is tokio's paused clock. Those in `http2` go through tonic's server, in memory and on the paused clock; those
//! in `loopback`, `transport` and `mtls` through TCP as well.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admission;
mod client;
mod faults;
mod fetch;
mod health;
mod http2;
mod lifecycle;
mod logs;
mod loopback;
#[cfg(feature = "metrics")]
mod metrics;
mod mtls;
mod nodes;
mod observers;
mod parameters;
mod patience;
mod reflection;
mod requests;
mod responses;
mod schema;
mod services;
mod source;
mod status;
mod transitions;
mod transport;
mod ttl;
mod turns;
