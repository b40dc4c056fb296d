//! What other control planes shipped and had to mend: each fault is a test of its own, named after its number.
//!
//! The scenarios are those of `docs/known-faults.md`, which says where each is proved. Sessions read from a snapshot
//! cache, as they do in a server.

mod ads;
mod api;
mod bed;
mod cache;
mod clients;
mod delta;
mod linear;
mod mux;
mod sotw;
mod ttl;
