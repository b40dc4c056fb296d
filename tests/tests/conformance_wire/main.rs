//! The conformance cases over HTTP/2, against the services as users register them: on a snapshot cache, and on two that are
//! served as one.
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

use crate::bed::{Store, WireBed};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runs = conformance::runs(conformance::cases());
    let trials = runs.into_iter().filter(|run| !run.has_slow_reader());
    let trials = trials.filter(|run| services::path(&run.plan()).is_some());
    let stores = [
        ("wire", Store::Snapshots),
        ("wire_mux_union", Store::Unions),
    ];
    let trials = trials.flat_map(|run| {
        stores.map(|(name, store)| {
            let run = run.clone();
            Trial::test(format!("{name}::{run}"), move || play(&run, store))
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn play(run: &Run, store: Store) -> Result<(), Failed> {
    run.play(&mut WireBed::new(run.plan(), store)?)?;
    Ok(())
}
