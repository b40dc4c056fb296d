//! The health service says what the server does.

use std::sync::Arc;

use portolan_server::service::{Ads, ServiceKind};
use portolan_server::{ServerHealth, XdsServer};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::health_server::HealthServer;

use crate::client::{Client, SOTW};
use crate::loopback::TOO_LONG;
use crate::source::TestSource;

fn server() -> XdsServer {
    XdsServer::builder(Arc::new(TestSource::default()))
        .with_ready(false)
        .build()
}

fn client(xds: &XdsServer) -> HealthClient<HealthServer<ServerHealth>> {
    HealthClient::new(xds.health())
}

fn of(service: &str) -> Request<HealthCheckRequest> {
    Request::new(HealthCheckRequest {
        service: service.into(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_check_says_whether_streams_are_taken() {
    let xds = server();
    let mut client = client(&xds);
    for service in [
        "",
        Ads::NAME,
        "ratelimit.service.ratelimit.v3.RateLimitConfigDiscoveryService",
    ] {
        for (ready, expected) in [
            (false, ServingStatus::NotServing),
            (true, ServingStatus::Serving),
        ] {
            xds.set_ready(ready);
            let status = client
                .check(of(service))
                .await
                .unwrap()
                .into_inner()
                .status();
            assert_eq!(status, expected);
            let refused = Client::open(&xds, SOTW)
                .await
                .headers
                .contains_key("grpc-status");
            assert_eq!(refused, !ready);
        }
    }
    let unknown = client.check(of("x.Other")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    xds.drain();
    xds.set_ready(true);
    let status = client.check(of("")).await.unwrap().into_inner().status();
    assert_eq!(status, ServingStatus::NotServing, "draining is for good");
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_each_change_and_ends_with_the_drain() {
    let xds = server();
    let health = client(&xds);
    let watch = async |service: &str| {
        let watch = health.clone().watch(of(service)).await.unwrap();
        watch.into_inner().map(|status| status.unwrap().status())
    };
    let mut server = watch("").await;
    let mut ads = watch(Ads::NAME).await;
    let mut unknown = watch("x.Other").await;
    assert_eq!(server.next().await, Some(ServingStatus::NotServing));
    assert_eq!(ads.next().await, Some(ServingStatus::NotServing));
    assert_eq!(unknown.next().await, Some(ServingStatus::ServiceUnknown));
    xds.set_ready(true);
    assert_eq!(server.next().await, Some(ServingStatus::Serving));
    assert_eq!(ads.next().await, Some(ServingStatus::Serving));
    xds.set_ready(true);
    assert!(
        timeout(TOO_LONG, server.next()).await.is_err(),
        "nothing changed"
    );
    xds.drain();
    assert_eq!(server.next().await, Some(ServingStatus::NotServing));
    assert_eq!(server.next().await, None);
    assert_eq!(ads.next().await, Some(ServingStatus::NotServing));
    assert_eq!(ads.next().await, None);
    assert_eq!(unknown.next().await, None);
}
