//! One publication, many streams: all converge, one that never reads holds up nobody, and what they share is encoded
//! once.

use std::time::Duration;

use portolan::core::{Resource, SnapshotBuilder, encoded_chunks, well_known::CLUSTER};
use portolan_tests::{Delta, Sotw, TestControlPlane, TestError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

const GROUP: &str = "fleet";

/// Many more resources than fit into one chunk.
const RESOURCES: usize = 1_000;

/// A client that reads and acknowledges on a task of its own, and tells the version that it got last.
struct Client {
    version: watch::Receiver<String>,
    task: JoinHandle<()>,
}

impl Client {
    async fn sotw(channel: Channel) -> Result<Self, TestError> {
        let mut stream = Sotw::open(channel, GROUP, &[CLUSTER]).await?;
        let (tell, version) = watch::channel(String::new());
        let task = tokio::spawn(async move {
            // Between two publications much time may pass.
            while let Ok(Some(response)) = stream.responses.message().await {
                stream.ack(&response);
                tell.send_replace(response.version_info);
            }
        });
        Ok(Self { version, task })
    }

    /// Waits for an answer that holds all of a version.
    async fn reach(&mut self, version: &str) -> Result<(), TestError> {
        let marked = format!("{version}*");
        let reached = self.version.wait_for(|held| *held == marked);
        tokio::time::timeout(Duration::from_secs(30), reached).await??;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Resources of 500 bytes; all differ, and one of them by `revision`.
fn fill(out: &mut SnapshotBuilder, revision: usize) -> Result<(), TestError> {
    for i in 0..RESOURCES {
        let mut body = vec![0; 500];
        body[..8].copy_from_slice(&i.to_be_bytes());
        if i == RESOURCES / 2 {
            body[8..16].copy_from_slice(&revision.to_be_bytes());
        }
        out.insert(Resource::builder(CLUSTER, format!("cluster-{i:05}"), body))?;
    }
    Ok(())
}

async fn connect(plane: &TestControlPlane) -> Result<Channel, TestError> {
    let endpoint = Endpoint::try_from(format!("http://{}", plane.address()))?;
    Ok(endpoint.connect().await?)
}

/// One test, because it counts what the whole process encodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_streams_converge_and_share_one_encoding() -> Result<(), TestError> {
    let plane = TestControlPlane::start(GROUP).await?;
    plane.publish(|out| fill(out, 0))?;

    // On a connection of its own, it asks and never reads.
    let stalled = Sotw::open(connect(&plane).await?, GROUP, &[CLUSTER]).await?;

    let mut clients = open_clients(&plane, 10).await?;
    let few = count_encodings(&plane, &mut clients, 1).await?;
    clients.extend(open_clients(&plane, 990).await?);
    let many = count_encodings(&plane, &mut clients, 2).await?;
    assert_eq!(few, 1, "one resource changed, so one chunk is encoded anew");
    assert_eq!(
        many, few,
        "encodings do not depend on the number of streams"
    );

    // A burst; nobody need see every one of its versions, and everybody ends at the last.
    for revision in 3..50 {
        plane.publish(|out| fill(out, revision))?;
    }
    reach_newest(&plane, &mut clients).await?;
    drop(stalled);

    delta_streams_share_too(&plane).await
}

async fn open_clients(plane: &TestControlPlane, count: usize) -> Result<Vec<Client>, TestError> {
    let mut clients = Vec::new();
    let mut channel = connect(plane).await?;
    for i in 1..=count {
        clients.push(Client::sotw(channel.clone()).await?);
        if i % 100 == 0 {
            channel = connect(plane).await?;
        }
    }
    reach_newest(plane, &mut clients).await?;
    Ok(clients)
}

async fn reach_newest(plane: &TestControlPlane, clients: &mut [Client]) -> Result<(), TestError> {
    let newest = plane.version(&CLUSTER).ok_or("published")?;
    for client in clients {
        client.reach(&newest).await?;
    }
    Ok(())
}

/// Publishes one change, has every client read it, and says how many chunks were encoded for it.
async fn count_encodings(
    plane: &TestControlPlane,
    clients: &mut [Client],
    revision: usize,
) -> Result<u64, TestError> {
    let before = encoded_chunks();
    plane.publish(|out| fill(out, revision))?;
    reach_newest(plane, clients).await?;
    Ok(encoded_chunks() - before)
}

async fn delta_streams_share_too(plane: &TestControlPlane) -> Result<(), TestError> {
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(Delta::open(connect(plane).await?, GROUP, &[CLUSTER]).await?);
    }
    let before = encoded_chunks();
    for stream in &mut streams {
        let response = stream.next().await?;
        assert_eq!(response.resources.len(), RESOURCES);
        stream.ack(&response);
    }
    let first = encoded_chunks() - before;
    assert!(
        first <= RESOURCES.div_ceil(64) as u64,
        "{first} chunks for {RESOURCES} resources"
    );

    plane.publish(|out| fill(out, 1_000))?;
    for stream in &mut streams {
        let response = stream.next().await?;
        let names: Vec<_> = response.resources.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["cluster-00500"]);
    }
    Ok(())
}
