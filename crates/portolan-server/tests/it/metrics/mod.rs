//! What is recorded through the `metrics` facade. The recorder is the thread's, and so is the runtime of each test.

mod recorder;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use metrics::set_default_local_recorder;
use portolan_core::well_known;
use portolan_server::XdsServer;
use portolan_types::envoy::service::discovery::v3::DeltaDiscoveryResponse;
use tokio::time::{advance, sleep};

use self::recorder::MemoryRecorder;
use crate::client::{Client, DELTA, SOTW, clusters, delta_answer, delta_clusters, nack};
use crate::source::TestSource;

fn server(source: &TestSource) -> XdsServer {
    XdsServer::builder(Arc::new(source.clone())).build()
}

#[tokio::test(start_paused = true)]
async fn what_comes_and_goes_is_counted_by_type_and_method() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    nack(&client, &second, "no");
    client.assert_quiet().await;

    let counter = |series: &str| recorder.counter(series);
    assert_eq!(
        counter("portolan_requests_total{type=CDS,method=stream}"),
        3
    );
    assert!(counter("portolan_request_bytes_total{type=CDS,method=stream}") > 3 * 50);
    let responses = |reason: &str| {
        counter(&format!(
            "portolan_responses_total{{type=CDS,method=stream,reason={reason}}}"
        ))
    };
    assert_eq!((responses("owed"), responses("changed")), (1, 1));
    let bytes = counter("portolan_response_bytes_total{type=CDS,method=stream}");
    let sent = prost::Message::encoded_len(&first) + prost::Message::encoded_len(&second);
    assert_eq!(bytes, sent as u64);
    assert_eq!(counter("portolan_acks_total{type=CDS,method=stream}"), 1);
    assert_eq!(counter("portolan_nacks_total{type=CDS,method=stream}"), 1);
    assert_eq!(
        recorder.gauge("portolan_rejecting_streams{method=stream}"),
        1.0
    );
}

