use std::net::SocketAddr;
use std::time::Duration;

use portolan_tests::{TestError, eventually};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::cluster::{ClusterSpec, Waits};
use crate::lab::{Counts, Lab, free_address};
use crate::world::{ListenerSpec, TableSpec};

/// What the other listener, its route table and its cluster are called.
const OTHER: &str = "other";

const SOON: Duration = Duration::from_secs(20);

/// For how long there is load on a listener of its own.
const STEADY: Duration = Duration::from_millis(500);

pub(super) async fn added(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let address = add_other(lab).await?;
    lab.publish().await?;
    opens(address).await?;
    lab.put_load(address, Counts::All);
    sleep(STEADY).await;
    Ok(())
}

/// There is load as soon as the listener takes connections, be that before or after the endpoints come.
pub(super) async fn added_early(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let address = add_other(lab).await?;
    let cluster = ClusterSpec::new(lab.two.address);
    let waiting = ClusterSpec::waiting_for(cluster.upstream, Waits::Forever);
    lab.world.clusters.insert(OTHER.to_owned(), waiting);
    lab.publish().await?;
    let late = Instant::now() + STEADY;
    let is_early = timeout_at(late, opens(address)).await.is_ok();
    if is_early {
        lab.put_load(address, Counts::All);
    }
    sleep_until(late).await;
    lab.world.clusters.insert(OTHER.to_owned(), cluster);
    lab.publish().await?;
    if !is_early {
        opens(address).await?;
        lab.put_load(address, Counts::All);
    }
    sleep(STEADY).await;
    Ok(())
}

async fn opens(address: SocketAddr) -> Result<(), TestError> {
    let connect = || TcpStream::connect(address);
    eventually("the other listener", SOON, connect).await?;
    Ok(())
}

pub(super) async fn removed(lab: &mut Lab) -> Result<(), TestError> {
    let address = add_other(lab).await?;
    lab.begin().await?;
    lab.put_load(address, Counts::Status);
    sleep(STEADY).await;
    lab.world.listeners.remove(OTHER);
    lab.world.tables.remove(OTHER);
    lab.world.clusters.remove(OTHER);
    lab.publish().await
}

async fn add_other(lab: &mut Lab) -> Result<SocketAddr, TestError> {
    let address = free_address().await?;
    let cluster = ClusterSpec::new(lab.two.address);
    lab.world.clusters.insert(OTHER.to_owned(), cluster);
    let table = TableSpec::new([("/".to_owned(), OTHER.to_owned())]);
    lab.world.tables.insert(OTHER.to_owned(), table);
    let table = OTHER.to_owned();
    let listener = ListenerSpec { address, table };
    lab.world.listeners.insert(OTHER.to_owned(), listener);
    Ok(address)
}
