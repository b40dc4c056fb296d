//! Gate, and on demand with more messages: what our validator says of random messages is what the reference implementation
//! says, which comes as Python packages into `target/`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::ci::Outcome;
use crate::workspace::{Workspace, capture, succeed};

/// The reference, the module with its annotations, and the newest protobuf that it works with.
const PACKAGES: [&str; 3] = [
    "protoc-gen-validate==1.3.3",
    "xds-protos==1.85.0",
    "protobuf==6.33.6",
];

/// How many messages are enough for CI.
const FEW: &str = "20000";

pub(crate) fn gate(workspace: &Workspace) -> Result<Outcome> {
    match python(workspace) {
        Ok(python) => compare(workspace, &python, &[FEW])?,
        Err(error) => return Ok(Outcome::Skipped(format!("no reference: {error:#}"))),
    }
    Ok(Outcome::Passed(format!("{FEW} messages, {}", PACKAGES[0])))
}

/// Prints a table and fails where a verdict differs and no known fault of the reference explains it. The arguments are
/// how many messages, the seed, and how many processes.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    compare(workspace, &python(workspace)?, arguments)
}

fn compare(workspace: &Workspace, python: &Path, arguments: &[&str]) -> Result<()> {
    // Built with the features that it is tested with, so that nothing is compiled anew.
    let build = [
        "build",
        "--quiet",
        "--workspace",
        "--features",
        "portolan-consistency/schema",
        "--example",
        "violations",
        "--message-format",
        "json-render-diagnostics",
    ];
    let built = capture(&mut workspace.cargo(build))?;
    let program = executable(&built).context("cargo built no program")?;
    let mut compare = workspace.command(&python.to_string_lossy());
    compare
        .args(["-B", "-W", "ignore"])
        .arg(workspace.path("xtask/validate-diff/main.py"))
        .arg(program)
        .arg(workspace.path("crates/portolan-types/src/generated/descriptors.bin"))
        .args(arguments);
    succeed(&mut compare)
}

/// What the messages of cargo say it built.
fn executable(messages: &str) -> Option<String> {
    let messages = messages.lines().rev();
    let mut values = messages.filter_map(|line| serde_json::from_str(line).ok());
    values.find_map(|message: serde_json::Value| Some(message["executable"].as_str()?.to_owned()))
}

/// A Python that has the packages, installed where they are not there yet.
fn python(workspace: &Workspace) -> Result<PathBuf> {
    let venv = workspace.path("target/validate-diff");
    let python = venv.join("bin/python");
    if !python.is_file() {
        let mut create = workspace.command("python3");
        succeed(create.args(["-m", "venv"]).arg(&venv))
            .context("the reference needs Python with its venv module")?;
    }
    let mut install = workspace.command(&python.to_string_lossy());
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    succeed(install.args(PACKAGES))?;
    Ok(python)
}