#[tokio::test(start_paused = true)]
async fn gauges_go_back_to_zero_when_streams_end() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut sotw = Client::of_clusters(&xds, "n").await;
    let mut delta = Client::open(&xds, DELTA).await;
    let mut request = delta_clusters("n");
    request.type_url = well_known::ENDPOINT.as_str().into();
    request.resource_names_subscribe = vec!["x".into(), "y".into()];
    delta.send(&request);
    let response = sotw.response().await;
    nack(&sotw, &response, "no");
    sotw.assert_quiet().await;
    delta.message::<DeltaDiscoveryResponse>().await;

    let service = "service=envoy.service.discovery.v3.AggregatedDiscoveryService";
    let gauges = [
        (format!("portolan_streams{{{service},method=stream}}"), 1.0),
        (format!("portolan_streams{{{service},method=delta}}"), 1.0),
        ("portolan_subscriptions{type=CDS,method=stream}".into(), 1.0),
        ("portolan_subscriptions{type=EDS,method=delta}".into(), 1.0),
        (
            "portolan_subscribed_names{type=EDS,method=delta}".into(),
            2.0,
        ),
        ("portolan_rejecting_streams{method=stream}".into(), 1.0),
    ];
    for (series, value) in &gauges {
        assert_eq!(recorder.gauge(series), *value, "{series}");
    }
    request.resource_names_subscribe.clear();
    request.resource_names_unsubscribe = vec!["x".into(), "y".into()];
    delta.send(&request);
    sotw.assert_quiet().await;
    assert_eq!(
        recorder.gauge(&gauges[3].0),
        0.0,
        "it wants nothing of the type"
    );

    sotw.half_close();
    drop(delta);
    sotw.ended().await;
    drop(sotw);
    xds.drained().await;
    for (series, _) in &gauges {
        assert_eq!(recorder.gauge(series), 0.0, "{series}");
    }
    let closed = |method, reason| {
        let labels = format!("{service},method={method},reason={reason}");
        recorder.counter(&format!("portolan_streams_closed_total{{{labels}}}"))
    };
    assert_eq!(
        (closed("stream", "half_closed"), closed("delta", "gone")),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_fetch_is_counted_as_a_method_of_its_own() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let service = "envoy.service.cluster.v3.ClusterDiscoveryService";
    let mut client = Client::open(&xds, &format!("/{service}/FetchClusters")).await;
    client.send(&clusters("n"));
    client.half_close();
    client.response().await;
    client.ended().await;
    xds.drained().await;

    let labels = format!("service={service},method=fetch");
    let counters = [
        format!("portolan_streams_opened_total{{{labels}}}"),
        format!("portolan_streams_closed_total{{{labels},reason=fetched}}"),
        "portolan_requests_total{type=CDS,method=fetch}".to_owned(),
        "portolan_responses_total{type=CDS,method=fetch,reason=owed}".to_owned(),
    ];
    for series in &counters {
        assert_eq!(recorder.counter(series), 1, "{series}");
    }
    let streams = format!("portolan_streams{{{labels}}}");
    assert_eq!(recorder.gauge(&streams), 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_client_cannot_add_a_label() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    client.response().await;
    for made_up in ["x.A", "x.B", "", "type.googleapis.com/x.C"] {
        let client = Client::open(&xds, SOTW).await;
        let mut request = clusters(&format!("node-{made_up}"));
        request.type_url = made_up.into();
        client.send(&request);
        sleep(Duration::from_secs(1)).await;
        drop(client);
    }
    xds.drain();
    drop(client);
    xds.drained().await;
    let types: BTreeSet<_> = recorder
        .series("portolan_requests_total")
        .into_iter()
        .collect();
    let expected = [
        "portolan_requests_total{type=CDS,method=stream}",
        "portolan_requests_total{type=other,method=stream}",
    ];
    assert_eq!(types.iter().collect::<Vec<_>>(), expected);
    assert_eq!(recorder.counter(expected[1]), 4);
    assert!(
        recorder
            .all()
            .iter()
            .all(|series| !series.contains("node-"))
    );
    assert_eq!(
        recorder.gauge("portolan_subscriptions{type=other,method=stream}"),
        0.0
    );
}

#[tokio::test(start_paused = true)]
async fn time_counts_from_the_notice_until_the_response_and_the_last_ack() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    let to_response = "portolan_notice_to_response_seconds{method=stream}";
    let to_settled = |outcome: &str| {
        recorder.samples(&format!(
            "portolan_notice_to_settled_seconds{{method=stream,outcome={outcome}}}"
        ))
    };
    assert_eq!(
        recorder.samples(to_response),
        [0.0; 0],
        "nothing was published"
    );

    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    assert_eq!(recorder.samples(to_response), [0.0]);
    advance(Duration::from_secs(2)).await;
    client.ack(&second);
    client.assert_quiet().await;
    assert_eq!(to_settled("accepted"), [2.0]);

    source.publish(&[("a", b"3")]);
    let third = client.response().await;
    nack(&client, &third, "no");
    client.assert_quiet().await;
    assert_eq!(to_settled("rejecting"), [0.0]);
    assert_eq!(to_settled("accepted"), [2.0]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_an_earlier_change_is_counted_from_its_own_notice() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    source.publish(&[("a", b"3")]);
    client.assert_quiet().await;
    source.publish(&[("a", b"4")]);
    sleep(Duration::from_secs(1)).await;
    let held = "portolan_held_total{type=CDS,method=stream}";
    assert_eq!(recorder.counter(held), 1);
    client.ack(&second);
    let fourth = client.response().await;
    let to_response = recorder.samples("portolan_notice_to_response_seconds{method=stream}");
    // The third waited for three seconds, and the fourth, which took its place, for another.
    assert_eq!(to_response, [0.0, 4.0]);
    client.ack(&fourth);
    client.assert_quiet().await;
    let settled = "portolan_notice_to_settled_seconds{method=stream,outcome=accepted}";
    assert_eq!(
        recorder.samples(settled),
        [4.0],
        "only the last came to rest"
    );
}

#[tokio::test(start_paused = true)]
async fn publications_that_say_nothing_or_are_never_looked_at_are_counted() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    let suppressed = || recorder.counter("portolan_suppressed_total{method=stream}");
    let superseded = || recorder.counter("portolan_superseded_total{method=stream}");
    assert_eq!(
        (suppressed(), superseded()),
        (0, 0),
        "an ACK is no publication"
    );
    source.publish(&[("a", b"1")]);
    client.assert_quiet().await;
    assert_eq!((suppressed(), superseded()), (1, 0));
    source.publish(&[("a", b"2")]);
    source.publish(&[("a", b"3")]);
    client.response().await;
    assert_eq!((suppressed(), superseded()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_is_documented_and_what_is_documented_is_recorded() {
    let recorder = MemoryRecorder::default();
    let _guard = set_default_local_recorder(&recorder);
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, DELTA).await;
    client.send(&delta_clusters("n"));
    let response: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&response, None));
    client.assert_quiet().await;
    drop(client);
    xds.drained().await;

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let described = recorder.described();
    let mut recorded = BTreeSet::new();
    for series in recorder.all() {
        let (name, labels) = series.split_once('{').unwrap();
        let labels = labels.trim_end_matches('}').split(',');
        let labels = labels.map(|label| format!("`{}`", label.split('=').next().unwrap()));
        let labels = labels.collect::<Vec<_>>().join(", ");
        let (kind, about) = described[name].split_once(": ").unwrap();
        let kind = kind.split(' ').next().unwrap();
        let row = format!("| `{name}` | {kind} | {labels} | {about} |\n");
        assert!(text.contains(&row), "docs/metrics.md has no row\n{row}");
        recorded.insert(name.to_owned());
    }
    assert_eq!(recorded, described.keys().cloned().collect());
}
