//! The conformance cases over HTTP/2, against the services as users register them.
//!
//! Client and server share a thread and a clock that stands still while anybody has something to do, so that silence
//! costs no time. What only a simulation has, such as a client that does not read, is left out.

mod bed;
mod messages;
mod services;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use portolan_testkit::conformance::{self, Run};

use crate::bed::WireBed;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runs = conformance::runs(conformance::cases());
    let simulated = |run: &Run| run.case().is_only_simulated();
    let trials = runs.into_iter().filter(|run| !simulated(run));
    let trials = trials.filter(|run| services::path(&run.plan()).is_some());
    let trials = trials.map(|run| Trial::test(format!("wire::{run}"), move || play(&run)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn play(run: &Run) -> Result<(), Failed> {
    run.play(&mut WireBed::new(run.plan())?)?;
    Ok(())
}
