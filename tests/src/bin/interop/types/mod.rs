//! The types beside clusters, endpoints, listeners and routes, each with an Envoy of its own.

mod extension;
mod on_demand_cluster;
mod resolved;
mod runtime;
mod scoped_route;
mod secret;
mod time_to_live;
mod virtual_host;

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan::core::{SnapshotBuilder, Source, TypeUrl};
use portolan_tests::{
    Backend, Bootstrap, Envoy, Recorded, TestControlPlane, TestError, eventually,
};

pub(crate) type Check =
    for<'a> fn(&'a mut Stage) -> Pin<Box<dyn Future<Output = Result<(), TestError>> + Send + 'a>>;

pub(crate) const ALL: [(&str, Bootstrap, Check); 22] = [
    ("SDS over ADS sotw", Bootstrap::SOTW, |s| {
        Box::pin(secret::check(s))
    }),
    ("SDS over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(secret::check(s))
    }),
    ("RTDS over ADS sotw", RUNTIME.0, |s| {
        Box::pin(runtime::check(s))
    }),
    ("RTDS over ADS delta", RUNTIME.1, |s| {
        Box::pin(runtime::check(s))
    }),
    ("ECDS over ADS sotw", Bootstrap::SOTW, |s| {
        Box::pin(extension::check(s))
    }),
    ("ECDS over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(extension::check(s))
    }),
    ("SRDS over ADS sotw", Bootstrap::SOTW, |s| {
        Box::pin(scoped_route::check(s))
    }),
    ("SRDS over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(scoped_route::check(s))
    }),
    ("SRDS on demand over ADS sotw", Bootstrap::SOTW, |s| {
        Box::pin(scoped_route::check_on_demand(s))
    }),
    ("SRDS on demand over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(scoped_route::check_on_demand(s))
    }),
    ("VHDS over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(virtual_host::check(s))
    }),
    (
        "VHDS over ADS delta, unified mux",
        Bootstrap::DELTA.unified_mux(),
        |s| Box::pin(virtual_host::check(s)),
    ),
    (
        "VHDS over per type delta",
        Bootstrap::DELTA.per_type(),
        |s| Box::pin(virtual_host::check(s)),
    ),
    ("VHDS by alias over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(virtual_host::check_aliases(s))
    }),
    (
        "VHDS by alias over ADS delta, unified mux",
        Bootstrap::DELTA.unified_mux(),
        |s| Box::pin(virtual_host::check_aliases(s)),
    ),
    ("ODCDS over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(on_demand_cluster::check(s))
    }),
    (
        "ODCDS over ADS delta, unified mux",
        Bootstrap::DELTA.unified_mux(),
        |s| Box::pin(on_demand_cluster::check(s)),
    ),
    (
        "ODCDS over per type delta",
        Bootstrap::DELTA.per_type(),
        |s| Box::pin(on_demand_cluster::check(s)),
    ),
    ("VHDS resolved over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(virtual_host::check_resolved(s))
    }),
    (
        "VHDS resolved over ADS delta, unified mux",
        Bootstrap::DELTA.unified_mux(),
        |s| Box::pin(virtual_host::check_resolved(s)),
    ),
    ("ODCDS resolved over ADS delta", Bootstrap::DELTA, |s| {
        Box::pin(on_demand_cluster::check_resolved(s))
    }),
    (
        "ODCDS resolved over ADS delta, unified mux",
        Bootstrap::DELTA.unified_mux(),
        |s| Box::pin(on_demand_cluster::check_resolved(s)),
    ),
];

/// What must be watched for seconds. They are independent of each other, to be run at once.
pub(crate) const LASTING: [(&str, Bootstrap, Check); 5] = [
    ("TTL over ADS sotw", RUNTIME.0, |s| {
        Box::pin(time_to_live::check(s))
    }),
    ("TTL over ADS delta", RUNTIME.1, |s| {
        Box::pin(time_to_live::check(s))
    }),
    (
        "TTL over ADS sotw, unified mux",
        RUNTIME.0.unified_mux(),
        |s| Box::pin(time_to_live::check(s)),
    ),
    (
        "TTL over ADS delta, unified mux",
        RUNTIME.1.unified_mux(),
        |s| Box::pin(time_to_live::check(s)),
    ),
    ("TTL of virtual hosts", Bootstrap::DELTA, |s| {
        Box::pin(virtual_host::check_lives(s))
    }),
];

