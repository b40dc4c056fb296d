use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::record::{Answer, Ask, Kind};

/// How long an answer is waited for: longer than any timeout of Envoy's.
const PATIENCE: Duration = Duration::from_secs(30);

type Connection = SendRequest<Empty<Bytes>>;

/// Makes one request after the other, and none twice.
#[derive(Debug)]
pub(super) struct Client {
    server: SocketAddr,
    asks: Vec<Ask>,
    next: usize,
    keeps: bool,
    kept: Option<Connection>,
}

impl Client {
    pub(super) fn new(server: SocketAddr, kind: Kind, asks: Vec<Ask>) -> Self {
        Self {
            server,
            asks,
            next: 0,
            keeps: kind != Kind::New,
            kept: None,
        }
    }

    pub(super) async fn ask(&mut self) -> Answer {
        let ask = &self.asks[self.next % self.asks.len()];
        self.next += 1;
        let request = request(self.server, ask);
        let kept = self.kept.take();
        match timeout(PATIENCE, exchange(self.server, kept, request)).await {
            Ok(Ok((status, body, connection))) => {
                self.kept = Some(connection).filter(|_| self.keeps);
                Answer::Response(status, body)
            }
            Ok(Err(what)) => Answer::Transport(what),
            Err(_) => Answer::None,
        }
    }
}

fn request(server: SocketAddr, (path, headers): &Ask) -> Request<Empty<Bytes>> {
    let mut request = Request::get(path).header("host", server.to_string());
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    request
        .body(Empty::new())
        .expect("paths and headers are valid")
}

/// Sends a request over the connection that was kept, or a new one if that was ended before anything was written.
async fn exchange(
    server: SocketAddr,
    kept: Option<Connection>,
    request: Request<Empty<Bytes>>,
) -> Result<(u16, String, Connection), String> {
    let (connection, response) = match send_kept(kept, request).await? {
        Sent::Answered(connection, response) => (connection, response),
        Sent::Not(request) => {
            let mut fresh = connect(server).await?;
            let response = fresh.send_request(request).await;
            let response = response.map_err(|error| format!("new: {}", describe(&error)))?;
            (fresh, response)
        }
    };
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    let body = body.map_err(|error| format!("in the body: {}", describe(&error)))?;
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    Ok((status, body, connection))
}

enum Sent {
    Answered(Connection, Response<Incoming>),
    Not(Request<Empty<Bytes>>),
}

async fn send_kept(
    kept: Option<Connection>,
    request: Request<Empty<Bytes>>,
) -> Result<Sent, String> {
    let Some(mut kept) = kept else {
        return Ok(Sent::Not(request));
    };
    if kept.ready().await.is_err() {
        return Ok(Sent::Not(request));
    }
    match kept.try_send_request(request).await {
        Ok(response) => Ok(Sent::Answered(kept, response)),
        Err(mut error) => match error.take_message() {
            Some(request) => Ok(Sent::Not(request)),
            None => Err(format!("reused: {}", describe(error.error()))),
        },
    }
}

async fn connect(server: SocketAddr) -> Result<Connection, String> {
    let stream = TcpStream::connect(server).await;
    let stream = stream.map_err(|error| format!("connect: {}", error.kind()))?;
    let _ = stream.set_nodelay(true);
    let opened = http1::handshake(TokioIo::new(stream)).await;
    let (connection, driver) = opened.map_err(|error| describe(&error))?;
    tokio::spawn(driver);
    Ok(connection)
}

/// The innermost reason.
fn describe(error: &hyper::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}
