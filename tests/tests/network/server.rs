use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan::cache::{SnapshotCache, SnapshotCacheWriter};
use portolan::core::Snapshot;
use portolan::core::node_hash::NodeCluster;
use portolan::resources::EnvoyReferences;
use portolan::server::{SessionConfig, XdsServer};

use crate::link;
use crate::model::Model;

pub(crate) const GROUP: &str = "fleet";

/// What is published, and the servers that serve it: one after the other, each as a process of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    model: Model,
    started: Vec<Started>,
}

#[derive(Debug)]
struct Started {
    xds: XdsServer,
    writer: SnapshotCacheWriter<String>,
}

impl Servers {
    /// Changes what is published, at the server that runs and for those to come.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Model)) {
        let mut state = self.lock();
        let State { model, started } = &mut *state;
        change(model);
        if let Some(Started { writer, .. }) = started.last() {
            let group = GROUP.to_owned();
            let previous = writer.get(&group).unwrap_or_else(Snapshot::empty);
            let mut snapshot = Snapshot::builder_from(&previous);
            model.fill(&mut snapshot);
            let _ = writer.set(&group, snapshot.build());
        }
    }

    pub(crate) fn model(&self) -> Model {
        self.lock().model.clone()
    }

    /// Ends all streams of the server that runs, which accepts no others.
    pub(crate) fn drain(&self) {
        if let Some(started) = self.lock().started.last() {
            started.xds.drain();
        }
    }

    /// Streams of the server that runs.
    pub(crate) fn streams(&self) -> usize {
        let state = self.lock();
        state
            .started
            .last()
            .map_or(0, |started| started.xds.streams())
    }

    /// Asserts that of no server anything is left but what is published.
    pub(crate) fn check_idle(&self) -> Result<(), String> {
        for (number, Started { xds, writer }) in self.lock().started.iter().enumerate() {
            let (streams, views) = (xds.streams(), writer.total_streams());
            let nodes = xds.status().nodes().count();
            if (streams, views, nodes) != (0, 0, 0) {
                return Err(format!(
                    "server {number} has {streams} streams, {views} views and {nodes} nodes"
                ));
            }
        }
        Ok(())
    }

    /// The program of the server's host.
    pub(crate) async fn serve(self) -> turmoil::Result {
        let (writer, reader) = SnapshotCache::new(NodeCluster::default()).split();
        let references = Arc::new(EnvoyReferences::default());
        let session = SessionConfig::default().with_references(references);
        let xds = XdsServer::builder(Arc::new(reader))
            .with_session(session)
            .build();
        {
            let mut state = self.lock();
            let _ = writer.set(&GROUP.to_owned(), state.model.snapshot());
            let xds = xds.clone();
            state.started.push(Started { xds, writer });
        }
        let router = xds.transport().add_routes(xds.routes());
        router.serve_with_incoming(link::incoming().await?).await?;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
