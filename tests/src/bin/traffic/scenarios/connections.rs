use std::time::Duration;

use portolan_tests::TestError;
use tokio::time::sleep;

use crate::cluster::{ClusterSpec, Waits};
use crate::lab::Lab;

const AWAY: Duration = Duration::from_millis(300);

pub(super) async fn client_away(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    lab.link.cut().await;
    lab.plane.is_left().await?;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    lab.publish().await?;
    sleep(AWAY).await;
    lab.link.mend().await
}

/// The new process knows nothing of what was there before.
pub(super) async fn restart(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let waiting = ClusterSpec::waiting_for(lab.two.address, Waits::Forever);
    lab.replace("b", waiting);
    lab.publish().await?;
    sleep(AWAY).await;
    lab.link.cut().await;
    lab.plane.stop().await?;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    sleep(AWAY).await;
    lab.plane.resume(&lab.world).await?;
    lab.link.mend().await
}
