//! Checks files of resources as a compiler does source: what refers to what is not there, what clashes, what nobody needs.
//!
//! ```text
//! cargo run -p portolan-examples --bin check -- --help
//! ```

mod document;
mod print;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use portolan::consistency::{Checks, Severity};
use portolan::core::{Name, Resource, ResourceTypes, Snapshot, TypeUrl};
use portolan::resources::EnvoyReferences;

use crate::print::{Counts, hint, short};
use crate::read::Place;

/// Checks files of xDS resources, all of them together, as one node would be sent them.
///
/// A file is JSON or YAML, of any number of documents. Each is a resource in protobuf's JSON form, with its `@type`; a
/// list of resources; or an object with such a list in `resources`. A resource with aliases, or without a name of its own,
/// stands in an envoy.service.discovery.v3.Resource.
///
/// Exit code: 0 where there are no errors, 1 where there are, 2 where a file cannot be read.
#[derive(Debug, Parser)]
#[command(name = "check")]
struct Args {
    /// The files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A resource that clients have from elsewhere, from their bootstrap for instance: Cluster=control_plane.
    #[arg(long, value_name = "TYPE=NAME", value_parser = external)]
    external: Vec<(TypeUrl, String)>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut resources = Vec::new();
    let mut is_readable = true;
    for file in &args.files {
        match read::read(file) {
            Ok(read) => resources.extend(read),
            Err(unreadable) => {
                eprintln!("{unreadable}");
                is_readable = false;
            }
        }
    }
    if !is_readable {
        return ExitCode::from(2);
    }
    let counts = check(resources, args.external);
    println!("{counts}");
    match counts.of(Severity::Error) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Prints what is found, and counts it.
fn check(resources: Vec<(Place, Resource)>, external: Vec<(TypeUrl, String)>) -> Counts {
    let mut counts = Counts::of_resources(resources.len());
    let mut places: BTreeMap<(TypeUrl, Name), Place> = BTreeMap::new();
    let mut snapshot = Snapshot::builder();
    for (place, resource) in resources {
        let key = (resource.type_url().clone(), resource.name().clone());
        if let Some(first) = places.get(&key) {
            let (what, name) = (short(&key.0), &key.1);
            println!("{place}: error[duplicate]: {what} {name:?} is at {first} too");
            counts.add(Severity::Error);
        } else if let Err(error) = snapshot.insert_shared(resource) {
            println!("{place}: error[resource]: {error}");
            counts.add(Severity::Error);
        } else {
            places.insert(key, place);
        }
    }
    let snapshot = snapshot.build();
    let checks = Checks::new(EnvoyReferences::default()).with_most_shown(usize::MAX);
    let checks = external.into_iter().fold(checks, |checks, (url, name)| {
        checks.with_external(url, [name])
    });
    for finding in checks.check(&snapshot).findings() {
        let key = (finding.type_url().clone(), finding.name().clone());
        let place = places.get(&key).map(|place| format!("{place}: "));
        let (severity, kind) = (finding.severity(), finding.kind());
        println!("{}{severity}[{kind}]: {finding}", place.unwrap_or_default());
        if let Some(hint) = hint(finding, &snapshot) {
            println!("  hint: {hint}");
        }
        counts.add(severity);
    }
    counts
}

/// A type, by its message's name with or without the package, and a name.
fn external(text: &str) -> Result<(TypeUrl, String), String> {
    let (given, name) = text.split_once('=').ok_or("this is not TYPE=NAME")?;
    let known = ResourceTypes::well_known();
    let is_meant = |url: &&TypeUrl| [short(url), url.message_name(), url.as_str()].contains(&given);
    let urls: Vec<_> = known.iter().map(|known| known.url()).collect();
    match urls.iter().copied().find(is_meant) {
        Some(url) => Ok((url.clone(), name.to_owned())),
        None => {
            let names: Vec<_> = urls.into_iter().map(short).collect();
            Err(format!("{given:?} is none of {}", names.join(", ")))
        }
    }
}
