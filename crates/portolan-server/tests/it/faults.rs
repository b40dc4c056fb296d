//! Faults that other control planes shipped, each as a scenario on the wire.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use portolan_core::{Peer, Refusal, well_known};
use portolan_server::{
    Admission, AdmissionRequest, BoxFuture, Callbacks, CloseReason, RequestInfo, StreamInfo,
    Variant, XdsServer, XdsServerBuilder,
};
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use tokio::time::timeout;
use tonic::Code;

use crate::client::{Client, DELTA, SOTW, bodies, clusters, delta_clusters, nack, node};
use crate::loopback::{Running, TOO_LONG, requests, server};
use crate::observers::Panics;
use crate::source::TestSource;

fn builder(source: &TestSource) -> XdsServerBuilder {
    XdsServer::builder(Arc::new(source.clone()))
}

/// Writes down who streams are said to be of when they are admitted and when they end.
#[derive(Debug, Default)]
struct Register(Mutex<Vec<Entry>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    stream: u64,
    what: &'static str,
    zone: Option<String>,
}

impl Register {
    fn enter(&self, stream: &StreamInfo, what: &'static str) {
        self.0.lock().unwrap().push(Entry {
            stream: stream.id(),
            what,
            zone: stream.node().map(|node| node.cluster().to_owned()),
        });
    }

    /// The streams to which this happened, and their zones, by stream.
    fn of(&self, what: &str) -> Vec<(u64, Option<String>)> {
        let entries = self.0.lock().unwrap().clone();
        let mut of: Vec<_> = entries
            .into_iter()
            .filter(|entry| entry.what == what)
            .map(|entry| (entry.stream, entry.zone))
            .collect();
        of.sort_unstable();
        of
    }
}

impl Callbacks for Register {
    fn stream_opened(&self, stream: &StreamInfo) {
        self.enter(stream, "opened");
    }

    fn stream_admitted(&self, stream: &StreamInfo) {
        self.enter(stream, "admitted");
    }

    fn stream_closed(&self, stream: &StreamInfo, _: &CloseReason) {
        self.enter(stream, "closed");
    }
}

/// A first request for all clusters, of a node that says in which zone it is.
fn in_zone(id: &str, zone: &str) -> DiscoveryRequest {
    let mut request = clusters(id);
    request.node.as_mut().unwrap().cluster = zone.to_owned();
    request
}

fn zones(entries: &[(u64, Option<String>)]) -> Vec<Option<&str>> {
    entries.iter().map(|(_, zone)| zone.as_deref()).collect()
}

/// What a node said on its first connection was shown for ever after, whatever it said later.
#[tokio::test(start_paused = true)]
async fn b59_a_node_that_comes_again_is_what_it_says_now() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let register = Arc::new(Register::default());
    let xds = builder(&source).with_callbacks(register.clone()).build();
    let status = |id: &str| xds.status().node(id);
    let mut client = Client::open(&xds, SOTW).await;
    client.send(&in_zone("n", "one"));
    client.response().await;
    assert_eq!(status("n").unwrap().node().cluster(), "one");
    drop(client);
    xds.drained().await;
    assert!(status("n").is_none(), "nothing is kept of it");
    assert_eq!(xds.status().nodes().count(), 0);

    let mut client = Client::open(&xds, SOTW).await;
    client.send(&in_zone("n", "two"));
    client.response().await;
    assert_eq!(status("n").unwrap().node().cluster(), "two");
    assert_eq!(zones(&register.of("admitted")), [Some("one"), Some("two")]);
}

/// The end of a node's old stream took down what was known of its new one.
#[tokio::test(start_paused = true)]
async fn b60_the_end_of_one_stream_leaves_another_of_the_same_node_alone() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut old = Client::of_clusters(&xds, "n").await;
    let response = old.response().await;
    nack(&old, &response, "no");
    old.assert_quiet().await;
    let mut new = Client::of_clusters(&xds, "n").await;
    let response = new.response().await;
    new.ack(&response);
    new.assert_quiet().await;

    let node = xds.status().node("n").unwrap();
    let rejecting: Vec<_> = node.streams().iter().map(|s| s.is_rejecting()).collect();
    assert_eq!(rejecting, [true, false]);
    assert!(node.is_rejecting());
    drop(old);
    new.assert_quiet().await;
    let node = xds.status().node("n").unwrap();
    assert_eq!(node.streams().len(), 1);
    assert!(!node.is_rejecting());
    assert!(node.is_settled());
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&new.response().await), [b"2"]);
}

