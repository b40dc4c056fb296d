//! The publish loop against a cache in memory, in paused time.

#![expect(clippy::unwrap_used, reason = "the test bed fails a test by panicking")]

mod bed;
mod consistency;
mod failures;
mod flushing;
mod gates;
mod groups;
mod incremental;
mod memory_cache;
mod notices;
mod reports;
mod timing;
mod waiting;
