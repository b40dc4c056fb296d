//! What Envoy sends the traffic to.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use portolan_tests::TestError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

/// A server that answers with its name, in the way that the query of a request asks for:
///
/// | query | answer |
/// |---|---|
/// | `late_head=MS` | nothing for so long |
/// | `late_body=MS` | the rest of the body after so long |
/// | `late_failure=MS` | after so long 503, if it is the first attempt |
///
/// Stops when dropped.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Upstream {
    /// Starts on a free port of the loopback address; with `tls`, clients must speak it.
    pub(crate) async fn start(
        name: &'static str,
        tls: Option<TlsAcceptor>,
    ) -> Result<Self, TestError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, name).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, name).await;
                            }
                        }
                    }
                });
            }
        });
        Ok(Self {
            name,
            address,
            task,
        })
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, name: &'static str) {
    let service =
        service_fn(|request| async move { Ok::<_, Infallible>(answer(&request, name).await) });
    // How a connection ends is the client's affair, and counted there.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

type Answer =
    Response<Either<Full<Bytes>, StreamBody<ReceiverStream<Result<Frame<Bytes>, Infallible>>>>>;

async fn answer(request: &Request<Incoming>, name: &'static str) -> Answer {
    let query = request.uri().query().unwrap_or_default();
    let asked: HashMap<_, _> = query.split('&').filter_map(|p| p.split_once('=')).collect();
    let late = |way: &str| {
        let millis = asked.get(way)?.parse().ok()?;
        Some(Duration::from_millis(millis))
    };
    if let Some(late) = late("late_head") {
        sleep(late).await;
    }
    let attempt = request.headers().get("x-envoy-attempt-count");
    if let Some(late) = late("late_failure").filter(|_| attempt.is_none_or(|count| count == "1")) {
        sleep(late).await;
        let mut response = Response::new(Either::Left(Full::default()));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return response;
    }
    match late("late_body") {
        None => Response::new(Either::Left(Full::from(name))),
        Some(late) => Response::new(Either::Right(StreamBody::new(in_two(name, late)))),
    }
}

/// A body whose second half comes late.
fn in_two(body: &'static str, late: Duration) -> ReceiverStream<Result<Frame<Bytes>, Infallible>> {
    let (sender, receiver) = mpsc::channel(1);
    let (first, second) = body.split_at(body.len() / 2);
    tokio::spawn(async move {
        let frame = |part: &'static str| Ok(Frame::data(Bytes::from_static(part.as_bytes())));
        if sender.send(frame(first)).await.is_ok() {
            sleep(late).await;
            let _ = sender.send(frame(second)).await;
        }
    });
    ReceiverStream::new(receiver)
}
