//! The conformance cases, each a test of its own name, against the sources of this repository. No case is left out for any
//! of them: what is about several types is played on a [`LinearCache`] for each of them, put together.

mod mux;
mod on_demand;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use portolan_cache::{
    LinearCache, LinearCacheReader, LinearCacheWriter, SnapshotCache, SnapshotCacheReader,
    SnapshotCacheWriter,
};
use portolan_core::{NodeId, Resource, ResourceBuilder, Snapshot, TypeUrl};
use portolan_testkit::Shelf;
use portolan_testkit::conformance::{self, NODE, Run, Subject};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for run in conformance::runs(conformance::cases()) {
        trials.push(trial("shelf", run.clone(), Shelf::new));
        trials.push(match run.only_type() {
            Some(url) => {
                let make = move || OfLinearCache::new(&url);
                trial("linear_cache", run.clone(), make)
            }
            None => trial("linear_caches", run.clone(), mux::Linear::new),
        });
        trials.push(trial("mux_by_type", run.clone(), mux::ByType::new));
        trials.push(trial("mux_union", run.clone(), mux::Unions::new));
        trials.push(trial("on_demand", run.clone(), on_demand::OnDemand::new));
        trials.push(trial("snapshot_cache", run, OfSnapshotCache::new));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial<S: Subject + 'static>(
    source: &str,
    run: Run,
    make: impl Fn() -> S + Send + 'static,
) -> Trial {
    let name = format!("{source}::{run}");
    Trial::test(name, move || run.simulate(&make).map_err(Failed::from))
}

struct OfSnapshotCache {
    writer: SnapshotCacheWriter<String>,
    reader: SnapshotCacheReader<NodeId>,
}

impl OfSnapshotCache {
    fn new() -> Self {
        let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
        Self { writer, reader }
    }
}

impl Subject for OfSnapshotCache {
    type Source = SnapshotCacheReader<NodeId>;

    fn source(&self) -> Self::Source {
        self.reader.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        let _ = self.writer.set(&NODE.to_owned(), snapshot);
    }

    fn unpublish(&self) {
        self.writer.clear(&NODE.to_owned());
    }
}

/// Serves one type.
struct OfLinearCache {
    writer: LinearCacheWriter,
    reader: LinearCacheReader,
}

impl OfLinearCache {
    fn new(type_url: &TypeUrl) -> Self {
        let (writer, reader) = LinearCache::new(type_url.clone()).split();
        Self { writer, reader }
    }

    fn type_url(&self) -> &TypeUrl {
        self.writer.type_url()
    }
}

impl Subject for OfLinearCache {
    type Source = LinearCacheReader;

    fn source(&self) -> Self::Source {
        self.reader.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        let url = self.writer.type_url();
        let set = snapshot.set(url).expect("a case speaks for all types");
        let shown = snapshot.version_info(url);
        if shown != *set.version() {
            self.writer.label(shown);
        }
        if set.len() == set.entries_len() && !set.has_pending() {
            let replaced = self.writer.replace_all(set.iter().map(builder));
            let _ = replaced.expect("what was published elsewhere can be published here");
            return;
        }
        let held = self.writer.resources().unwrap_or_default();
        let replaced = self.writer.batch(|edit| {
            for entry in held.entries() {
                edit.remove(entry.name().clone());
            }
            for name in held.pending() {
                edit.remove(name.clone());
            }
            for name in set.pending() {
                edit.pending(name.clone())?;
            }
            set.entries().try_for_each(|entry| {
                let put = match entry.failure() {
                    Some(failure) => edit.fail(entry.name().clone(), failure.clone()),
                    None => edit.upsert(builder(entry)),
                };
                put.map(drop)
            })
        });
        let _ = replaced.expect("what was published elsewhere can be published here");
    }

    fn unpublish(&self) {
        self.writer.clear();
    }
}

fn builder(resource: &Resource) -> ResourceBuilder {
    let (url, name) = (resource.type_url().clone(), resource.name().clone());
    let builder = Resource::builder(url, name, resource.body()).on_demand(resource.on_demand());
    let aliases = resource.aliases().iter().cloned();
    let builder = aliases.fold(builder, ResourceBuilder::alias);
    match resource.ttl() {
        Some(ttl) => builder.ttl(ttl),
        None => builder,
    }
}