const RUNTIME: (Bootstrap, Bootstrap) = (
    Bootstrap::SOTW.with_runtime_layer(runtime::LAYER),
    Bootstrap::DELTA.with_runtime_layer(runtime::LAYER),
);

const GROUP: &str = "types";
const SOON: Duration = Duration::from_secs(3);

/// Well before any timeout of Envoy's.
const PROMPT: Duration = Duration::from_secs(1);

/// Each comes after half of a time to live.
const REFRESHES: usize = 3;

/// Runs one of these with a stage of its own.
pub(crate) async fn run(
    program: &Path,
    bootstrap: Bootstrap,
    check: Check,
) -> Result<(), TestError> {
    check(&mut Stage::set(program, bootstrap).await?).await
}

/// A control plane, the program that is to be its Envoy, and a backend.
pub(crate) struct Stage {
    program: std::path::PathBuf,
    bootstrap: Bootstrap,
    plane: TestControlPlane,
    backend: Backend,
}

impl Stage {
    async fn set(program: &Path, bootstrap: Bootstrap) -> Result<Self, TestError> {
        Ok(Self {
            program: program.to_owned(),
            bootstrap,
            plane: TestControlPlane::start(GROUP).await?,
            backend: Backend::start("backend").await?,
        })
    }

    /// Starts the control plane anew, with a source that has more of a type than what is published.
    async fn serve_beside(
        &mut self,
        type_url: TypeUrl,
        source: Arc<dyn Source>,
    ) -> Result<(), TestError> {
        self.plane = TestControlPlane::start_beside(GROUP, type_url, source).await?;
        Ok(())
    }

    /// Starts the Envoy.
    async fn envoy(&self) -> Result<Envoy, TestError> {
        let server = self.plane.address();
        Envoy::start(&self.program, self.bootstrap, "envoy-1", GROUP, server).await
    }

    fn publish(
        &self,
        fill: impl FnOnce(&mut SnapshotBuilder) -> Result<(), TestError>,
    ) -> Result<(), TestError> {
        self.plane.publish(fill)
    }

    /// Waits until no response waits for its acknowledgement and none was rejected.
    async fn accepted(&self) -> Result<(), TestError> {
        let recorder = self.plane.recorder();
        eventually("everything accepted", SOON, || async {
            recorder
                .all_accepted()
                .map_err(|problem| -> TestError { problem.into() })
        })
        .await?;
        Ok(())
    }
}

/// Waits for `check`, with the time that all of these have.
async fn soon<F: Future<Output = Result<(), TestError>>>(
    what: &str,
    check: impl FnMut() -> F,
) -> Result<(), TestError> {
    eventually(what, SOON, check).await?;
    Ok(())
}

/// What must come true the first time, and without a wait.
async fn promptly(
    what: &str,
    check: impl Future<Output = Result<(), TestError>>,
) -> Result<(), TestError> {
    match tokio::time::timeout(PROMPT, check).await {
        Ok(result) => result.map_err(|error| format!("{what}: {error}").into()),
        Err(_) => Err(format!("{what}: nothing within {PROMPT:?}").into()),
    }
}

/// Waits until each of these types was refreshed more often than lets a time to live end, and sees to it that `check`
/// is true all the while.
async fn stays_refreshed<F: Future<Output = Result<(), TestError>>>(
    stage: &Stage,
    types: &[&str],
    ttl: Duration,
    mut check: impl FnMut() -> F,
) -> Result<(), TestError> {
    let recorder = stage.plane.recorder();
    let mark = recorder.mark();
    let deadline = Instant::now() + ttl * 4;
    loop {
        check().await?;
        let counts: Vec<_> = types.iter().map(|t| recorder.refreshes(t, mark)).collect();
        if counts.iter().all(|count| *count >= REFRESHES) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("{types:?} were refreshed {counts:?} times").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the Envoy has opened a stream since `mark`.
async fn back(stage: &Stage, mark: usize) -> Result<(), TestError> {
    let recorder = stage.plane.recorder();
    let opened = |e: &Recorded| matches!(e, Recorded::Opened { .. });
    soon("a new stream", || async {
        match recorder.since(mark).iter().any(opened) {
            true => Ok(()),
            false => Err("none".into()),
        }
    })
    .await
}
