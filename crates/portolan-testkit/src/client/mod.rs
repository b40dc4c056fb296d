//! Clients as machines without I/O: told what came and what time it is, asked what to send.

mod envoy;
mod grpc;
mod mux;
mod plain;
mod taste;

use std::fmt::Debug;
use std::time::Duration;

use portolan_engine::{Request, Response, Variant};

pub use self::envoy::{EnvoyClient, EnvoyMux};
pub use self::grpc::GrpcClient;
pub use self::plain::PlainClient;

/// A client that a [`Pair`](crate::Pair) can drive. Like the session at the other end it has no clock of its own.
pub trait Client: Debug {
    /// The variant that it speaks.
    fn variant(&self) -> Variant;

    /// A new stream is open. What was queued for the old one is void, and so are the old one's nonces.
    fn handle_connected(&mut self, now: Duration);

    /// A response came.
    fn handle_response(&mut self, now: Duration, response: &Response);

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Duration) {}

    /// The next request to send.
    fn poll_request(&mut self) -> Option<Request>;

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing else happens before.
    fn poll_timeout(&self) -> Option<Duration> {
        None
    }
}
