use std::time::Duration;

use portolan_tests::TestError;
use tokio::time::sleep;

use crate::cluster::ClusterSpec;
use crate::lab::{Lab, first};

const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn move_and_retire(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    lab.publish().await
}

pub(super) async fn settings(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    for _ in 0..5 {
        for cluster in lab.world.clusters.values_mut() {
            cluster.timeout_seconds += 1;
        }
        lab.publish().await?;
        sleep(PAUSE).await;
    }
    Ok(())
}

pub(super) async fn thirty_moves(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    for nth in 1..=30 {
        let upstream = if nth % 2 == 0 { &lab.one } else { &lab.two };
        let cluster = ClusterSpec::new(upstream.address);
        lab.replace(&format!("b{nth}"), cluster);
        lab.publish().await?;
        sleep(PAUSE).await;
    }
    Ok(())
}

pub(super) async fn flips(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let (one, two) = (lab.one.address, lab.two.address);
    for _ in 0..5 {
        for (name, upstream) in [("b", two), (&*first("/"), one)] {
            lab.replace(name, ClusterSpec::new(upstream));
            lab.publish().await?;
            sleep(PAUSE).await;
        }
    }
    Ok(())
}
