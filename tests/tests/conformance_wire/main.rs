//! The conformance cases over HTTP/2, against the services as users register them.
//!
//! Client and server share a thread and a clock that stands still while anybody has something to do, so that silence
//! costs no time. Runs whose client ceases to read are left out: how much a transport has taken by then is its own
//! affair.

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
    let trials = runs.into_iter().filter(|run| !run.has_slow_reader());
    let trials = trials.filter(|run| services::path(&run.plan()).is_some());
    let trials = trials.map(|run| Trial::test(format!("wire::{run}"), move || play(&run)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn play(run: &Run) -> Result<(), Failed> {
    run.play(&mut WireBed::new(run.plan())?)?;
    Ok(())
}
