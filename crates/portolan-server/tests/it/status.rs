//! What the status registry knows.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use portolan_core::{Node, Refusal, well_known};
use portolan_server::{
    Callbacks, CloseReason, Event, NodeStatus, StreamInfo, TypeStatus, XdsServer,
};
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};

use crate::client::{Client, DELTA, clusters, delta_answer, delta_clusters, nack, node};
use crate::source::TestSource;

fn server(source: &TestSource) -> XdsServer {
    XdsServer::builder(Arc::new(source.clone())).build()
}

/// What is known of a node's clusters, once its stream has nothing to do.
async fn clusters_of(xds: &XdsServer, client: &mut Client, id: &str) -> TypeStatus {
    client.assert_quiet().await;
    let node = xds.status().node(id).unwrap();
    let clusters = node.streams()[0].of_type(&well_known::CLUSTER);
    clusters.unwrap().clone()
}

fn ids(nodes: impl Iterator<Item = NodeStatus>) -> Vec<String> {
    nodes.map(|node| node.id().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn b86_good_bad_good_shows_as_accepted_rejected_accepted() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let before = SystemTime::now();
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    let status = clusters_of(&xds, &mut client, "n").await;
    assert_eq!(*status.sent().unwrap().version(), *first.version_info);
    assert_eq!(*status.accepted().unwrap().version(), *first.version_info);
    assert!(status.accepted().unwrap().at() >= status.sent().unwrap().at());
    assert!(status.sent().unwrap().at() >= before);
    assert!(!status.is_rejecting());
    assert!(!status.is_pending());

    source.publish(&[("a", b"bad")]);
    let second = client.response().await;
    let pending = xds.status().node("n").unwrap();
    assert!(pending.types().all(|(_, ty)| ty.is_pending()));
    nack(&client, &second, "too bad");
    let status = clusters_of(&xds, &mut client, "n").await;
    assert_eq!(*status.sent().unwrap().version(), *second.version_info);
    assert_eq!(*status.accepted().unwrap().version(), *first.version_info);
    let rejection = status.rejection().unwrap();
    assert_eq!(*rejection.version(), *second.version_info);
    assert_eq!((rejection.code(), rejection.message()), (3, "too bad"));
    assert_eq!(rejection.response().generation().get(), 2);
    assert_eq!(ids(xds.status().rejecting()), ["n"]);
    let since = rejection.since();

    source.publish(&[("a", b"worse")]);
    let third = client.response().await;
    nack(&client, &third, "even worse");
    let status = clusters_of(&xds, &mut client, "n").await;
    let rejection = status.rejection().unwrap();
    assert_eq!(rejection.message(), "even worse");
    assert_eq!(rejection.since(), since, "it was bad all the time");

    source.publish(&[("a", b"1")]);
    let fourth = client.response().await;
    client.ack(&fourth);
    let status = clusters_of(&xds, &mut client, "n").await;
    assert_eq!(*status.accepted().unwrap().version(), *fourth.version_info);
    assert!(!status.is_rejecting());
    assert_eq!(ids(xds.status().rejecting()), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_partial_response_does_not_clear_the_rejection_of_something_else() {
    let source = TestSource::with_clusters(&[("a", b"1"), ("b", b"1")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, DELTA).await;
    client.send(&delta_clusters("n"));
    let first: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&first, None));

    source.publish(&[("a", b"bad"), ("b", b"1")]);
    let bad: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&bad, Some("a is bad")));
    let status = clusters_of(&xds, &mut client, "n").await;
    assert_eq!(status.rejection().unwrap().message(), "a is bad");
    source.publish(&[("a", b"good"), ("b", b"1")]);
    let good: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&good, None));
    let status = clusters_of(&xds, &mut client, "n").await;
    assert_eq!(status.rejection(), None);

    source.publish(&[("a", b"bad"), ("b", b"1")]);
    let bad: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&bad, Some("a is bad")));
    client.assert_quiet().await;
    source.publish(&[("a", b"bad"), ("b", b"2")]);
    let other: DeltaDiscoveryResponse = client.message().await;
    let names: Vec<_> = other.resources.iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["b"]);
    client.send(&delta_answer(&other, None));
    let status = clusters_of(&xds, &mut client, "n").await;
    assert_eq!(status.rejection().unwrap().message(), "a is bad");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_settled_when_nothing_is_left_to_say_or_to_hear() {
    let source = TestSource::default();
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    client.assert_quiet().await;
    let stream = || xds.status().node("n").unwrap().streams()[0].clone();
    assert_eq!(stream().generation(), None);
    assert_eq!(
        ids(xds.status().unsettled()),
        ["n"],
        "nothing is published for it"
    );
    let since = stream().unsettled_since().unwrap();
    assert!(since >= stream().connected_since());

    source.publish(&[("a", b"1")]);
    let first = client.response().await;
    assert_eq!(stream().generation().unwrap().get(), 1);
    assert_eq!(ids(xds.status().unsettled()), ["n"], "it has not answered");
    client.ack(&first);
    client.assert_quiet().await;
    assert!(stream().is_settled());
    assert_eq!(stream().settlement().unwrap().generation().get(), 1);
    assert_eq!(stream().unsettled_since(), None);
    assert_eq!(ids(xds.status().unsettled()), [""; 0]);

    // The client reads this one and asks for no more, so that the next is not even looked at.
    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    client.ack(&second);
    tokio::task::yield_now().await;
    source.publish(&[("a", b"3")]);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stream().generation().unwrap().get(), 2);
    assert!(!stream().is_settled(), "the source said that there is more");
    assert!(stream().unsettled_since().is_some());
    let third = client.response().await;
    nack(&client, &third, "no");
    client.assert_quiet().await;
    let settlement = stream().settlement().unwrap();
    assert!(stream().is_settled(), "a rejection is an answer");
    assert!(settlement.is_rejecting());
}

