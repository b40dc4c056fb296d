use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::header::{HeaderName, HeaderValue};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::TestError;

/// An HTTP response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, as text.
    pub body: String,
}

/// One request on a connection of its own.
///
/// # Errors
/// There was no response within five seconds.
pub async fn get(server: SocketAddr, path: &str) -> Result<Reply, TestError> {
    get_with(server, path, &[]).await
}

/// As [`get`], with headers.
///
/// # Errors
/// As [`get`].
pub async fn get_with(
    server: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<Reply, TestError> {
    let client =
        Client::builder(TokioExecutor::new()).build::<_, Empty<Bytes>>(HttpConnector::new());
    let mut request = Request::get(format!("http://{server}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::new())?;
    let fetch = async {
        let (head, body) = client.request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), text(value.as_bytes()))
        };
        Ok(Reply {
            status: head.status.as_u16(),
            headers: head.headers.iter().map(header).collect(),
            body: text(&body),
        })
    };
    tokio::time::timeout(Duration::from_secs(5), fetch).await?
}
