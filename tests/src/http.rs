use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
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
    /// The body, as text.
    pub body: String,
}

/// One request on a connection of its own.
///
/// # Errors
/// There was no response within five seconds.
pub async fn get(server: SocketAddr, path: &str) -> Result<Reply, TestError> {
    let client =
        Client::builder(TokioExecutor::new()).build::<_, Empty<Bytes>>(HttpConnector::new());
    let fetch = async {
        let response = client
            .get(format!("http://{server}{path}").parse()?)
            .await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Reply { status, body })
    };
    tokio::time::timeout(Duration::from_secs(5), fetch).await?
}
