//! What a client says of itself, and when.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use bytes::Bytes;
use portolan_core::{Announced, Node, Peer, Refusal, Source, View, well_known};
use portolan_server::{
    Admission, AdmissionRequest, BoxFuture, Callbacks, StreamInfo, XdsServer, XdsServerBuilder,
};
use portolan_types::envoy::config::core::v3 as core;
use portolan_types::envoy::service::discovery::v3::DiscoveryRequest;
use portolan_types::xds::core::v3::ContextParams;
use prost::Message;

use crate::client::{Client, SOTW, bodies, clusters, nack, node};
use crate::observers::Journal;
use crate::source::TestSource;

fn builder(source: &TestSource) -> XdsServerBuilder {
    XdsServer::builder(Arc::new(source.clone()))
}

#[tokio::test(start_paused = true)]
async fn c002_c003_later_messages_need_no_node_whatever_they_say() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let journal = Arc::new(Journal::default());
    let xds = builder(&source).with_callbacks(journal.clone()).build();
    let mut client = Client::of_clusters(&xds, "n1").await;
    let accepted = client.response().await;
    client.ack(&accepted);
    source.publish(&[("a", b"2")]);
    let rejected = client.response().await;
    nack(&client, &rejected, "no");
    client.send(&DiscoveryRequest {
        type_url: well_known::ENDPOINT.to_string(),
        resource_names: vec!["e".to_owned()],
        ..DiscoveryRequest::default()
    });
    client.assert_quiet().await;
    source.publish(&[("a", b"3")]);
    assert_eq!(bodies(&client.response().await), [b"3"]);
    source.publish_of(&well_known::ENDPOINT, &[("e", b"1")]);
    let endpoints = client.response().await;
    assert_eq!(endpoints.type_url, well_known::ENDPOINT.as_str());
    let lines = journal.lines();
    let after = lines.iter().skip(1);
    assert!(after.clone().all(|l| l.starts_with("n1 ")), "{lines:?}");
    assert_eq!(source.state().opened, 1);
}

/// Notes the dynamic parameters that a node comes with later.
#[derive(Debug, Default)]
struct Changes(Mutex<Vec<core::Node>>);

impl Callbacks for Changes {
    fn node_changed(&self, stream: &StreamInfo, node: &Node) {
        assert_eq!(stream.node().map(|n| n.id()), Some(node.id()));
        let said = core::Node::decode(node.raw().clone()).unwrap();
        self.0.lock().unwrap().push(said);
    }
}

fn with_parameter(value: &str) -> core::Node {
    let mut said = node("n");
    let params = [("k".to_owned(), value.to_owned())].into();
    let of_clusters = (well_known::CLUSTER.to_string(), ContextParams { params });
    said.dynamic_parameters = [of_clusters].into();
    said
}

#[tokio::test(start_paused = true)]
async fn c006_what_a_node_says_otherwise_later_is_told() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let changes = Arc::new(Changes::default());
    let xds = builder(&source).with_callbacks(changes.clone()).build();
    let mut client = Client::open(&xds, SOTW).await;
    let mut request = clusters("n");
    for value in ["1", "1", "2"] {
        request.node = Some(with_parameter(value));
        client.send(&request);
        if request.response_nonce.is_empty() {
            request.response_nonce = client.response().await.nonce;
        }
    }
    client.assert_quiet().await;
    assert_eq!(*changes.0.lock().unwrap(), [with_parameter("2")]);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&client.response().await), [b"2"]);
    assert_eq!(source.state().opened, 1, "it is the same stream");
}

#[tokio::test(start_paused = true)]
async fn c007_a_node_without_an_id_is_served_as_such() {
    for required in [true, false] {
        let source = TestSource::with_clusters(&[("a", b"1")]);
        let xds = builder(&source).with_node_required(required).build();
        let mut client = Client::of_clusters(&xds, "").await;
        assert_eq!(bodies(&client.response().await), [b"1"]);
    }
}

