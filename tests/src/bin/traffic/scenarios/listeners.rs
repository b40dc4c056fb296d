use std::net::SocketAddr;
use std::time::Duration;

use portolan_tests::{TestError, eventually};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::cluster::ClusterSpec;
use crate::lab::{Counts, Lab, free_address};
use crate::world::{ListenerSpec, TableSpec};

/// What the other listener, its route table and its cluster are called.
const OTHER: &str = "other";

/// For how long there is load on a listener of its own.
const STEADY: Duration = Duration::from_millis(500);

pub(super) async fn added(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let address = add_other(lab).await?;
    lab.publish()?;
    eventually("the other listener", Duration::from_secs(20), || {
        TcpStream::connect(address)
    })
    .await?;
    lab.put_load(address, Counts::All);
    sleep(STEADY).await;
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
    lab.publish()
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
