//! Collections of a given size and streams that have all of them, to count what one more change or request costs.
//!
//! Nothing here tells the time: what is counted comes out the same on every run.

mod client;
mod clusters;
mod collection;
mod linear;
mod mux;
mod stream;

pub use client::{Client, Wants};
pub use clusters::{Clusters, cluster};
pub use collection::Collection;
pub use linear::Linear;
pub use mux::Mux;
pub use stream::Stream;