#[tokio::test(start_paused = true)]
async fn a_publication_that_does_not_concern_a_stream_settles_without_a_response() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    source.publish(&[("a", b"1")]);
    client.assert_quiet().await;
    let stream = xds.status().node("n").unwrap().streams()[0].clone();
    assert_eq!(stream.generation().unwrap().get(), 2);
    assert!(stream.is_settled());
    let sent = stream.types()[0].sent().unwrap();
    assert_eq!(sent.generation().get(), 1);
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_counted() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, DELTA).await;
    let change = |subscribe: &[&str], unsubscribe: &[&str]| DeltaDiscoveryRequest {
        node: Some(node("n")),
        type_url: well_known::ENDPOINT.as_str().into(),
        resource_names_subscribe: subscribe.iter().map(|&name| name.to_owned()).collect(),
        resource_names_unsubscribe: unsubscribe.iter().map(|&name| name.to_owned()).collect(),
        ..DeltaDiscoveryRequest::default()
    };
    client.send(&change(&["x", "y", "z"], &[]));
    client.send(&delta_clusters("n"));
    client.send(&change(&["x", "v"], &["y", "never"]));
    for _ in 0..3 {
        client.message::<DeltaDiscoveryResponse>().await;
    }
    client.assert_quiet().await;
    let stream = xds.status().node("n").unwrap().streams()[0].clone();
    let endpoints = stream.of_type(&well_known::ENDPOINT).unwrap();
    assert_eq!((endpoints.names(), endpoints.is_wildcard()), (3, false));
    let clusters = stream.of_type(&well_known::CLUSTER).unwrap();
    assert_eq!((clusters.names(), clusters.is_wildcard()), (0, true));
}

#[tokio::test(start_paused = true)]
async fn nodes_come_in_the_order_of_their_ids_and_only_if_they_were_admitted() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut clients = Vec::new();
    for id in ["c", "a", "d", "b"] {
        let mut client = Client::of_clusters(&xds, id).await;
        client.response().await;
        clients.push(client);
    }
    source.state().refusal = Some(Refusal::denied("no"));
    let mut refused = Client::of_clusters(&xds, "e").await;
    refused.ended().await;
    assert_eq!(ids(xds.status().nodes()), ["a", "b", "c", "d"]);
    assert!(xds.status().node("e").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_fetch_is_not_among_the_streams() {
    let xds = server(&TestSource::default());
    let path = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters";
    let mut client = Client::open(&xds, path).await;
    client.send(&clusters("n"));
    client.half_close();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(xds.streams(), 1, "it waits for something to be published");
    assert!(xds.status().node("n").is_none());
    client.ended().await;
}

#[tokio::test(start_paused = true)]
async fn observers_find_recorded_what_they_are_told() {
    #[derive(Debug, Default)]
    struct Reader {
        xds: OnceLock<XdsServer>,
        found: Mutex<Vec<String>>,
    }
    impl Reader {
        fn find(&self, stream: &StreamInfo, when: &str) {
            let id = stream.node().map_or("", |node: &Arc<Node>| node.id());
            let node = self.xds.get().unwrap().status().node(id);
            let found = node.map(|node| node.is_rejecting());
            self.found.lock().unwrap().push(format!("{when} {found:?}"));
        }
    }
    impl Callbacks for Reader {
        fn stream_admitted(&self, stream: &StreamInfo) {
            self.find(stream, "admitted");
        }
        fn event(&self, stream: &StreamInfo, event: &Event) {
            if matches!(event, Event::Nacked { .. }) {
                self.find(stream, "nacked");
            }
        }
        fn stream_closed(&self, stream: &StreamInfo, _: &CloseReason) {
            self.find(stream, "closed");
        }
    }

    let source = TestSource::with_clusters(&[("a", b"1")]);
    let reader = Arc::new(Reader::default());
    let xds = XdsServer::builder(Arc::new(source))
        .with_callbacks(reader.clone())
        .build();
    reader.xds.set(xds.clone()).unwrap();
    let mut client = Client::of_clusters(&xds, "n").await;
    let response = client.response().await;
    nack(&client, &response, "no");
    client.assert_quiet().await;
    drop(client);
    xds.drained().await;
    let expected = [
        "admitted Some(false)",
        "nacked Some(true)",
        "closed Some(true)",
    ];
    assert_eq!(*reader.found.lock().unwrap(), expected);
    assert!(xds.status().node("n").is_none());
}
