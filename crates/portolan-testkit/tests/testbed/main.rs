//! The testbed on the wire: the adapter's service, what clients are served, and the binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod binary;
mod client;
mod contract;
mod refusals;
mod served;

/// The client's side of the adapter, made from the same schema.
#[path = "../../src/testbed/generated/adapter.rs"]
#[rustfmt::skip]
#[allow(dead_code, missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::exhaustive_structs, clippy::too_many_lines, clippy::use_self, reason = "generated as is")]
mod generated;
