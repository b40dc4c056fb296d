//! Listening, on tonic's transport: what every server of many long streams needs, and tonic leaves to its user.
//!
//! None of it is needed to serve: a [`Routes`](tonic::service::Routes) works on any tonic or axum server. Each part
//! can be had by itself:
//!
//! - [`Incoming`] accepts connections;
//! - [`XdsServer::transport`](crate::XdsServer::transport) is a tonic server with HTTP/2 set up for discovery;
//! - [`XdsServer::serve`](crate::XdsServer::serve) puts both together, and ends when it is told to.

mod accept;
mod connection;
mod incoming;
mod serve;

pub use self::connection::{Connection, Connections};
pub use self::incoming::Incoming;
pub use self::serve::Serve;
pub(crate) use self::serve::tuned;
