//! Runs a real Envoy against a control plane in this process, and checks by its traffic and by its own account that
//! it does what it is told.
//!
//! ```text
//! cargo xtask interop
//! ```

mod fleet;
mod listener;
mod scenario;
mod steps;
mod types;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use portolan_tests::Bootstrap;
use tokio::task::JoinSet;

use crate::scenario::{Results, report};

/// Runs a real Envoy against this project's control plane.
#[derive(Debug, Parser)]
struct Args {
    /// The Envoy to run.
    #[arg(long, value_name = "PATH")]
    envoy: PathBuf,
    /// Run only what has this in its name.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

const VARIANTS: [Bootstrap; 6] = [
    Bootstrap::SOTW,
    Bootstrap::DELTA,
    Bootstrap::SOTW.unified_mux(),
    Bootstrap::DELTA.unified_mux(),
    Bootstrap::SOTW.per_type(),
    Bootstrap::DELTA.per_type(),
];

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let mut results = Results::default();
    for variant in VARIANTS {
        if variant.name().contains(&args.only) {
            println!("{}", variant.name());
            results.add(scenario::run(&args.envoy, variant).await);
        }
    }
    println!("other types");
    for (name, bootstrap, check) in types::ALL {
        if name.contains(&args.only) {
            let started = Instant::now();
            let result = types::run(&args.envoy, bootstrap, check).await;
            report(&mut results, name, started, result);
        }
    }
    println!("for some seconds, at once");
    let mut running = JoinSet::new();
    for (name, bootstrap, check) in types::LASTING {
        if name.contains(&args.only) {
            let envoy = args.envoy.clone();
            running.spawn(async move {
                let started = Instant::now();
                let result = types::run(&envoy, bootstrap, check).await;
                (name, started, result)
            });
        }
    }
    while let Some(ended) = running.join_next().await {
        let (name, started, result) = ended.expect("a check does not panic");
        report(&mut results, name, started, result);
    }
    println!("twenty at once");
    for bootstrap in [Bootstrap::SOTW, Bootstrap::DELTA] {
        let name = format!("a fleet on {}", bootstrap.name());
        if name.contains(&args.only) {
            let started = Instant::now();
            let result = fleet::run(&args.envoy, bootstrap).await;
            report(&mut results, &name, started, result);
        }
    }
    let Results { ran, failed } = results;
    println!("{ran} steps, {failed} failed");
    match (ran, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        (0, _) => {
            eprintln!("error: nothing is called {:?}", args.only);
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}
