//! Between the simulated network and tonic.

use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::http::Uri;
use tonic::transport::server::Connected;
use tonic::transport::{Channel, Endpoint, Error};
use tower::service_fn;
use turmoil::net::{TcpListener, TcpStream};

pub(crate) const SERVER: &str = "server";
const PORT: u16 = 18000;

/// Listens on the host that this runs on.
pub(crate) async fn incoming() -> io::Result<ReceiverStream<io::Result<Connection>>> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    let (accepted, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let connection = listener
                .accept()
                .await
                .map(|(stream, _)| Connection(stream));
            if accepted.send(connection).await.is_err() {
                return;
            }
        }
    });
    Ok(ReceiverStream::new(connections))
}

/// A connection to the server, which is lost when the server does not answer for some seconds.
pub(crate) async fn connect(window: u32) -> Result<Channel, Error> {
    let connector = service_fn(|_: Uri| async {
        let connecting = TcpStream::connect((SERVER, PORT));
        let stream = tokio::time::timeout(Duration::from_secs(3), connecting).await??;
        Ok::<_, io::Error>(TokioIo::new(stream))
    });
    Endpoint::from_static("http://server")
        .initial_stream_window_size(window)
        .http2_keep_alive_interval(Duration::from_secs(4))
        .keep_alive_timeout(Duration::from_secs(4))
        .connect_with_connector(connector)
        .await
}

/// An accepted connection.
pub(crate) struct Connection(TcpStream);

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
