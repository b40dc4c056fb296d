//! What observers are shown, whatever cache there is behind a server.

use std::sync::{Arc, Mutex};

use portolan::cache::{LinearCache, MuxCache, SnapshotCache};
use portolan::core::{NodeId, Resource, ResourceBuilder, Source, well_known::CLUSTER};
use portolan::server::{Callbacks, RequestInfo, ResponseInfo, StreamInfo, XdsServer};
use portolan_tests::{Delta, Sotw};

use crate::plane::publish;

/// Writes down who is shown to have asked and to be answered.
#[derive(Debug, Default)]
struct Shown(Mutex<Vec<String>>);

impl Shown {
    fn note(&self, stream: &StreamInfo, what: std::fmt::Arguments<'_>) {
        let node = stream.node().map_or("nobody", |node| node.id());
        let line = format!("{node}: {what}");
        self.0.lock().expect("nobody panicked").push(line);
    }
}

impl Callbacks for Shown {
    fn request(&self, stream: &StreamInfo, request: &RequestInfo<'_>) {
        let (url, nonce) = (request.type_url(), request.nonce());
        self.note(
            stream,
            format_args!("> {url} [{nonce}] {}", request.names()),
        );
    }

    fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
        let (url, nonce) = (response.type_url(), response.nonce());
        self.note(
            stream,
            format_args!("< {url} [{nonce}] {}", response.resources()),
        );
    }
}

fn cluster(revision: usize) -> ResourceBuilder {
    Resource::builder(CLUSTER, "a", revision.to_string())
}

/// What observers are shown of two streams and a publication while they are served.
async fn shown(source: Arc<dyn Source>, publish: impl FnOnce()) -> Vec<String> {
    let shown = Arc::new(Shown::default());
    let xds = XdsServer::builder(source).with_callbacks(Arc::<Shown>::clone(&shown));
    let xds = xds.build();
    let transport = xds.routes().prepare();
    let opened = Sotw::open(transport.clone(), "n", &[CLUSTER]).await;
    let mut sotw = opened.expect("it is served");
    let first = sotw.next().await.expect("it is served");
    sotw.ack(&first);
    let opened = Delta::open(transport, "m", &[CLUSTER]).await;
    let mut delta = opened.expect("it is served");
    let first = delta.next().await.expect("it is served");
    delta.ack(&first);
    publish();
    sotw.next().await.expect("it is served");
    delta.next().await.expect("it is served");
    let mut shown = shown.0.lock().expect("nobody panicked").clone();
    // The streams run beside each other; what is shown of each is in order.
    shown.sort_by_key(|line| line[..1].to_owned());
    shown
}

/// Elsewhere a cache of one type answered with a request of its own making, in which there was no node.
#[tokio::test]
async fn b66_requests_and_responses_are_shown_alike_whatever_cache_is_served() {
    let (linear, reader) = LinearCache::new(CLUSTER).split();
    let upsert = |revision| {
        let _ = linear.upsert(cluster(revision)).expect("it has a name");
    };
    upsert(1);
    let of_linear = shown(Arc::new(reader), || upsert(2)).await;

    let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
    let set = |revision| ["n", "m"].map(|node| publish(&writer, node, revision));
    set(1);
    let of_snapshots = shown(Arc::new(reader), || {
        let _ = set(2);
    })
    .await;

    let [(first, reader), (second, other)] = [(); 2].map(|()| LinearCache::new(CLUSTER).split());
    let mut mux = MuxCache::builder();
    let parts = [
        mux.part("first", Arc::new(reader)),
        mux.part("second", Arc::new(other)),
    ];
    mux.route(CLUSTER, parts);
    let _ = first.replace_all([]).expect("there is nothing to refuse");
    let put = |revision| {
        let _ = second.upsert(cluster(revision)).expect("it has a name");
    };
    put(1);
    let of_mux = shown(Arc::new(mux.build()), || put(2)).await;

    let expected = ["m", "n"].map(|node| {
        let lines = ["> U [] 0", "< U [1] 1", "> U [1] 0", "< U [2] 1"];
        lines.map(|line| format!("{node}: {}", line.replace('U', CLUSTER.as_str())))
    });
    assert_eq!(of_linear, expected.concat());
    assert_eq!(of_snapshots, expected.concat());
    assert_eq!(of_mux, expected.concat());
}
