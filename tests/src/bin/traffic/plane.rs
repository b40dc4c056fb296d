//! The control plane of a run.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use portolan::core::Snapshot;
use portolan_tests::{TestControlPlane, TestError};
use tokio::time::{Instant, sleep};

use crate::mode::Mode;
use crate::peer::Peer;
use crate::world::World;

/// Within what a stream is known to have ended.
const SOON: Duration = Duration::from_secs(10);

/// A control plane that serves one Envoy.
#[derive(Debug)]
pub(crate) enum Plane {
    Portolan(Box<TestControlPlane>),
    Peer(Box<Peer>),
}

impl Plane {
    /// Starts one that serves the node of this id and cluster; a peer is this program.
    pub(crate) async fn start(
        mode: Mode,
        peer: Option<&Path>,
        node: &str,
        cluster: &str,
    ) -> Result<Self, TestError> {
        match mode.session() {
            Some(session) => {
                let plane = TestControlPlane::start_with(cluster, session).await?;
                Ok(Self::Portolan(Box::new(plane)))
            }
            None => {
                let program = peer.ok_or("there is no peer")?;
                let peer = Peer::start(program, node).await?;
                Ok(Self::Peer(Box::new(peer)))
            }
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Portolan(plane) => plane.address(),
            Self::Peer(peer) => peer.address(),
        }
    }

    pub(crate) async fn publish(&mut self, world: &World) -> Result<(), TestError> {
        match self {
            Self::Portolan(plane) => plane.publish(|out| world.fill(out)),
            Self::Peer(peer) => peer.publish(&snapshot(world)?).await,
        }
    }

    /// Waits until it knows of no stream.
    pub(crate) async fn is_left(&mut self) -> Result<(), TestError> {
        let deadline = Instant::now() + SOON;
        loop {
            let streams = match self {
                Self::Portolan(plane) => plane.streams(),
                Self::Peer(peer) => peer.streams().await?,
            };
            if streams == 0 {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{streams} streams do not end").into());
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Ends all streams and connections, and takes no more.
    pub(crate) async fn stop(&mut self) -> Result<(), TestError> {
        match self {
            Self::Portolan(plane) => plane.stop().await,
            Self::Peer(peer) => peer.stop().await,
        }
    }

    /// Starts again after a [`stop`](Self::stop), and knows nothing but this.
    pub(crate) async fn resume(&mut self, world: &World) -> Result<(), TestError> {
        match self {
            Self::Portolan(plane) => plane.resume(|out| world.fill(out)).await,
            Self::Peer(peer) => peer.resume(&snapshot(world)?).await,
        }
    }

    /// What went over its streams, if it says so.
    pub(crate) fn trace(&self) -> String {
        match self {
            Self::Portolan(plane) => plane.recorder().trace(),
            Self::Peer(_) => String::new(),
        }
    }
}

fn snapshot(world: &World) -> Result<Snapshot, TestError> {
    let mut builder = Snapshot::builder();
    world.fill(&mut builder)?;
    Ok(builder.build())
}
