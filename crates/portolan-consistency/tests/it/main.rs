//! What is found in snapshots, and what is not.

mod again;
mod declared;
mod kinds;
mod references;
mod schema;
mod world;