/// Numbers of streams collided between the variants, and the end of a stream was reported without its node, twice or
/// never.
#[tokio::test(start_paused = true)]
async fn b83_c018_each_stream_has_its_own_number_and_ends_once_with_its_node() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let register = Arc::new(Register::default());
    let xds = builder(&source)
        .with_callbacks(Arc::new(Panics))
        .with_callbacks(register.clone())
        .build();
    let mut half_closed = Client::open(&xds, SOTW).await;
    half_closed.send(&in_zone("n", "half-closed"));
    let delta = Client::open(&xds, DELTA).await;
    let mut request = delta_clusters("n");
    request.node.as_mut().unwrap().cluster = "aborted".to_owned();
    delta.send(&request);
    let silent = Client::open(&xds, DELTA).await;
    let unreadable = Client::open(&xds, SOTW).await;
    unreadable.send_message(b"\xff");
    half_closed.response().await;
    half_closed.half_close();
    assert_eq!(half_closed.ended().await.code, Code::Ok);
    source.state().refusal = Some(Refusal::denied("no"));
    let mut refused = Client::open(&xds, SOTW).await;
    refused.send(&in_zone("n", "refused"));
    refused.ended().await;
    source.state().refusal = None;
    source.state().panics = true;
    let mut panicked = Client::open(&xds, DELTA).await;
    panicked.send(&request);
    assert_eq!(panicked.ended().await.code, Code::Internal);
    drop((half_closed, delta, silent, unreadable, refused, panicked));
    xds.drained().await;

    let (opened, closed) = (register.of("opened"), register.of("closed"));
    let ids = |entries: &[(u64, _)]| entries.iter().map(|(id, _)| *id).collect::<Vec<_>>();
    assert_eq!(ids(&opened), ids(&closed));
    assert!(opened.windows(2).all(|pair| pair[0].0 != pair[1].0));
    let expected = [
        Some("half-closed"),
        Some("aborted"),
        None,
        None,
        Some("refused"),
        Some("aborted"),
    ];
    assert_eq!(zones(&closed), expected);
}

/// Writes down of which node and type each request is said to be, to callbacks and to the admission.
#[derive(Debug, Default)]
struct Requests(Mutex<Vec<String>>);

impl Callbacks for Requests {
    fn request(&self, stream: &StreamInfo, request: &RequestInfo<'_>) {
        let node = stream.node().map_or("nobody", |node| node.id());
        let heard = format!("heard {node} {}", request.type_url());
        self.0.lock().unwrap().push(heard);
    }
}

impl Admission for Requests {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let (node, type_url) = (request.node().id(), request.request().type_url());
        let asked = format!("asked {node} {type_url}");
        self.0.lock().unwrap().push(asked);
        Box::pin(async { Ok(()) })
    }
}

/// Callbacks were shown requests as they had come, so that those which leave out what goes without saying had neither
/// node nor type.
#[tokio::test(start_paused = true)]
async fn b84_a_request_is_shown_with_the_node_and_type_that_go_without_saying() {
    for (method, variant) in [
        ("StreamClusters", Variant::Sotw),
        ("DeltaClusters", Variant::Delta),
    ] {
        let requests = Arc::new(Requests::default());
        let xds = builder(&TestSource::default())
            .with_callbacks(requests.clone())
            .with_admission(requests.clone())
            .with_admission_per_request(true)
            .build();
        let path = format!("/envoy.service.cluster.v3.ClusterDiscoveryService/{method}");
        let mut client = Client::open(&xds, &path).await;
        for node in [Some(node("n")), None] {
            match variant {
                Variant::Delta => client.send(&DeltaDiscoveryRequest {
                    node,
                    resource_names_subscribe: vec!["a".into()],
                    ..DeltaDiscoveryRequest::default()
                }),
                _ => client.send(&DiscoveryRequest {
                    node,
                    resource_names: vec!["a".into()],
                    ..DiscoveryRequest::default()
                }),
            }
        }
        client.assert_quiet().await;
        let shown = requests.0.lock().unwrap().clone();
        let each = ["asked n", "heard n"].map(|who| format!("{who} {}", well_known::CLUSTER));
        assert_eq!(shown, [each.clone(), each].concat());
    }
}

