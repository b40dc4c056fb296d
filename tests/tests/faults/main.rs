//! Faults that others shipped and that take several crates to show. The rest are beside the crates that must not have
//! them; `docs/known-faults.md` lists all.

mod coming_and_going;
mod observing;
mod plane;
mod publishing;
mod stalling;
