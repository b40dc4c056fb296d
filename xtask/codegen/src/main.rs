//! Generates `portolan-types` from the pinned schema, the rules by which `portolan-consistency` validates, and the stubs of the testbed's own service: run it as
//! `cargo xtask codegen [--check]`.

mod families;
mod names;
mod output;
mod packages;
mod plan;
mod rules;
mod rust;
mod schema;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::families::Gate;
use crate::output::Difference;
use crate::packages::Packages;
use crate::rust::Files;
use crate::schema::Schema;

const TYPES: &str = "crates/portolan-types/src/generated";
const PLAN: &str = "crates/portolan-consistency/src/schema/generated";
const TESTBED: &str = "crates/portolan-testkit/src/testbed/generated";

/// What generated code calls `google.protobuf.Any`, inside `portolan-types` and outside.
const OWN_ANY: &str = "crate::Any";
const FOREIGN_ANY: &str = "::portolan_types::Any";

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

    let schema = Schema::compile(&sources::load(root)?)?;
    for (directory, files) in [
        (TYPES, types(&schema)?),
        (PLAN, plan::generate(schema.pool())?),
        (TESTBED, testbed(root)?),
    ] {
        let target = root.join(directory);
        if check {
            let difference = Difference::between(&target, &files)?;
            if !difference.is_empty() {
                bail!("{directory} differs from what `cargo xtask codegen` writes:\n{difference}");
            }
        } else {
            let difference = output::write(&target, &files)?;
            print!("{} files in {directory}\n{difference}", files.len());
        }
    }
    Ok(())
}

fn types(schema: &Schema) -> Result<Files> {
    let gates = families::gates(&Packages::of(&schema.files()))?;
    let mut files = rust::generate(&schema.files(), &gates, OWN_ANY)?;
    files.insert("descriptors.bin".to_owned(), schema.encode());
    Ok(files)
}

/// The service by which harnesses drive the testbed, which is no part of the xDS APIs.
fn testbed(root: &Path) -> Result<Files> {
    let schema = Schema::compile(&sources::testbed(root)?)?;
    let gates = BTreeMap::from([("adapter".to_owned(), Gate::Always)]);
    rust::generate(&schema.files(), &gates, FOREIGN_ANY)
}
