//! The types beside clusters, endpoints, listeners and routes, each with an Envoy of its own.

mod extension;
mod runtime;
mod scoped_route;
mod secret;

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use portolan::core::SnapshotBuilder;
use portolan_tests::{Backend, Bootstrap, Envoy, TestControlPlane, TestError, eventually};

type Check = for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = Result<(), TestError>> + 'a>>;

pub(crate) const ALL: [(&str, Bootstrap, Check); 8] = [
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
];

const RUNTIME: (Bootstrap, Bootstrap) = (
    Bootstrap::SOTW.with_runtime_layer(runtime::LAYER),
    Bootstrap::DELTA.with_runtime_layer(runtime::LAYER),
);

const GROUP: &str = "types";
const SOON: Duration = Duration::from_secs(3);

/// A control plane, the program that is to be its Envoy, and a backend.
pub(crate) struct Stage {
    program: std::path::PathBuf,
    bootstrap: Bootstrap,
    plane: TestControlPlane,
    backend: Backend,
}

impl Stage {
    pub(crate) async fn set(program: &Path, bootstrap: Bootstrap) -> Result<Self, TestError> {
        Ok(Self {
            program: program.to_owned(),
            bootstrap,
            plane: TestControlPlane::start(GROUP).await?,
            backend: Backend::start("backend").await?,
        })
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
