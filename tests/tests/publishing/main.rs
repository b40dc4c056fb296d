//! The publish loop, the snapshot cache and protocol sessions together, in virtual time; and once over the wire.

#![expect(clippy::unwrap_used, reason = "the test bed fails a test by panicking")]

mod bed;
mod consistency;
mod extents;
mod last_good;
mod reclaim;
mod waiting;
mod wire;
