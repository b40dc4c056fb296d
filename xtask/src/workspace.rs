//! The repository, and programs run at its root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace of the running `cargo xtask`.
    pub(crate) fn locate() -> Result<Self> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").context("run it as `cargo xtask`")?;
        let root = Path::new(&package)
            .parent()
            .context("xtask lies below the workspace root")?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// `program`, to be run at the root.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The cargo that runs this program, to be run at the root.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.command("cargo");
        if let Some(cargo) = std::env::var_os("CARGO") {
            command = Command::new(cargo);
            command.current_dir(&self.root);
        }
        command.args(arguments);
        command
    }

    /// Paths, relative to the root, of the files that git tracks or would track, in order.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let mut git = self.command("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listing = capture(&mut git)?;
        let mut files: Vec<String> = listing
            .split('\0')
            // A file that is deleted but not yet staged is listed too.
            .filter(|path| self.path(path).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }
}

/// Runs `command` with this program's output, and fails if it fails.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", display(command)))?;
    ensure!(status.success(), "`{}` failed", display(command));
    Ok(())
}

/// Runs `command` and returns what it printed; its errors become the error's text.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", display(command)))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "`{}` failed: {}",
        display(command),
        errors.trim()
    );
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed no text", display(command)))
}

/// As one would type it.
fn display(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
