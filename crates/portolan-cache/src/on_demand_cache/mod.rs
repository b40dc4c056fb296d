//! Snapshots of which some names are resolved when somebody names them.

mod cache;
mod driver;
mod limits;
mod names;
mod queue;
mod reader;
mod resolution;
mod resolutions;
mod store;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub use self::cache::OnDemandCache;
pub use self::driver::{Clock, Resolver};
pub use self::limits::OnDemandLimits;
pub use self::reader::OnDemandCacheReader;
pub use self::resolution::{Keep, Resolution, Wanted};
pub use self::resolutions::{Resolutions, Step, Ticket};
pub use self::writer::OnDemandCacheWriter;
