//! The steps of a scenario, in order.

use std::pin::Pin;
use std::time::Duration;

use portolan_tests::{Recorded, TestError, eventually};

use crate::scenario::Scenario;
use crate::world::ClusterSpec;

type Step =
    for<'a> fn(&'a mut Scenario) -> Pin<Box<dyn Future<Output = Result<(), TestError>> + 'a>>;

pub(crate) const ALL: [(&str, Step); 7] = [
    ("endpoints change", |s| Box::pin(endpoints_change(s))),
    ("cluster and route added", |s| Box::pin(cluster_added(s))),
    ("cluster and route removed", |s| {
        Box::pin(cluster_removed(s))
    }),
    ("settings change, endpoints unchanged: no stall", |s| {
        Box::pin(settings_change(s))
    }),
    (
        "a change while another cluster warms takes effect at once",
        |s| Box::pin(change_while_warming(s)),
    ),
    ("a bad cluster is rejected, told once, and mended", |s| {
        Box::pin(rejection(s))
    }),
    ("the control plane restarts", |s| Box::pin(restart(s))),
];

const SOON: Duration = Duration::from_secs(2);

/// How long to watch for what must not happen.
const QUIET: Duration = Duration::from_millis(500);

async fn endpoints_change(s: &mut Scenario) -> Result<(), TestError> {
    s.world
        .clusters
        .insert("a", ClusterSpec::of([s.two.address()]));
    let mark = s.plane.recorder().mark();
    s.publish()?;
    s.answers("/", "two", SOON).await?;
    check(
        s.plane.recorder().responses("CDS", mark) == 0,
        "clusters did not change, yet were sent",
    )
}

async fn cluster_added(s: &mut Scenario) -> Result<(), TestError> {
    s.world
        .clusters
        .insert("b", ClusterSpec::of([s.one.address()]));
    s.world.routes = vec![("/b", "b"), ("/", "a")];
    s.publish()?;
    s.answers("/b", "one", SOON).await?;
    s.answers("/", "two", SOON).await
}

async fn cluster_removed(s: &mut Scenario) -> Result<(), TestError> {
    s.world.clusters.remove("b");
    s.world.routes = vec![("/", "a")];
    s.publish()?;
    s.answers("/b", "two", SOON).await?;
    eventually("cluster b gone", SOON, || async {
        match s.envoy.held().await?.active.contains("b") {
            true => Err::<(), TestError>("still there".into()),
            false => Ok(()),
        }
    })
    .await?;
    Ok(())
}

/// A changed cluster warms until its endpoints come again, unchanged as they are. Were they not sent, Envoy would wait
/// for 15 s.
async fn settings_change(s: &mut Scenario) -> Result<(), TestError> {
    let cluster = s.world.clusters.get_mut("a").ok_or("no cluster a")?;
    cluster.timeout_seconds += 1;
    let expected = format!("{}s", cluster.timeout_seconds);
    let mark = s.plane.recorder().mark();
    s.publish()?;
    eventually(
        "the changed cluster in use",
        Duration::from_secs(1),
        || async {
            let held = s.envoy.held().await?;
            let a = held.clusters.iter().find(|c| c["name"] == "a");
            match a.map(|c| c["connect_timeout"] == *expected) {
                Some(true) if !held.warming.contains("a") => Ok::<_, TestError>(()),
                _ => Err(format!("{a:?}, warming {:?}", held.warming).into()),
            }
        },
    )
    .await?;
    s.answers("/", "two", SOON).await?;
    tokio::time::sleep(QUIET).await;
    let sent = s.plane.recorder().responses("EDS", mark);
    check(sent == 1, &format!("endpoints were sent {sent} times"))
}

/// Envoy withholds the acknowledgement of clusters while any of them warms; nobody may wait for it.
async fn change_while_warming(s: &mut Scenario) -> Result<(), TestError> {
    s.world
        .clusters
        .insert("cold", ClusterSpec::without_assignment());
    s.publish()?;
    eventually("cold warming", SOON, || async {
        match s.envoy.held().await?.warming.contains("cold") {
            true => Ok::<_, TestError>(()),
            false => Err("not warming".into()),
        }
    })
    .await?;
    s.world
        .clusters
        .insert("c", ClusterSpec::of([s.one.address()]));
    s.world.routes = vec![("/c", "c"), ("/", "a")];
    s.publish()?;
    s.answers("/c", "one", Duration::from_secs(1)).await?;
    let warms = s.envoy.held().await?.warming.contains("cold");
    check(warms, "the cold cluster should still be warming")?;

    s.world.clusters.remove("cold");
    s.world.clusters.remove("c");
    s.world.routes = vec![("/", "a")];
    s.publish()?;
    s.answers("/c", "two", SOON).await?;
    s.settles().await
}

async fn rejection(s: &mut Scenario) -> Result<(), TestError> {
    let mut bad = ClusterSpec::of([s.one.address()]);
    bad.broken = true;
    s.world.clusters.insert("bad", bad);
    let mark = s.plane.recorder().mark();
    s.publish()?;
    let recorder = s.plane.recorder();
    let told = eventually("a rejection", SOON, || async {
        let events = recorder.since(mark);
        events
            .into_iter()
            .find_map(|event| match event {
                Recorded::Nacked { kind, message, .. } => Some((kind, message)),
                _ => None,
            })
            .ok_or("none")
    })
    .await?;
    check(
        told.0 == "CDS" && told.1.contains("bad"),
        &format!("told: {told:?}"),
    )?;
    tokio::time::sleep(QUIET).await;
    let sent = recorder.responses("CDS", mark);
    check(
        sent == 1,
        &format!("the rejected clusters were sent {sent} times"),
    )?;
    s.answers("/", "two", SOON).await?;

    s.world
        .clusters
        .insert("bad", ClusterSpec::of([s.one.address()]));
    s.world.routes = vec![("/bad", "bad"), ("/", "a")];
    s.publish()?;
    s.answers("/bad", "one", SOON).await?;
    s.settles().await
}

/// A new process has the same content and so the same versions; a client that brings them is told nothing again.
async fn restart(s: &mut Scenario) -> Result<(), TestError> {
    tokio::time::sleep(QUIET).await;
    let mark = s.plane.recorder().mark();
    let world = s.world.clone();
    s.plane
        .restart(Duration::from_millis(300), |out| world.fill(out))
        .await?;
    let recorder = s.plane.recorder();
    eventually("a new stream", Duration::from_secs(5), || async {
        let opened = |e: &Recorded| matches!(e, Recorded::Opened { .. });
        recorder
            .since(mark)
            .iter()
            .any(opened)
            .then_some(())
            .ok_or("none")
    })
    .await?;
    s.answers("/", "two", SOON).await?;
    tokio::time::sleep(QUIET).await;
    let again = recorder.resources("CDS", mark) + recorder.resources("LDS", mark);
    check(
        again == 0,
        &format!("{again} unchanged resources were sent again"),
    )?;
    // On a stream of its own, an assignment belongs to a cluster that may be warming.
    if s.variant.delta && !s.variant.per_type {
        let all = recorder.resources("RDS", mark) + recorder.resources("EDS", mark);
        check(
            all == 0,
            &format!("{all} unchanged routes and assignments were sent again"),
        )?;
    }

    s.world
        .clusters
        .insert("a", ClusterSpec::of([s.one.address()]));
    s.publish()?;
    s.answers("/", "one", SOON).await
}

fn check(good: bool, otherwise: &str) -> Result<(), TestError> {
    match good {
        true => Ok(()),
        false => Err(otherwise.into()),
    }
}
