//! What an Envoy asks for is resolved, by a resolver that takes its time, finds nothing, fails, and never ends.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan::TokioClock;
use portolan::cache::{OnDemandCache, OnDemandLimits, Resolution, Resolver, SnapshotCache, Wanted};
use portolan::core::node_hash::NodeCluster;
use portolan::core::{
    Resource, ResourceBuilder, ResourceError, ResourceFailure, Snapshot, SnapshotBuilder, TypeUrl,
};
use portolan_tests::{Envoy, TestError};
use tokio::time::sleep;

use super::{GROUP, Stage, promptly, soon};

/// When a name that is not resolved is answered all the same.
const DEADLINE: Duration = Duration::from_millis(500);

/// How long what is late takes.
const LATE: Duration = Duration::from_millis(200);

/// A type of which an Envoy asks for a resource when the first request for it comes.
pub(super) trait OnDemand: Clone + Send + Sync + 'static {
    const TYPE: TypeUrl;

    /// The status of requests for what does not exist.
    const MISSING: u16;

    /// What lets requests for a name be answered by the backend.
    fn resource(&self, name: &str) -> ResourceBuilder;

    fn gets(
        envoy: &Envoy,
        name: &str,
        status: u16,
    ) -> impl Future<Output = Result<(), TestError>> + Send;

    /// Whether the Envoy has given up what it had of a name.
    fn is_gone(envoy: &Envoy, name: &str) -> impl Future<Output = Result<(), TestError>> + Send;
}

/// All but these resources come from a snapshot cache beside the cache that resolves, which has nothing of its own.
pub(super) async fn check<K: OnDemand>(
    stage: &mut Stage,
    kind: K,
    fill: impl FnOnce(&mut SnapshotBuilder) -> Result<(), TestError>,
) -> Result<(), TestError> {
    let cache = OnDemandCache::new(SnapshotCache::new(NodeCluster::default()), [K::TYPE])
        .with_base(Snapshot::empty())
        .with_limits(OnDemandLimits::default().with_deadline(DEADLINE));
    let (writer, reader, resolutions) = cache.split();
    let registry = Registry::new(kind);
    let resolving = tokio::spawn(resolutions.run(registry.clone(), TokioClock::new()));
    stage.serve_beside(K::TYPE, Arc::new(reader)).await?;
    stage.publish(fill)?;
    let envoy = stage.envoy().await?;
    soon("an answer", || K::gets(&envoy, "none", K::MISSING)).await?;

    for name in ["found", "late", "found", "late"] {
        promptly(name, K::gets(&envoy, name, 200)).await?;
    }
    // Each once: of a cluster that does not exist Envoy does not ask again, and later requests wait until its time is up.
    for name in ["absent", "failed", "broken", "hangs"] {
        promptly(name, K::gets(&envoy, name, K::MISSING)).await?;
    }
    registry.expect_each_once()?;

    // What there was not comes to be, and what there was goes.
    let _ = writer.revise(&registry.wanted("absent")?, registry.found("absent")?);
    soon("a name that there was not", || {
        K::gets(&envoy, "absent", 200)
    })
    .await?;
    let _ = writer.revise(&registry.wanted("found")?, Resolution::absent());
    soon("a name that is gone", || K::is_gone(&envoy, "found")).await?;
    stage.accepted().await?;

    // The Envoy leaves while it waits for an answer.
    tokio::select! {
        answered = K::gets(&envoy, "hangs-on", 200) => answered?,
        begun = soon("a resolution", || async { registry.expect_running(true) }) => begun?,
    }
    drop(envoy);
    soon("all is let go", || async {
        registry.expect_running(false)?;
        registry.expect_nothing_held()
    })
    .await?;
    if writer.revise(&registry.wanted("absent")?, registry.found("absent")?) {
        return Err("a name is kept that nobody wants".into());
    }
    resolving.abort();
    Ok(())
}

/// Resolves a name as the name says.
#[derive(Clone)]
struct Registry<K> {
    kind: K,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked: Vec<String>,
    running: usize,
    /// Names that were asked for and not released.
    held: BTreeSet<String>,
}

impl<K: OnDemand> Registry<K> {
    fn new(kind: K) -> Self {
        let state = Arc::default();
        Self { kind, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resource(&self, name: &str) -> Result<Resource, ResourceError> {
        self.kind.resource(name).build()
    }

    fn found(&self, name: &str) -> Result<Resolution, ResourceError> {
        self.resource(name).map(Resolution::found)
    }

    fn wanted(&self, name: &str) -> Result<Wanted<String>, ResourceError> {
        let name = self.resource(name)?.name().clone();
        Ok(Wanted::new(GROUP.to_owned(), K::TYPE, name))
    }

    fn expect_each_once(&self) -> Result<(), TestError> {
        let asked = self.state().asked.clone();
        let distinct: BTreeSet<_> = asked.iter().collect();
        match distinct.len() == asked.len() {
            true => Ok(()),
            false => Err(format!("some names were resolved again: {asked:?}").into()),
        }
    }

    fn expect_running(&self, expected: bool) -> Result<(), TestError> {
        match self.state().running {
            running if (running > 0) == expected => Ok(()),
            running => Err(format!("{running} resolutions run").into()),
        }
    }

    fn expect_nothing_held(&self) -> Result<(), TestError> {
        let held = self.state().held.clone();
        match held.is_empty() {
            true => Ok(()),
            false => Err(format!("not released: {held:?}").into()),
        }
    }
}

impl<K: OnDemand> Resolver<String> for Registry<K> {
    async fn resolve(&self, wanted: &Wanted<String>) -> Resolution {
        let _running = Running::begin(&self.state, wanted);
        let name = wanted.name.rsplit('/').next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        match name {
            "found" => {}
            "late" => sleep(LATE).await,
            "failed" => return Resolution::failed(ResourceFailure::not_found("no such name")),
            // As a panic does, without its noise.
            "broken" => std::panic::resume_unwind(Box::new("broken")),
            "hangs" | "hangs-on" => pending().await,
            _ => return Resolution::absent(),
        }
        self.found(name).unwrap_or_else(|_| Resolution::absent())
    }

    fn released(&self, wanted: &Wanted<String>) {
        self.state().held.remove(wanted.name.as_str());
    }
}

/// A resolution, until it has ended or is cancelled.
struct Running(Arc<Mutex<State>>);

impl Running {
    fn begin(state: &Arc<Mutex<State>>, wanted: &Wanted<String>) -> Self {
        let running = Self(Arc::clone(state));
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running += 1;
        state.asked.push(wanted.name.to_string());
        state.held.insert(wanted.name.to_string());
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.running -= 1;
    }
}
