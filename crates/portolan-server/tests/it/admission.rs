//! Who is served, as `Admission` decides.

use std::sync::{Arc, Mutex};

use portolan_core::{Refusal, RefusalKind, well_known};
use portolan_server::{Admission, AdmissionRequest, BoxFuture, XdsServer, XdsServerBuilder};
use portolan_types::envoy::service::discovery::v3::DiscoveryRequest;
use tokio::sync::Notify;
use tonic::Code;

use crate::client::{Client, DELTA, SOTW, bodies, clusters, delta_clusters};
use crate::source::TestSource;

fn builder(source: &TestSource) -> XdsServerBuilder {
    XdsServer::builder(Arc::new(source.clone()))
}

/// Waits to be told, then refuses whom the headers do not vouch for.
#[derive(Debug, Default)]
struct Gate {
    asked: Notify,
    decide: Notify,
}

impl Admission for Gate {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            self.asked.notify_one();
            self.decide.notified().await;
            assert!(!request.node().raw().is_empty());
            match request.headers().get("x-allow") {
                Some(allow) if allow == request.node().id() => Ok(()),
                _ => Err(Refusal::new(RefusalKind::Unauthenticated, "who are you?")),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_not_admitted_is_sent_no_byte_and_leaves_nothing() {
    for path in [SOTW, DELTA] {
        let source = TestSource::with_clusters(&[("a", b"1")]);
        let gate = Arc::new(Gate::default());
        let xds = builder(&source).with_admission(gate.clone()).build();
        let mut client = Client::open(&xds, path).await;
        match path {
            SOTW => client.send(&clusters("n")),
            _ => client.send(&delta_clusters("n")),
        }
        gate.asked.notified().await;
        client.assert_quiet().await;
        gate.decide.notify_one();
        let ended = client.ended().await;
        assert_eq!(ended.code, Code::Unauthenticated);
        assert_eq!(ended.message, "who are you?");
        assert_eq!(ended.unread, 0);
        xds.drained().await;
        assert_eq!(source.state().opened, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_admitted_is_served() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let gate = Arc::new(Gate::default());
    gate.decide.notify_one();
    let xds = builder(&source).with_admission(gate).build();
    let mut client = Client::open_with(&xds, SOTW, |r| r.header("x-allow", "n")).await;
    client.send(&clusters("n"));
    assert_eq!(bodies(&client.response().await), [b"1"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_ends_the_wait_for_admission() {
    let gate = Arc::new(Gate::default());
    let xds = builder(&TestSource::default())
        .with_admission(gate.clone())
        .build();
    let client = Client::of_clusters(&xds, "n").await;
    gate.asked.notified().await;
    drop(client);
    xds.drained().await;
}

/// Notes each request, and admits those for clusters with fewer than three names.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Admission for Notes {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            let raw = !request.node().raw().is_empty();
            let (of, names) = (request.request().type_url(), request.request().names());
            let short = of.rsplit('.').next().unwrap_or_default();
            let who = request.headers().get("x-who").unwrap().to_str().unwrap();
            let note = format!("{who} {} {short} {names} raw={raw}", request.node().id());
            self.0.lock().unwrap().push(note);
            assert_ne!(short, "Panic");
            match of == well_known::CLUSTER.as_str() && names < 3 {
                true => Ok(()),
                false => Err(Refusal::denied(format!("no {names} of {short}"))),
            }
        })
    }
}

async fn open(source: &TestSource, per_request: bool) -> (XdsServer, Arc<Notes>, Client) {
    let notes = Arc::new(Notes::default());
    let xds = builder(source)
        .with_admission(notes.clone())
        .with_admission_per_request(per_request)
        .build();
    let mut client = Client::open_with(&xds, SOTW, |r| r.header("x-who", "w")).await;
    client.send(&clusters("n"));
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    (xds, notes, client)
}

fn more(type_url: &str, names: &[&str]) -> DiscoveryRequest {
    DiscoveryRequest {
        type_url: type_url.into(),
        resource_names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..DiscoveryRequest::default()
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_request_stands_for_all_unless_each_is_to_be_admitted() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (_, notes, mut client) = open(&source, false).await;
    client.send(&more("type.googleapis.com/x.Other", &["a"]));
    client.assert_quiet().await;
    assert_eq!(*notes.0.lock().unwrap(), ["w n Cluster 0 raw=true"]);
}

#[tokio::test(start_paused = true)]
async fn each_further_request_is_admitted_by_type_and_names() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, notes, mut client) = open(&source, true).await;
    let url = well_known::CLUSTER.to_string();
    client.send(&more(&url, &["a", "b"]));
    client.response().await;
    client.send(&more(&url, &["a", "b", "c"]));
    client.send(&more(&url, &["a"]));
    let ended = client.ended().await;
    assert_eq!(
        (ended.code, &*ended.message),
        (Code::PermissionDenied, "no 3 of Cluster")
    );
    assert_eq!(ended.unread, 0);
    let expected = [
        "w n Cluster 0 raw=true",
        "w n Cluster 0 raw=false",
        "w n Cluster 2 raw=false",
        "w n Cluster 3 raw=false",
    ];
    assert_eq!(*notes.0.lock().unwrap(), expected);
    xds.drained().await;
    assert_eq!(source.views(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_a_further_request_ends_that_stream_alone() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, _, mut client) = open(&source, true).await;
    let mut other = Client::open_with(&xds, SOTW, |r| r.header("x-who", "o")).await;
    other.send(&clusters("other"));
    let first = other.response().await;
    other.ack(&first);
    client.send(&more("type.googleapis.com/x.Panic", &[]));
    assert_eq!(client.ended().await.code, Code::Internal);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&other.response().await), [b"2"]);
}

/// Admits the first request, and thinks about others for ever.
#[derive(Debug, Default)]
struct Ponders(Notify);

impl Admission for Ponders {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let first = request.request().nonce().is_empty();
        Box::pin(async move {
            if !first {
                self.0.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_a_request_is_thought_about_and_the_stream_can_still_end() {
    for drain in [true, false] {
        let source = TestSource::with_clusters(&[("a", b"1")]);
        let ponders = Arc::new(Ponders::default());
        let xds = builder(&source)
            .with_admission(ponders.clone())
            .with_admission_per_request(true)
            .build();
        let mut client = Client::of_clusters(&xds, "n").await;
        let first = client.response().await;
        client.ack(&first);
        ponders.0.notified().await;
        source.publish(&[("a", b"2")]);
        client.assert_quiet().await;
        match drain {
            true => {
                xds.drain();
                let ended = client.ended().await;
                assert_eq!((ended.code, ended.unread), (Code::Ok, 0));
            }
            false => drop(client),
        }
        xds.drained().await;
        assert_eq!(source.views(), 0);
    }
}
