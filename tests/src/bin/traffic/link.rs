//! The connection to the control plane, which can be cut.

use std::net::{Ipv4Addr, SocketAddr};

use portolan_tests::TestError;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Passes connections on. Cut when dropped.
#[derive(Debug)]
pub(crate) struct Link {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    server: SocketAddr,
    task: JoinHandle<()>,
}

impl Link {
    pub(crate) async fn to(server: SocketAddr) -> Result<Self, TestError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Self {
            address: listener.local_addr()?,
            server,
            task: tokio::spawn(pass(listener, server)),
        })
    }

    /// Ends all connections, without a word to either side, and takes no more.
    pub(crate) async fn cut(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Takes connections again.
    pub(crate) async fn mend(&mut self) -> Result<(), TestError> {
        let listener = TcpListener::bind(self.address).await?;
        self.task = tokio::spawn(pass(listener, self.server));
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(listener: TcpListener, server: SocketAddr) {
    // Their tasks end with it.
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        connections.spawn(async move {
            let mut server = TcpStream::connect(server).await?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            copy_bidirectional(&mut client, &mut server).await
        });
        while connections.try_join_next().is_some() {}
    }
}