/// Admits a node whose certificate and token are its own, and lets it ask for no more than two names at a time.
#[derive(Debug)]
struct OwnNodeOnly;

impl Admission for OwnNodeOnly {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let id = request.node().id().as_bytes();
        let certified = request.peer().certificates().iter().any(|cert| cert == id);
        let token = request.headers().get("x-token");
        let known = certified && token.is_some_and(|token| token.as_bytes() == id);
        let allowed = known && request.request().names() < 3;
        Box::pin(async move {
            match allowed {
                true => Ok(()),
                false => Err(Refusal::denied("x")),
            }
        })
    }
}

/// A refusal ended in a status of the server's own, or in none, and what had been opened for the stream stayed.
#[tokio::test(start_paused = true)]
async fn b85_c022_a_refusal_is_the_status_of_the_stream_and_leaves_nothing() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = builder(&source)
        .with_peer(|extensions| {
            let certificate = extensions.get::<&str>().copied().unwrap_or_default();
            Peer::unknown().with_certificates([Bytes::from_static(certificate.as_bytes())])
        })
        .with_admission(Arc::new(OwnNodeOnly))
        .with_admission_per_request(true)
        .build();
    let open = async |path, certificate: &'static str, token: &'static str| {
        let client = Client::open_with(&xds, path, |request| {
            request.extension(certificate).header("x-token", token)
        });
        let client = client.await;
        match path {
            DELTA => client.send(&delta_clusters("n")),
            _ => client.send(&clusters("n")),
        }
        client
    };
    for path in [SOTW, DELTA] {
        for (certificate, token) in [("other", "n"), ("n", "other")] {
            let mut stranger = open(path, certificate, token).await;
            let ended = stranger.ended().await;
            assert_eq!((ended.code, &*ended.message), (Code::PermissionDenied, "x"));
            assert_eq!(ended.unread, 0, "no resource was sent");
        }
        xds.drained().await;
        assert_eq!(source.state().opened, 0);
    }

    let mut client = open(SOTW, "n", "n").await;
    assert_eq!(bodies(&client.response().await), [b"1"]);
    client.send(&DiscoveryRequest {
        resource_names: ["a", "b", "c"].map(str::to_owned).into(),
        ..clusters("n")
    });
    let ended = client.ended().await;
    assert_eq!((ended.code, &*ended.message), (Code::PermissionDenied, "x"));
    assert_eq!(ended.unread, 0);
    xds.drained().await;
    assert_eq!(source.views(), 0);
}

/// Server and client waited for each other: the one for a request, the other for the headers of the response.
#[tokio::test]
async fn b93_c011_headers_come_before_anything_was_asked() {
    let xds = server(&TestSource::with_clusters(&[("a", b"1")]));
    let running = Running::start(&xds).await;
    let mut client = running.connect().await;
    let (sender, receiver) = requests();
    let opened = client.stream_aggregated_resources(receiver);
    let mut stream = timeout(TOO_LONG, opened)
        .await
        .unwrap()
        .unwrap()
        .into_inner();
    sender.send(clusters("n")).await.unwrap();
    let response = stream.message().await.unwrap().unwrap();
    assert_eq!(bodies(&response), [b"1"]);

    let (sender, receiver) = requests();
    let opened = client.delta_aggregated_resources(receiver);
    let mut stream = timeout(TOO_LONG, opened)
        .await
        .unwrap()
        .unwrap()
        .into_inner();
    sender.send(delta_clusters("n")).await.unwrap();
    let response = stream.message().await.unwrap().unwrap();
    assert_eq!(response.resources[0].name, "a");
}
