//! Every example is run, and the README tells of each.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its fixtures too"
)]

mod check;
mod program;
mod programs;
mod quickstart;
mod readme;
