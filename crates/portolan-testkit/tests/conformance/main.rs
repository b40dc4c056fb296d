//! The conformance cases, each a test of its own name, against the sources of this repository.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use portolan_cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan_core::{NodeId, Snapshot};
use portolan_testkit::Shelf;
use portolan_testkit::conformance::{self, NODE, Run, Subject};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for run in conformance::runs(conformance::cases()) {
        trials.push(trial("shelf", run.clone(), OfShelf::default));
        trials.push(trial("snapshot_cache", run, OfSnapshotCache::new));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial<S: Subject + 'static>(source: &str, run: Run, make: fn() -> S) -> Trial {
    let name = format!("{source}::{run}");
    Trial::test(name, move || run.simulate(&make).map_err(Failed::from))
}

#[derive(Default)]
struct OfShelf(Shelf);

impl Subject for OfShelf {
    type Source = Shelf;

    fn source(&self) -> Shelf {
        self.0.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        self.0.publish(snapshot);
    }

    fn unpublish(&self) {
        self.0.clear();
    }
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