/// A node that says all that one can say.
fn full() -> core::Node {
    let pipe = core::Pipe {
        path: "/run/x".to_owned(),
        mode: 0,
    };
    let address = core::Address {
        address: Some(core::address::Address::Pipe(pipe)),
    };
    let metadata = prost_types::Struct {
        fields: [("role".to_owned(), prost_types::Value::from("edge"))].into(),
    };
    #[expect(deprecated, reason = "clients say it")]
    core::Node {
        cluster: "c".to_owned(),
        metadata: Some(metadata),
        locality: Some(core::Locality {
            region: "r".to_owned(),
            zone: "z".to_owned(),
            sub_zone: "s".to_owned(),
        }),
        user_agent_name: "envoy".to_owned(),
        extensions: vec![core::Extension {
            name: "x".to_owned(),
            ..core::Extension::default()
        }],
        client_features: vec!["a.feature".to_owned()],
        listening_addresses: vec![address],
        user_agent_version_type: Some(core::node::UserAgentVersionType::UserAgentVersion(
            "1.40".to_owned(),
        )),
        ..with_parameter("1")
    }
}

/// Keeps the nodes that it is shown, as an admission, as an observer and as a source.
#[derive(Clone, Debug, Default)]
struct Shown {
    source: TestSource,
    whole: Arc<Mutex<Vec<Bytes>>>,
    told: Arc<Mutex<Vec<Node>>>,
}

impl Admission for Shown {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        self.whole
            .lock()
            .unwrap()
            .push(request.node().raw().clone());
        Box::pin(async { Ok(()) })
    }
}

impl Callbacks for Shown {
    fn stream_admitted(&self, stream: &StreamInfo) {
        let node = stream.node().unwrap();
        self.told.lock().unwrap().push(Node::clone(node));
    }
}

impl Source for Shown {
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        self.whole.lock().unwrap().push(node.raw().clone());
        self.source.open(node, peer, waker)
    }

    fn announce(&self, budget: usize) -> Announced {
        self.source.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.source.register_announcer(waker);
    }
}

#[tokio::test(start_paused = true)]
async fn c008_all_that_a_node_says_reaches_admission_and_source_and_what_it_is_the_observers() {
    let shown = Shown::default();
    let xds = XdsServer::builder(Arc::new(shown.clone()))
        .with_admission(Arc::new(shown.clone()))
        .with_callbacks(Arc::new(shown.clone()))
        .build();
    let mut client = Client::open(&xds, SOTW).await;
    client.send(&DiscoveryRequest {
        node: Some(full()),
        ..clusters("n")
    });
    client.assert_quiet().await;
    let whole = shown.whole.lock().unwrap().clone();
    assert_eq!(whole.len(), 2);
    for raw in whole {
        assert_eq!(core::Node::decode(raw).unwrap(), full());
    }
    let told = shown.told.lock().unwrap();
    let node = &told[0];
    assert_eq!((node.id(), node.cluster()), ("n", "c"));
    let locality = node.locality();
    let place = (locality.region(), locality.zone(), locality.sub_zone());
    assert_eq!(place, ("r", "z", "s"));
    let agent = (node.user_agent_name(), node.user_agent_version());
    assert_eq!(agent, ("envoy", "1.40"));
    assert_eq!(node.client_features(), ["a.feature"]);
    assert!(node.metadata().contains_key("role"));
}

#[tokio::test(start_paused = true)]
async fn c009_features_that_nobody_knows_do_no_harm() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = builder(&source).build();
    let mut client = Client::open(&xds, SOTW).await;
    let mut request = clusters("n");
    let features = ["foo.bar", "xds.config.resource-in-sotw", "", "\u{1f600}"];
    request.node.as_mut().unwrap().client_features = features.map(str::to_owned).into();
    client.send(&request);
    let first = client.response().await;
    assert_eq!(bodies(&first), [b"1"]);
    client.ack(&first);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&client.response().await), [b"2"]);
}
