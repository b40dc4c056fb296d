//! Transitions between publications: what leads to a cluster waits for it, and a cluster outlives what leads to it.

mod back;
mod bed;
mod claims;
mod model;
mod moves;
mod rules;
mod settling;
mod staying;
mod tables;
mod telling;
