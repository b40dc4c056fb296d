//! Resources that an Envoy keeps for as long as it hears of them, and then drops by itself: a runtime layer, and a
//! cluster beside one that stays.

use std::net::SocketAddr;
use std::time::Duration;

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, TypedResource, build};
use portolan_tests::{Envoy, TestError, eventually};

use super::{Stage, runtime, soon, stays_refreshed};

const TTL: Duration = Duration::from_secs(2);

const LASTING: &str = "lasting";
const FLEETING: &str = "fleeting";

pub(super) async fn check(stage: &mut Stage) -> Result<(), TestError> {
    let backend = stage.backend.address();
    let fill = |out: &mut SnapshotBuilder, value: Option<&str>| fill(out, backend, value);
    stage.publish(|out| fill(out, Some("one")))?;
    let envoy = stage.envoy().await?;
    soon("the first value", || holds(&envoy, Some("one"))).await?;
    stays(stage, &envoy, "one").await?;
    stage.publish(|out| fill(out, Some("two")))?;
    soon("the second value", || holds(&envoy, Some("two"))).await?;
    stays(stage, &envoy, "two").await?;

    let mark = stage.plane.recorder().mark();
    stage.publish(|out| fill(out, None))?;
    ends(&envoy).await?;
    // In state of the world nobody can say that a layer is gone.
    let told = stage.plane.recorder().responses("RTDS", mark) > 0;
    if told != stage.bootstrap.delta {
        return Err(format!("told that the layer is gone: {told}").into());
    }
    stage.publish(|out| fill(out, Some("three")))?;
    soon("the third value", || holds(&envoy, Some("three"))).await?;

    stage.plane.stop().await?;
    ends(&envoy).await?;
    // With the versions that the Envoy has seen. It must have all again nonetheless.
    stage.plane.resume(|out| fill(out, Some("three"))).await?;
    soon("what there was", || holds(&envoy, Some("three"))).await?;
    stays(stage, &envoy, "three").await?;
    for stat in [
        "runtime.update_rejected",
        "cluster_manager.cds.update_rejected",
    ] {
        match envoy.stat(stat).await? {
            0 => {}
            other => return Err(format!("{stat}: {other}").into()),
        }
    }
    stage.accepted().await
}

fn fill(
    out: &mut SnapshotBuilder,
    backend: SocketAddr,
    value: Option<&str>,
) -> Result<(), TestError> {
    out.add(&build::static_cluster(LASTING, [backend]))?;
    if let Some(value) = value {
        let cluster = build::static_cluster(FLEETING, [backend]);
        out.insert(cluster.to_resource().ttl(TTL))?
            .insert(runtime::layer(Some(value)).to_resource().ttl(TTL))?;
    }
    Ok(())
}

/// Sees to it that both are there for longer than they would live by themselves.
async fn stays(stage: &Stage, envoy: &Envoy, value: &str) -> Result<(), TestError> {
    let mark = stage.plane.recorder().mark();
    stays_refreshed(stage, &["RTDS", "CDS"], TTL, || holds(envoy, Some(value))).await?;
    let bodies = stage.plane.recorder().resources("RTDS", mark) > 0;
    match bodies == stage.bootstrap.delta {
        true => Err(format!("refreshed with the whole layer: {bodies}").into()),
        false => Ok(()),
    }
}

/// Waits until neither is there.
async fn ends(envoy: &Envoy) -> Result<(), TestError> {
    eventually("the end", TTL * 3, || holds(envoy, None)).await?;
    Ok(())
}

/// Checks the value of the layer, and the clusters.
async fn holds(envoy: &Envoy, value: Option<&str>) -> Result<(), TestError> {
    runtime::is(envoy, value.unwrap_or_default()).await?;
    let active = envoy.held().await?.active;
    match active.contains(LASTING) && active.contains(FLEETING) == value.is_some() {
        true => Ok(()),
        false => Err(format!("{active:?}").into()),
    }
}
