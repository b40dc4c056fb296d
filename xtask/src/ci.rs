//! The gates that a change must pass, cheapest first, and how they are run and reported.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;
use crate::{
    api, codegen, conformance, docs, features, fmt, growth, interop, layers, lint, minimal, msrv,
    package, sizes, test, traffic, validate_diff, words,
};

/// One thing that must hold. A new one is a module with a [`Run`] and a line in [`GATES`].
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    run: Run,
}

type Run = fn(&Workspace) -> Result<Outcome>;

/// How a gate that does not fail ended, with a few words on what it saw.
pub(crate) enum Outcome {
    Passed(String),
    /// This machine cannot tell; the text says why.
    Skipped(String),
}

impl Outcome {
    pub(crate) fn passed() -> Self {
        Self::Passed(String::new())
    }
}

/// In the order in which `ci` runs them.
pub(crate) const GATES: &[Gate] = &[
    gate("fmt", "formatting", fmt::run),
    gate("lint", "clippy on every target, warnings denied", lint::run),
    gate(
        "layers",
        "crates depend on each other as designed",
        layers::run,
    ),
    gate("sizes", "files stay small", sizes::run),
    gate("words", "no machine paths, no registry hosts", words::run),
    gate(
        "codegen",
        "generated code is what codegen writes",
        codegen::check,
    ),
    gate("test", "the test command of README.md", test::run),
    gate(
        "conformance",
        "each rule and known fault has a test that passes",
        conformance::run,
    ),
    gate(
        "schema",
        "random messages are validated as by the reference implementation",
        validate_diff::gate,
    ),
    gate(
        "growth",
        "a stream's cost does not grow with what is served",
        growth::run,
    ),
    gate("interop", "a real Envoy obeys", interop::run),
    gate(
        "traffic",
        "a real Envoy loses no request while its configuration changes",
        traffic::run,
    ),
    gate("docs", "rustdoc, warnings denied", docs::run),
    gate(
        "features",
        "each feature of each library compiles alone",
        features::run,
    ),
    gate("api", "docs/api lists the public API as it is", api::check),
    gate("msrv", "compiles with the oldest supported Rust", msrv::run),
    gate(
        "minimal",
        "compiles with the oldest allowed dependencies",
        minimal::run,
    ),
    gate(
        "package",
        "each library builds from its package",
        package::run,
    ),
];

const fn gate(name: &'static str, about: &'static str, run: Run) -> Gate {
    Gate { name, about, run }
}

pub(crate) fn is_gate(name: &str) -> bool {
    GATES.iter().any(|gate| gate.name == name)
}

/// Runs every gate and fails with the names of those that failed; with `fail_fast`, at the first.
pub(crate) fn run(workspace: &Workspace, fail_fast: bool) -> Result<()> {
    let started = Instant::now();
    let mut failed = Vec::new();
    for gate in GATES {
        if !report(gate, workspace) {
            failed.push(gate.name);
            if fail_fast {
                break;
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "failed: {} ({:.0} s)",
        failed.join(", "),
        started.elapsed().as_secs_f32()
    );
    println!(
        "all {} gates hold ({:.0} s)",
        GATES.len(),
        started.elapsed().as_secs_f32()
    );
    Ok(())
}

pub(crate) fn run_one(workspace: &Workspace, name: &str) -> Result<()> {
    let gate = GATES
        .iter()
        .find(|gate| gate.name == name)
        .context("no such gate")?;
    if !report(gate, workspace) {
        bail!("failed: {name}");
    }
    Ok(())
}

/// Runs `gate`, prints its line, and says whether it holds.
fn report(gate: &Gate, workspace: &Workspace) -> bool {
    let started = Instant::now();
    let result = (gate.run)(workspace);
    let seconds = started.elapsed().as_secs_f32();
    let line = |word: &str, text: &str| {
        let line = format!("{word:<5} {:<11} {seconds:>6.1} s  {text}", gate.name);
        println!("{}", line.trim_end());
    };
    match result {
        Ok(Outcome::Passed(text)) => line("ok", &text),
        Ok(Outcome::Skipped(text)) => line("skip", &text),
        Err(error) => {
            line("FAIL", &format!("{error:#}"));
            return false;
        }
    }
    true
}
