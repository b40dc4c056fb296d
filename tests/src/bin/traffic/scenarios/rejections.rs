use std::time::Duration;

use portolan_tests::TestError;
use tokio::time::sleep;

use crate::cluster::ClusterSpec;
use crate::lab::{Lab, TABLE};

const BROKEN: Duration = Duration::from_millis(500);

pub(super) async fn cluster(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let cluster = ClusterSpec::new(lab.two.address);
    let broken = ClusterSpec {
        broken: true,
        ..cluster.clone()
    };
    lab.replace("b", broken);
    lab.publish().await?;
    sleep(BROKEN).await;
    lab.replace("b", cluster);
    lab.publish().await
}

pub(super) async fn routes(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    set_broken(lab, true)?;
    lab.publish().await?;
    sleep(BROKEN).await;
    set_broken(lab, false)?;
    lab.publish().await
}

fn set_broken(lab: &mut Lab, broken: bool) -> Result<(), TestError> {
    lab.world.tables.get_mut(TABLE).ok_or("no table")?.broken = broken;
    Ok(())
}
