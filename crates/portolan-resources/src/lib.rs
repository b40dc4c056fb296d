//! The typed layer of the Portolan xDS control plane: between Envoy's messages and
//! [`Resource`](portolan_core::Resource)s.
//!
//! * [`TypedResource`] says of each message which type it is and what names it; [`AddTyped`] puts messages into a
//!   [`SnapshotBuilder`](portolan_core::SnapshotBuilder).
//! * [`EnvoyReferences`] reads what a resource refers to and when it is ready; [`inner_name`] and [`bound_addresses`]
//!   what it says of itself.
//! * [`build`] makes whole messages out of what a configuration is about, so that it takes lines, not pages. Each
//!   gives an ordinary message whose other fields are yours to set.
//!
//! ```
//! use portolan_core::{Snapshot, well_known};
//! use portolan_resources::{AddTyped, build};
//!
//! let mut snapshot = Snapshot::builder();
//! snapshot
//!     .add(&build::eds_cluster("web"))?
//!     .add(&build::assignment("web", ["10.0.0.1:80".parse()?]))?
//!     .add(&build::http_listener("ingress", "0.0.0.0:8080".parse()?, "routes"))?
//!     .add(&build::route_configuration("routes", [build::virtual_host("all", ["*"], [
//!         build::prefix_route("/", "web"),
//!     ])]))?;
//! let snapshot = snapshot.build();
//! assert!(snapshot.lookup(&well_known::CLUSTER, "web").present().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//! It judges nothing: a builder makes what it was asked for, and a message of your own goes in as it is.

pub mod build;
mod inner;
mod references;
mod typed;

pub use inner::{bound_addresses, inner_name};
pub use references::EnvoyReferences;
pub use typed::{AddTyped, TypedResource};
