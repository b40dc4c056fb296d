use std::time::Duration;

use portolan_tests::{TestError, eventually};
use tokio::time::sleep;

use crate::cluster::{ClusterSpec, Waits};
use crate::lab::Lab;

const SOON: Duration = Duration::from_secs(10);
const AWAY: Duration = Duration::from_millis(300);

pub(super) async fn client_away(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    lab.link.cut().await;
    eventually("the end of the stream", SOON, || async {
        match lab.plane.streams() {
            0 => Ok(()),
            streams => Err(format!("{streams} streams")),
        }
    })
    .await?;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    lab.publish()?;
    sleep(AWAY).await;
    lab.link.mend().await
}

/// The new process knows nothing of what was there before.
pub(super) async fn restart(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let waiting = ClusterSpec::waiting_for(lab.two.address, Waits::Forever);
    lab.replace("b", waiting);
    lab.publish()?;
    sleep(AWAY).await;
    lab.link.cut().await;
    lab.plane.stop().await?;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    let world = lab.world.clone();
    sleep(AWAY).await;
    lab.plane.resume(|out| world.fill(out)).await?;
    lab.link.mend().await
}
