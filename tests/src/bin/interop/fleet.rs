//! Twenty Envoys at once: an update that all accept, and a restart after which all are back.

use std::path::Path;
use std::time::Duration;

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, build};
use portolan_tests::{
    Backend, Bootstrap, Envoy, Recorded, TestControlPlane, TestError, eventually, get,
};

const GROUP: &str = "fleet";
const SIZE: usize = 20;
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run(program: &Path, bootstrap: Bootstrap) -> Result<(), TestError> {
    let (one, two) = (Backend::start("one").await?, Backend::start("two").await?);
    let fill = |out: &mut SnapshotBuilder, backend: &Backend| {
        let all = build::virtual_host("all", ["*"], [build::prefix_route("/", "web")]);
        out.add(&build::eds_cluster("web"))?
            .add(&build::assignment("web", [backend.address()]))?
            .add(&build::http_listener(
                "ingress",
                ([127, 0, 0, 1], 0).into(),
                "routes",
            ))?
            .add(&build::route_configuration("routes", [all]))?;
        Ok::<_, TestError>(())
    };
    let mut plane = TestControlPlane::start(GROUP).await?;
    plane.publish(|out| fill(out, &one))?;
    let mut envoys = Vec::new();
    for number in 0..SIZE {
        let id = format!("envoy-{number}");
        envoys.push(Envoy::start(program, bootstrap, &id, GROUP, plane.address()).await?);
    }
    all_answer(&envoys, "one").await?;

    let mark = plane.recorder().mark();
    plane.publish(|out| fill(out, &two))?;
    all_answer(&envoys, "two").await?;
    let recorder = plane.recorder();
    eventually("an acknowledgement from each", PATIENCE, || async {
        let acked = |e: &Recorded| matches!(e, Recorded::Acked { kind, .. } if kind == "EDS");
        match recorder.since(mark).into_iter().filter(acked).count() {
            SIZE => Ok(()),
            other => Err(format!("{other}")),
        }
    })
    .await?;

    let mark = plane.recorder().mark();
    plane
        .restart(Duration::from_millis(300), |out| fill(out, &one))
        .await?;
    // Nobody is without service meanwhile, and all follow the new process.
    all_answer(&envoys, "one").await?;
    let opened = |e: &Recorded| matches!(e, Recorded::Opened { .. });
    let back = plane
        .recorder()
        .since(mark)
        .into_iter()
        .filter(opened)
        .count();
    match back {
        SIZE => Ok(()),
        _ => Err(format!("{back} streams were opened after the restart").into()),
    }
}

async fn all_answer(envoys: &[Envoy], by: &str) -> Result<(), TestError> {
    for envoy in envoys {
        eventually(&format!("answered by {by}"), PATIENCE, || async {
            let reply = get(envoy.listener("ingress").await?, "/").await?;
            match reply.status == 200 && reply.body == by {
                true => Ok(()),
                false => Err::<(), TestError>(format!("{reply:?}").into()),
            }
        })
        .await?;
    }
    Ok(())
}
