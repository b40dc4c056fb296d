//! Runs a real Envoy against a control plane in this process, and checks by its traffic and by its own account that
//! it does what it is told.
//!
//! ```text
//! cargo xtask interop
//! ```

mod scenario;
mod steps;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use portolan_tests::Bootstrap;

/// Runs a real Envoy against this project's control plane.
#[derive(Debug, Parser)]
struct Args {
    /// The Envoy to run.
    #[arg(long, value_name = "PATH")]
    envoy: PathBuf,
    /// Run only protocol variants whose name contains this.
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
    let mut ran = 0;
    let mut failed = 0;
    for variant in VARIANTS {
        if !variant.name().contains(&args.only) {
            continue;
        }
        println!("{}", variant.name());
        let results = scenario::run(&args.envoy, variant).await;
        ran += results.ran;
        failed += results.failed;
    }
    println!("{ran} steps, {failed} failed");
    match (ran, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        (0, _) => {
            eprintln!("error: no protocol variant is called {:?}", args.only);
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}
