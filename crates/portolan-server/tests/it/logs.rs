//! What is logged, and that it is documented.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use portolan_core::well_known::{self, CLUSTER, ENDPOINT, ROUTE};
use portolan_core::{Facts, ReadyWhen, Reference, References, Resource, Snapshot, TypeUrl};
use portolan_server::{Callbacks, SafeTimes, SessionConfig, StreamInfo, Transitions, XdsServer};
use tracing::callsite::rebuild_interest_cache;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, registry};

use crate::client::{Client, SOTW, clusters, nack};
use crate::source::TestSource;

/// Remembers what the lines say and which fields they have, as rows of the documentation's tables.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    events: BTreeSet<String>,
    span_fields: BTreeSet<&'static str>,
    /// What was recorded as the `node` of a span after its start.
    nodes: Vec<String>,
}

/// The fields of an event or a span, and its message.
#[derive(Debug, Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn value(&self, name: &str) -> &str {
        let mut fields = self.0.iter();
        fields
            .find(|field| field.0 == name)
            .map_or("", |field| &field.1)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

/// A message is the first field of an event; a field of that name that comes later is a field.
fn row(event: &Event<'_>) -> String {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let (_, message) = fields.0.remove(0);
    let names = fields.0.iter().map(|(name, _)| format!("`{name}`"));
    let level = event.metadata().level();
    format!(
        "| {level} | `{message}` | {} |",
        names.collect::<Vec<_>>().join(", ")
    )
}

impl<S: Subscriber> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("portolan_server")
    }

    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        assert_eq!(span.metadata().name(), "xds_stream");
        let fields = span.metadata().fields().iter().map(|field| field.name());
        self.0.lock().unwrap().span_fields.extend(fields);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let node = fields.value("node").to_owned();
        self.0.lock().unwrap().nodes.push(node);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let row = row(event);
        self.0.lock().unwrap().events.insert(row);
    }
}

#[derive(Debug)]
struct Panics;

impl Callbacks for Panics {
    fn stream_opened(&self, _: &StreamInfo) {
        panic!("opened");
    }
}

fn documentation() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md");
    std::fs::read_to_string(path).unwrap()
}

