//! Stand-ins for real services, so that a request through a proxy is answered.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::services::Services;

/// Answers at every loopback endpoint.
pub(crate) async fn start(services: &Services) -> io::Result<()> {
    for (name, endpoints) in &services.endpoints {
        for address in endpoints.iter().filter(|a| a.ip().is_loopback()) {
            let listener = TcpListener::bind(address)
                .await
                .map_err(|e| io::Error::new(e.kind(), format!("backend at {address}: {e}")))?;
            tokio::spawn(serve(
                listener,
                format!("hello from {name} at {address}\n"),
                *address,
            ));
        }
    }
    Ok(())
}

async fn serve(listener: TcpListener, body: String, address: SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(answer(stream, body.clone()))),
            Err(error) => {
                eprintln!("backend at {address} stopped: {error}");
                return;
            }
        }
    }
}

/// Reads one request head and answers it. An error is the connection's end, and nobody's loss.
async fn answer(mut stream: TcpStream, body: String) -> io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut buffer).await?;
        if n == 0 || head.len() > 64 * 1024 {
            return Ok(());
        }
        head.extend_from_slice(&buffer[..n]);
    }
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await
}
