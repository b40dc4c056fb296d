//! Puts load on a real Envoy while its configuration changes, and counts the requests that are lost.
//!
//! ```text
//! cargo xtask traffic                                       # the short form, as in CI
//! cargo xtask traffic --all --runs 5                        # all scenarios, beside a peer where there is Go
//! cargo run -p portolan-tests --bin traffic -- --envoy PATH --only moves
//! ```

mod cluster;
mod gate;
mod lab;
mod link;
mod load;
mod mode;
mod name_server;
mod peer;
mod plane;
mod report;
mod scenarios;
mod tally;
mod tls;
mod upstream;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use portolan_tests::{Bootstrap, TestError};

use crate::lab::Lab;
use crate::load::Mix;
use crate::mode::Mode;
use crate::plane::Plane;
use crate::report::Report;
use crate::scenarios::Scenario;
use crate::tally::Tally;

/// Counts the requests that a real Envoy loses while its configuration changes.
#[derive(Debug, Parser)]
struct Args {
    /// The Envoy to run.
    #[arg(long, value_name = "PATH", required_unless_present = "list")]
    envoy: Option<PathBuf>,
    /// The program of `benches/peers/go`, to be compared with.
    #[arg(long, value_name = "PATH")]
    peer: Option<PathBuf>,
    /// Run only what has this in the name of its scenario, its protocol or its mode. All of several must be there.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// How often each is run; the counts are added up. Runs that fell behind and lost nothing are run again, at most
    /// as often.
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
    /// Requests in a second over connections that are kept; a tenth of it comes on connections of its own.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rate: u32,
    /// Say what there is, and run nothing.
    #[arg(long)]
    list: bool,
    /// Run a few, and judge what came of them.
    #[arg(long)]
    gate: bool,
    /// Show what went over the streams wherever requests were lost.
    #[arg(long)]
    trace: bool,
}

/// How an Envoy asks, by the name in reports.
const PROTOCOLS: [(&str, Bootstrap); 4] = [
    ("sotw", Bootstrap::SOTW),
    ("delta", Bootstrap::DELTA),
    ("unified sotw", Bootstrap::SOTW.unified_mux()),
    ("unified delta", Bootstrap::DELTA.unified_mux()),
];

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let Some(envoy) = args.envoy.clone().filter(|_| !args.list) else {
        for scenario in scenarios::ALL {
            println!("{:<22} {}", scenario.name, scenario.about);
        }
        return ExitCode::SUCCESS;
    };
    let bench = Bench {
        envoy,
        peer: args.peer.clone(),
        mix: Mix::of(args.rate),
        trace: args.trace,
    };
    match args.gate {
        true => gate::run(&bench).await,
        false => all(&bench, &args).await,
    }
}

/// What all runs have in common.
struct Bench {
    envoy: PathBuf,
    peer: Option<PathBuf>,
    mix: Mix,
    trace: bool,
}

impl Bench {
    fn can(&self, mode: Mode) -> bool {
        mode != Mode::GoControlPlane || self.peer.is_some()
    }

    async fn run(
        &self,
        scenario: &Scenario,
        bootstrap: Bootstrap,
        mode: Mode,
    ) -> Result<Tally, TestError> {
        let plane = Plane::start(mode, self.peer.as_deref(), lab::NODE, lab::GROUP).await?;
        let mut lab = Lab::start(&self.envoy, bootstrap, plane, scenario.paths, self.mix).await?;
        (scenario.run)(&mut lab).await?;
        lab.settles().await?;
        let trace = lab.trace();
        let tally = Tally::of(&lab.finish().await);
        if self.trace && tally.failed > 0 {
            println!("{trace}");
        }
        Ok(tally)
    }
}

async fn all(bench: &Bench, args: &Args) -> ExitCode {
    let mut report = Report::default();
    for scenario in scenarios::ALL {
        for mode in Mode::ALL.into_iter().filter(|mode| bench.can(*mode)) {
            for (protocol, bootstrap) in PROTOCOLS {
                let name = format!("{} {protocol} {}", scenario.name, mode.name());
                if !args.only.iter().all(|text| name.contains(text)) {
                    continue;
                }
                let (mut runs, mut attempts) = (0, 0);
                while runs < args.runs && attempts < 2 * args.runs {
                    let result = bench.run(scenario, bootstrap, mode).await;
                    attempts += 1;
                    runs += usize::from(!result.as_ref().is_ok_and(Tally::says_nothing));
                    report.add(scenario.name, mode, protocol, result);
                }
            }
        }
    }
    print!("{report}");
    match report.is_complete() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
