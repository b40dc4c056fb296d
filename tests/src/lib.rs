//! What tests are made of that take several crates: an Envoy, backends for its traffic, a control plane that records, and
//! clients in this process.

mod backend;
mod client;
mod control_plane;
mod envoy;
mod http;
mod recorder;
mod wait;

pub use backend::Backend;
pub use client::{Delta, Sotw, Stream};
pub use control_plane::TestControlPlane;
pub use envoy::{Bootstrap, Envoy, Held};
pub use http::{Reply, get, get_with};
pub use recorder::{Recorded, Recorder};
pub use wait::{WaitError, eventually};

/// What a test fails with.
pub type TestError = Box<dyn std::error::Error + Send + Sync>;
