//! What tests with real clients are made of: an Envoy, backends for its traffic, and a control plane that records.

mod backend;
mod control_plane;
mod envoy;
mod http;
mod recorder;
mod wait;

pub use backend::Backend;
pub use control_plane::TestControlPlane;
pub use envoy::{Bootstrap, Envoy, Held};
pub use http::{Reply, get, get_with};
pub use recorder::{Recorded, Recorder};
pub use wait::{WaitError, eventually};

/// What a test fails with.
pub type TestError = Box<dyn std::error::Error + Send + Sync>;
