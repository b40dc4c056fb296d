//! Checks files of resources as a compiler does source: what refers to what is not there, what clashes, what nobody needs,
//! and which values the schema does not allow.
//!
//! ```text
//! cargo run -p portolan-examples --bin check -- --help
//! ```

mod document;
mod print;
mod read;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use portolan::consistency::schema::Validator;
use portolan::consistency::{Checks, Severity};
use portolan::core::well_known::CLUSTER;
use portolan::core::{Name, Resource, ResourceTypes, Snapshot, TypeUrl};
use portolan::resources::EnvoyReferences;
use portolan_testkit::envoy_gate::{EnvoyGate, EnvoyGateError, Verdict};

use crate::print::{Counts, hint, say, short};
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
    /// Ask this Envoy too whether it would take them.
    #[arg(long, value_name = "PATH")]
    envoy: Option<PathBuf>,
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
    let mut counts = Counts::of_resources(resources.len());
    let (snapshot, places) = together(resources, &mut counts);
    check(&snapshot, &places, &args.external, &mut counts);
    if let Some(envoy) = args.envoy
        && let Err(error) = ask(envoy, &snapshot, &places, &args.external, &mut counts)
    {
        eprintln!("{}", with_causes(&error));
        return ExitCode::from(2);
    }
    say(&counts);
    match counts.of(Severity::Error) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Where each resource is.
type Places = BTreeMap<(TypeUrl, Name), Place>;

/// Puts resources into one snapshot, as far as they can be in one.
fn together(resources: Vec<(Place, Resource)>, counts: &mut Counts) -> (Snapshot, Places) {
    let mut places = Places::new();
    let mut snapshot = Snapshot::builder();
    for (place, resource) in resources {
        let key = (resource.type_url().clone(), resource.name().clone());
        if let Some(first) = places.get(&key) {
            let (what, name) = (short(&key.0), &key.1);
            say(format_args!(
                "{place}: error[duplicate]: {what} {name:?} is at {first} too"
            ));
            counts.add(Severity::Error);
        } else if let Err(error) = snapshot.insert_shared(resource) {
            say(format_args!("{place}: error[resource]: {error}"));
            counts.add(Severity::Error);
        } else {
            places.insert(key, place);
        }
    }
    (snapshot.build(), places)
}

/// Prints what is found.
fn check(
    snapshot: &Snapshot,
    places: &Places,
    external: &[(TypeUrl, String)],
    counts: &mut Counts,
) {
    let checks = Checks::new(EnvoyReferences::default())
        .with_schema(Validator::new())
        .with_most_shown(usize::MAX);
    let checks = external.iter().fold(checks, |checks, (url, name)| {
        checks.with_external(url.clone(), [name.as_str()])
    });
    for finding in checks.check(snapshot).findings() {
        let place = places.get(&(finding.type_url().clone(), finding.name().clone()));
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let (severity, kind) = (finding.severity(), finding.kind());
        say(format_args!("{place}{severity}[{kind}]: {finding}"));
        if let Some(hint) = hint(finding, snapshot) {
            say(format_args!("  hint: {hint}"));
        }
        counts.add(severity);
    }
}

/// Prints what Envoy says, if it would not take the snapshot.
fn ask(
    envoy: PathBuf,
    snapshot: &Snapshot,
    places: &Places,
    external: &[(TypeUrl, String)],
    counts: &mut Counts,
) -> Result<(), EnvoyGateError> {
    let clusters = external.iter().filter(|(url, _)| *url == CLUSTER);
    let gate = clusters.fold(EnvoyGate::new(envoy), |gate, (_, name)| {
        gate.with_cluster(name)
    });
    if let Verdict::Rejected(rejection) = gate.judge(snapshot)? {
        let at_fault = rejection.type_url().zip(rejection.name());
        let place = at_fault.map(|(url, name)| {
            let place = places.get(&(url.clone(), name.clone()));
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            (place, format!("{} {name:?}: ", short(url)))
        });
        let (place, resource) = place.unwrap_or_default();
        let says = rejection.message();
        say(format_args!("{place}error[envoy]: {resource}{says}"));
        counts.add(Severity::Error);
    }
    Ok(())
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// A type, by its message's name with or without the package, and a name.
fn external(text: &str) -> Result<(TypeUrl, String), String> {
    let parts = text.split_once('=').filter(|(_, name)| !name.is_empty());
    let (given, name) = parts.ok_or("this is not TYPE=NAME")?;
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
