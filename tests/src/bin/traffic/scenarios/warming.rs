use std::time::Duration;

use portolan_tests::TestError;
use tokio::time::sleep;

use crate::cluster::{ClusterSpec, Waits};
use crate::lab::Lab;
use crate::name_server::NameServer;
use crate::tls;
use crate::upstream::Upstream;

const LATE: Duration = Duration::from_millis(500);
const SLOW: Duration = Duration::from_millis(400);

pub(super) async fn endpoints_late(lab: &mut Lab) -> Result<(), TestError> {
    in_two_steps(lab, Waits::Forever).await
}

pub(super) async fn endpoints_empty(lab: &mut Lab) -> Result<(), TestError> {
    in_two_steps(lab, Waits::EmptyEndpoints).await
}

/// A move to a cluster that waits for something at first.
async fn in_two_steps(lab: &mut Lab, waits: Waits) -> Result<(), TestError> {
    lab.begin().await?;
    lab.replace("b", ClusterSpec::waiting_for(lab.two.address, waits));
    lab.publish().await?;
    sleep(LATE).await;
    lab.replace("b", ClusterSpec::new(lab.two.address));
    lab.publish().await
}

pub(super) async fn health_checked(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let check = format!("/healthy?late_head={}", SLOW.as_millis());
    let cluster = ClusterSpec::waiting_for(lab.two.address, Waits::Health(check));
    lab.replace("b", cluster);
    lab.publish().await
}

pub(super) async fn strict_dns(lab: &mut Lab) -> Result<(), TestError> {
    let names = NameServer::start(SLOW).await?;
    lab.begin().await?;
    let cluster = ClusterSpec::waiting_for(lab.two.address, Waits::Address(names.address));
    lab.replace("b", cluster);
    lab.publish().await?;
    lab.settles().await
}

pub(super) async fn upstream_tls(lab: &mut Lab) -> Result<(), TestError> {
    let (acceptor, certificate) = tls::acceptor()?;
    lab.two = Upstream::start("two", Some(acceptor)).await?;
    lab.begin().await?;
    let secret = "authority".to_owned();
    let cluster = ClusterSpec::waiting_for(lab.two.address, Waits::Secret(secret.clone()));
    lab.replace("b", cluster);
    lab.publish().await?;
    sleep(SLOW).await;
    lab.world.trusted.insert(secret, certificate);
    lab.publish().await
}

pub(super) async fn unrelated_cold(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let cold = ClusterSpec::waiting_for(lab.two.address, Waits::Forever);
    lab.world.clusters.insert("cold".to_owned(), cold);
    lab.replace("b", ClusterSpec::new(lab.two.address));
    lab.publish().await
}
