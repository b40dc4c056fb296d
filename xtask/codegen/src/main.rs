//! Generates `portolan-types` from the pinned schema: run it as `cargo xtask codegen [--check]`.

mod families;
mod names;
mod output;
mod packages;
mod rust;
mod schema;
mod sources;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::output::Difference;
use crate::packages::Packages;
use crate::rust::Files;
use crate::schema::Schema;

const DIRECTORY: &str = "crates/portolan-types/src/generated";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("codegen: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => bail!("usage: cargo xtask codegen [--check]"),
    };
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").context("run it as `cargo xtask codegen`")?;
    let root = Path::new(&package)
        .ancestors()
        .nth(2)
        .context("xtask/codegen lies two levels below the workspace root")?;

    let files = generate(root)?;
    let directory = root.join(DIRECTORY);
    if check {
        let difference = Difference::between(&directory, &files)?;
        if !difference.is_empty() {
            bail!("{DIRECTORY} differs from what `cargo xtask codegen` writes:\n{difference}");
        }
    } else {
        let difference = output::write(&directory, &files)?;
        print!("{} files in {DIRECTORY}\n{difference}", files.len());
    }
    Ok(())
}

fn generate(root: &Path) -> Result<Files> {
    let schema = Schema::compile(&sources::load(root)?)?;
    let gates = families::gates(&Packages::of(&schema.files()))?;
    let mut files = rust::generate(&schema.files(), &gates)?;
    files.insert("descriptors.bin".to_owned(), schema.encode());
    Ok(files)
}
