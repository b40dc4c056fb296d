//! Lists the public API of a crate, one item a line, from the JSON that rustdoc writes of it.

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let json = std::env::args_os().nth(1).context("which file?")?;
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    print!("{api}");
    Ok(())
}
