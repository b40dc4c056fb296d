//! What observers hear.

use std::sync::{Arc, Mutex};

use portolan_core::{Node, Peer};
use portolan_server::{
    Callbacks, CloseReason, Event, RequestInfo, ResponseInfo, StreamInfo, XdsServer,
    XdsServerBuilder,
};

use crate::client::{Client, SOTW, bodies, clusters};
use crate::source::TestSource;

/// Writes down what it hears.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Vec<String>>);

impl Journal {
    fn write(&self, stream: &StreamInfo, what: &str) {
        let node = stream.node().map_or("?", |node| node.id());
        self.0.lock().unwrap().push(format!("{node} {what}"));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Callbacks for Journal {
    fn stream_opened(&self, stream: &StreamInfo) {
        self.write(stream, "opened");
    }

    fn stream_admitted(&self, stream: &StreamInfo) {
        self.write(stream, "admitted");
    }

    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        let reason = match reason {
            CloseReason::NotAdmitted(_) | CloseReason::NoSource(_) => "refused".to_owned(),
            CloseReason::Unreadable(_) => "unreadable".to_owned(),
            reason => format!("{reason:?}"),
        };
        self.write(stream, &format!("closed {reason}"));
    }

    fn request(&self, stream: &StreamInfo, request: &RequestInfo<'_>) {
        assert!(request.message_len() > 0);
        let (names, nonce) = (request.names(), request.nonce());
        self.write(stream, &format!("request names={names} nonce={nonce:?}"));
    }

    fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
        assert!(response.message_len() > 0);
        let (nonce, resources) = (response.nonce(), response.resources());
        let reason = response.reason();
        self.write(
            stream,
            &format!("response {nonce} resources={resources} {reason:?}"),
        );
    }

    fn event(&self, stream: &StreamInfo, event: &Event) {
        if let Event::Acked { nonce, .. } = event {
            self.write(stream, &format!("acked {nonce}"));
        }
    }

    fn node_changed(&self, stream: &StreamInfo, node: &Node) {
        self.write(stream, &format!("says it is {}", node.id()));
    }
}

/// Panics whenever it is called.
#[derive(Debug)]
pub(crate) struct Panics;

impl Callbacks for Panics {
    fn stream_opened(&self, _: &StreamInfo) {
        panic!("opened");
    }

    fn stream_admitted(&self, _: &StreamInfo) {
        panic!("admitted");
    }

    fn stream_closed(&self, _: &StreamInfo, _: &CloseReason) {
        panic!("closed");
    }

    fn request(&self, _: &StreamInfo, _: &RequestInfo<'_>) {
        panic!("request");
    }

    fn response(&self, _: &StreamInfo, _: &ResponseInfo<'_>) {
        panic!("response");
    }

    fn event(&self, _: &StreamInfo, _: &Event) {
        panic!("event");
    }
}

fn observed(source: &TestSource) -> (XdsServerBuilder, Arc<Journal>) {
    let journal = Arc::new(Journal::default());
    let builder = XdsServer::builder(Arc::new(source.clone())).with_callbacks(journal.clone());
    (builder, journal)
}

#[tokio::test(start_paused = true)]
async fn observers_hear_everything_in_order() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    drop(client);
    xds.drained().await;
    let expected = [
        "? opened".to_owned(),
        "n admitted".to_owned(),
        "n request names=0 nonce=\"\"".to_owned(),
        format!("n response {} resources=1 Owed", first.nonce),
        format!("n request names=0 nonce={:?}", first.nonce),
        format!("n acked {}", first.nonce),
        "n closed Gone".to_owned(),
    ];
    assert_eq!(journal.lines(), expected);
}

#[tokio::test(start_paused = true)]
async fn c004_c005_a_node_that_is_repeated_or_changed_changes_nothing() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut client = Client::of_clusters(&xds, "n1").await;
    let first = client.response().await;
    for id in ["n1", "n2", "n2", "n1"] {
        let mut request = clusters(id);
        request.version_info = first.version_info.clone();
        request.response_nonce = first.nonce.clone();
        client.send(&request);
    }
    client.assert_quiet().await;
    let lines = journal.lines();
    let says = |line: &&String| line.contains("says");
    let says: Vec<_> = lines.iter().filter(says).collect();
    assert_eq!(says, ["n1 says it is n2", "n1 says it is n1"]);
    assert_eq!(source.state().opened, 1);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&client.response().await), [b"2"]);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_observer_touches_neither_stream_nor_other_observers() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let journal = Arc::new(Journal::default());
    let xds = XdsServer::builder(Arc::new(source.clone()))
        .with_callbacks(Arc::new(Panics))
        .with_callbacks(journal.clone())
        .build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&client.response().await), [b"2"]);
    drop(client);
    xds.drained().await;
    let lines = journal.lines();
    assert_eq!(lines[0], "? opened");
    assert_eq!(
        lines.iter().filter(|line| line.contains("closed")).count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_under_a_stream_ends_that_stream_alone() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.with_callbacks(Arc::new(Panics)).build();
    let mut good = Client::of_clusters(&xds, "good").await;
    let first = good.response().await;
    good.ack(&first);
    source.state().panics = true;
    let mut bad = Client::of_clusters(&xds, "bad").await;
    assert_eq!(bad.ended().await.code, tonic::Code::Internal);
    assert!(journal.lines().contains(&"bad closed Panicked".to_owned()));
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&good.response().await), [b"2"]);
    assert_eq!(xds.streams(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_peer_is_who_the_server_says_it_is() {
    #[derive(Debug, Default)]
    struct Peers(Mutex<Vec<Peer>>);
    impl Callbacks for Peers {
        fn stream_opened(&self, stream: &StreamInfo) {
            self.0.lock().unwrap().push(stream.peer().clone());
        }
    }

    let peers = Arc::new(Peers::default());
    let xds = XdsServer::builder(Arc::new(TestSource::default()))
        .with_callbacks(peers.clone())
        .with_peer(|extensions| match extensions.get::<&str>() {
            Some(identity) => Peer::unknown().with_identity(*identity),
            None => panic!("nobody authenticated the connection"),
        })
        .build();
    let _client = Client::open_with(&xds, SOTW, |r| r.extension("spiffe://a/b")).await;
    let mut stranger = Client::open(&xds, SOTW).await;
    assert_eq!(stranger.ended().await.code, tonic::Code::Internal);
    let expected = [Peer::unknown().with_identity("spiffe://a/b")];
    assert_eq!(*peers.0.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn bytes_are_in_flight_until_the_transport_lets_go_of_them() {
    #[derive(Debug, Default)]
    struct Last(Mutex<Option<StreamInfo>>);
    impl Callbacks for Last {
        fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
            assert_eq!(stream.bytes_in_flight(), response.message_len() as u64);
            *self.0.lock().unwrap() = Some(stream.clone());
        }
    }

    let source = TestSource::with_clusters(&[("a", &[0; 1000])]);
    let last = Arc::new(Last::default());
    let xds = XdsServer::builder(Arc::new(source))
        .with_callbacks(last.clone())
        .build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let head = client.frame().await;
    let rest = client.frame().await;
    let stream = last.0.lock().unwrap().clone().unwrap();
    drop(head);
    assert!(stream.bytes_in_flight() > 1000);
    drop(rest);
    assert_eq!(stream.bytes_in_flight(), 0);
}
