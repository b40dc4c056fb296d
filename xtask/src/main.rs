//! One entry for every chore of the project: `cargo xtask <command>`.

mod api;
mod ci;
mod codegen;
mod conformance;
mod docs;
mod features;
mod fmt;
mod growth;
mod interop;
mod layers;
mod lint;
mod metadata;
mod minimal;
mod msrv;
mod package;
mod program;
mod sizes;
mod test;
mod traffic;
mod validate_diff;
mod words;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result<()> {
    let workspace = Workspace::locate()?;
    match arguments {
        ["ci"] => ci::run(&workspace, false),
        ["ci", "--fail-fast"] => ci::run(&workspace, true),
        ["codegen"] => codegen::write(&workspace),
        ["api", "--bless"] => api::bless(&workspace),
        ["codegen", "--check"] => ci::run_one(&workspace, "codegen"),
        ["traffic", "--all", rest @ ..] => traffic::table(&workspace, rest),
        ["validate-diff", rest @ ..] => validate_diff::run(&workspace, rest),
        [gate] if ci::is_gate(gate) => ci::run_one(&workspace, gate),
        _ => bail!("unknown command\n\n{}", usage()),
    }
}

fn usage() -> String {
    let mut text = "usage: cargo xtask <command>\n\n".to_owned();
    let chores = [
        ("ci [--fail-fast]", "every gate below, in this order"),
        (
            "codegen [--check]",
            "regenerate portolan-types, or fail where it differs",
        ),
        ("api --bless", "rewrite the listings in docs/api"),
        (
            "traffic --all",
            "what an Envoy loses in every scenario, beside go-control-plane where there is Go",
        ),
        (
            "validate-diff [n]",
            "validate 100,000 random messages, or n, beside the reference implementation",
        ),
    ];
    let gates = ci::GATES
        .iter()
        .filter(|gate| gate.name != "codegen")
        .map(|gate| (gate.name, gate.about));
    for (name, about) in chores.into_iter().chain(gates) {
        text += &format!("  {name:<18} {about}\n");
    }
    text
}
