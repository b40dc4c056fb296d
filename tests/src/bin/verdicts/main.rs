//! Asks a real Envoy and our checks about the same configurations, and compares what they say.
//!
//! ```text
//! cargo xtask interop
//! ```
//!
//! What each says of a configuration stands with it, in `cases/`; those that the builders make Envoy must accept.

mod built;
mod case;
mod configuration;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clap::Parser;
use portolan::consistency::schema::Validator;
use portolan::consistency::{Checks, FindingKind, Severity};
use portolan::core::Snapshot;
use portolan::resources::EnvoyReferences;
use portolan_testkit::envoy_gate::{EnvoyGate, Verdict};

use crate::case::{Case, Envoys, Ours};

/// Compares our checks with a real Envoy.
#[derive(Debug, Parser)]
struct Args {
    /// The Envoy to ask.
    #[arg(long, value_name = "PATH")]
    envoy: PathBuf,
    /// Ask only about what has this in its name.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// How many Envoys run at once.
const AT_ONCE: usize = 2;

/// What Envoy says, and which errors are found.
type Said = Result<(Verdict, Vec<(FindingKind, String)>), String>;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut cases = case::all();
    cases.extend(built::cases());
    cases.retain(|case| case.name.contains(&args.only));
    // A busy machine is no reason to know less.
    let gate = EnvoyGate::new(args.envoy).with_deadline(Duration::from_secs(300));
    let said = ask_about_all(&gate, &cases);

    let mut wrong = 0;
    let mut counts = [0; 4];
    for (case, said) in cases.iter().zip(&said) {
        match judge(case, said) {
            Ok(group) => counts[group as usize] += 1,
            Err(problem) => {
                println!("  {}: {problem}", case.name);
                wrong += 1;
            }
        }
    }
    println!("rejected by Envoy, and not found:");
    for case in &cases {
        if let Ours::Cannot(reason) = &case.ours {
            println!("  {}: {reason}", case.name);
        }
    }
    println!("accepted by Envoy's validation, and an error all the same:");
    for case in &cases {
        if let (Envoys::Accepts, Ours::Finds(_)) = (&case.envoys, &case.ours) {
            println!("  {}", case.name);
        }
    }
    let verdicts = said.iter().flatten().map(|(verdict, _)| verdict);
    let led_back: Vec<_> = verdicts
        .filter_map(|verdict| match verdict {
            Verdict::Rejected(rejection) => Some(rejection.name().is_some()),
            _ => None,
        })
        .collect();
    let resources = led_back.iter().filter(|found| **found).count();
    println!(
        "{resources} of {} rejections led back to a resource",
        led_back.len()
    );
    let [accepted, found, missed, more] = counts;
    println!(
        "{} configurations: {accepted} accepted by both, {found} rejected and found, {missed} rejected and not found, \
         {more} accepted and found; {wrong} otherwise than expected",
        cases.len()
    );
    match (cases.len(), wrong) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn ask_about_all(gate: &EnvoyGate, cases: &[Case]) -> Vec<Said> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut said = Vec::new();
        while let Some((at, case)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            cases.get(at).map(|case| (at, case))
        } {
            said.push((at, ask_about(gate, &case.snapshot)));
        }
        said
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .flat_map(|said| said.expect("nothing in it panics"))
            .collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, said)| said).collect()
}

fn ask_about(gate: &EnvoyGate, snapshot: &Snapshot) -> Said {
    let verdict = gate.judge(snapshot).map_err(|error| error.to_string())?;
    let checks = Checks::new(EnvoyReferences::default()).with_schema(Validator::new());
    let report = checks.check(snapshot);
    let errors = report
        .findings()
        .iter()
        .filter(|f| f.severity() == Severity::Error);
    let errors = errors.map(|finding| (finding.kind(), finding.to_string()));
    Ok((verdict, errors.collect()))
}

/// The groups that are counted.
#[derive(Clone, Copy)]
enum Group {
    Accepted,
    Found,
    Missed,
    FoundMore,
}

/// Whether both said what stands with the case.
fn judge(case: &Case, said: &Said) -> Result<Group, String> {
    let (verdict, errors) = said.as_ref().map_err(Clone::clone)?;
    match (&case.envoys, verdict) {
        (Envoys::Accepts, Verdict::Rejected(rejection)) => {
            return Err(format!("Envoy rejects it: {}", rejection.message()));
        }
        (Envoys::Rejects, Verdict::Accepted) => return Err("Envoy accepts it".to_owned()),
        _ => {}
    }
    match &case.ours {
        Ours::Finds(kind) if errors.iter().any(|(found, _)| found == kind) => match case.envoys {
            Envoys::Rejects => Ok(Group::Found),
            Envoys::Accepts => Ok(Group::FoundMore),
        },
        Ours::Finds(kind) => Err(format!("{kind} is not found, but {errors:?}")),
        Ours::FindsNothing | Ours::Cannot(_) if !errors.is_empty() => {
            Err(format!("found: {errors:?}"))
        }
        Ours::FindsNothing => Ok(Group::Accepted),
        Ours::Cannot(_) => Ok(Group::Missed),
    }
}
