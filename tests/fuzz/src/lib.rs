//! What the fuzzers run: for each way in which bytes of a peer or of a user come in, a function that takes any bytes and
//! panics where a law is broken.
//!
//! The laws stand here and not beside the fuzzer, so that they compile without one: `cargo test` runs each over its
//! seeds and some damaged copies of them. See `docs/testing.md`.

mod input;
mod names;
mod references;
mod resources;
mod schema;
mod seeds;
mod session;
mod wire;

pub use names::names;
pub use references::references;
pub use resources::resources;
pub use schema::schema;
pub use session::session;
pub use wire::{delta_request, node, sotw_request, stream};

/// A function to fuzz, and what to begin with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The name, which is also that of its fuzzer and of its corpus.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
    /// Inputs that mean something.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target {
        name: "sotw_request",
        run: sotw_request,
        seeds: seeds::sotw_requests,
    },
    Target {
        name: "delta_request",
        run: delta_request,
        seeds: seeds::delta_requests,
    },
    Target {
        name: "node",
        run: node,
        seeds: seeds::nodes,
    },
    Target {
        name: "stream",
        run: stream,
        seeds: seeds::streams,
    },
    Target {
        name: "session",
        run: session,
        seeds: seeds::sessions,
    },
    Target {
        name: "resources",
        run: resources,
        seeds: seeds::resources,
    },
    Target {
        name: "references",
        run: references,
        seeds: seeds::references,
    },
    Target {
        name: "schema",
        run: schema,
        seeds: seeds::references,
    },
    Target {
        name: "names",
        run: names,
        seeds: seeds::names,
    },
];