/// Does a little of everything that there is a line for.
async fn eventful_life(xds: &XdsServer, source: &TestSource) {
    let mut client = Client::of_clusters(xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.ack(&first);
    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    client.ack(&second);
    source.publish(&[("a", b"3")]);
    let third = client.response().await;
    // The next has to wait until time is up.
    source.publish(&[("a", b"4")]);
    let fourth = client.response().await;
    nack(&client, &third, "no");
    client.ack(&fourth);
    let mut another = clusters("m");
    another.type_url = "acme.Unknown".into();
    client.send(&another);
    another.type_url = well_known::LOCALITY_ENDPOINT.as_str().into();
    client.send(&another);
    another.type_url = fourth.type_url.clone();
    another.response_nonce = fourth.nonce.clone();
    another.resource_names = vec!["a".into()];
    client.send(&another);
    client.response().await;
    xds.drain();
    client.ended().await;
    Client::open(xds, SOTW).await.ended().await;
    xds.drained().await;
}

/// A route table's body is the name of the cluster that it leads to, and a cluster's that of its assignment.
#[derive(Debug)]
struct Tables;

impl References for Tables {
    fn facts(&self, type_url: &TypeUrl, body: &Bytes) -> Facts {
        let target = match type_url {
            url if *url == ROUTE => Some((CLUSTER, "cluster")),
            url if *url == CLUSTER => Some((ENDPOINT, "eds")),
            _ => None,
        };
        let name = std::str::from_utf8(body).unwrap_or_default();
        let references = target.map(|(url, path)| Reference::new(url, name, path));
        let facts = Facts::new(Vec::from_iter(references), ReadyWhen::Acked);
        facts.with_empty(*type_url == ENDPOINT && body.is_empty())
    }
}

fn leading_to(cluster: &'static str) -> Snapshot {
    let mut snapshot = Snapshot::builder();
    for resource in [
        Resource::builder(CLUSTER, cluster, cluster),
        Resource::builder(ROUTE, "r", cluster),
        Resource::builder(ENDPOINT, cluster, ""),
    ] {
        snapshot.insert(resource).unwrap();
    }
    snapshot.build()
}

/// Moves a route of a client that acknowledges what comes, and of one that says nothing.
async fn moving_life() {
    let source = TestSource::default();
    source.publish_snapshot(leading_to("a"));
    let times = SafeTimes::default()
        .with_hold(Duration::from_secs(1))
        .with_removal_budget(Duration::from_secs(1))
        .with_grace(Duration::from_secs(1));
    let session = SessionConfig::default()
        .with_references(Arc::new(Tables))
        .with_unread_after(Duration::from_secs(1))
        .with_transitions(Transitions::Safe(times));
    let xds = XdsServer::builder(Arc::new(source.clone()))
        .with_session(session)
        .build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let response = client.response().await;
    client.ack(&response);
    let mut routes = clusters("n");
    routes.type_url = ROUTE.as_str().into();
    routes.resource_names = vec!["r".into()];
    client.send(&routes);
    routes.response_nonce = client.response().await.nonce;
    client.send(&routes);
    source.publish_snapshot(leading_to("b"));
    let response = client.response().await;
    client.ack(&response);
    routes.response_nonce = client.response().await.nonce;
    client.send(&routes);
    let response = client.response().await;
    client.ack(&response);
    source.publish_snapshot(leading_to("c"));
    for expected in [CLUSTER, ROUTE, CLUSTER] {
        assert_eq!(client.response().await.type_url, expected.as_str());
    }
}

async fn live() {
    moving_life().await;
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = XdsServer::builder(Arc::new(source.clone()))
        .with_callbacks(Arc::new(Panics))
        .with_session(SessionConfig::default().with_max_response(0))
        .build();
    eventful_life(&xds, &source).await;
}

/// Listens to what this thread logs.
///
/// A line that another test logs for the first time, in the moment in which a subscriber comes, may be taken for one
/// that nobody listens to. So all are logged once, and then looked at anew.
async fn listen() -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let guard = set_default(registry().with(lines.clone()));
    live().await;
    rebuild_interest_cache();
    *lines.0.lock().unwrap() = Seen::default();
    (lines, guard)
}

#[tokio::test(start_paused = true)]
async fn each_line_is_documented() {
    let (lines, _guard) = listen().await;
    live().await;

    let documentation = documentation();
    let seen = lines.0.lock().unwrap();
    for row in &seen.events {
        let row = row.replace("a callback panicked", "… panicked");
        assert!(
            documentation.contains(&row),
            "not documented:\n{row}\n{:#?}",
            seen.events
        );
    }
    let documented = documentation.lines().filter(|line| {
        let levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
        levels
            .iter()
            .any(|level| line.starts_with(&format!("| {level} |")))
    });
    let rare = "not acknowledged; taken for accepted";
    let missed = documented
        .map(|row| row.replace("… panicked", "a callback panicked"))
        .filter(|row| !seen.events.contains(row) && !row.contains(rare));
    assert_eq!(missed.collect::<Vec<_>>(), [""; 0], "{:#?}", seen.events);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_a_span_that_knows_its_node() {
    let (lines, _guard) = listen().await;
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = XdsServer::builder(Arc::new(source)).build();
    let mut client = Client::of_clusters(&xds, "n").await;
    client.response().await;
    let seen = lines.0.lock().unwrap();
    assert_eq!(seen.nodes, ["\"n\""]);
    let expected = ["id", "method", "node", "peer", "service"];
    assert_eq!(
        seen.span_fields.iter().copied().collect::<Vec<_>>(),
        expected
    );
    let documentation = documentation();
    for field in expected {
        assert!(documentation.contains(&format!("`{field}`")), "{field}");
    }
}
