//! What holds for every service and method alike.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_core::{Refusal, ResourceTypes, SotwMode, TypeUrl, well_known};
use portolan_server::service::{Eds, ServiceKind};
use portolan_server::{
    Admission, AdmissionRequest, BoxFuture, Method, Variant, XdsServer, XdsServerBuilder,
};
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use tonic::Code;
use tonic::service::Routes;
use tower_service::Service;

use crate::client::{Client, DELTA, SOTW, bodies, node};
use crate::schema::{MethodPath, methods};
use crate::source::TestSource;

fn builder(source: &TestSource) -> XdsServerBuilder {
    XdsServer::builder(Arc::new(source.clone()))
}

/// The type of the next response, the body of each resource in it, and what it says is gone.
async fn next(client: &mut Client, variant: Variant) -> (String, Vec<String>, Vec<String>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    if variant == Variant::Sotw {
        let response: DiscoveryResponse = client.message().await;
        let mut any = response.resources.iter();
        assert!(any.all(|any| any.type_url == response.type_url));
        let bodies = bodies(&response).into_iter().map(text).collect();
        return (response.type_url, bodies, Vec::new());
    }
    let response: DeltaDiscoveryResponse = client.message().await;
    let any = response
        .resources
        .iter()
        .filter_map(|r| r.resource.as_ref());
    assert!(any.clone().all(|any| any.type_url == response.type_url));
    let bodies = any.map(|any| text(&any.value)).collect();
    (response.type_url, bodies, response.removed_resources)
}

/// The schema is the table.
#[tokio::test(start_paused = true)]
async fn c023_c024_c025_c026_c027_c028_c029_c030_c031_c032_c033_c034_c037_c043_each_method_implies_its_type()
 {
    let mut kinds = [0; 3];
    for method in methods() {
        let type_url = method.type_url.clone().unwrap_or(well_known::CLUSTER);
        let source = TestSource::default();
        source.publish_of(&type_url, &[("a", b"1")]);
        let mut client = Client::open(&builder(&source).build(), &method.path).await;
        let named = match method.type_url {
            Some(_) => "",
            None => type_url.as_str(),
        };
        method.send_first(&client, named, "a");
        let (found, bodies, _) = next(&mut client, method.variant()).await;
        assert_eq!(found, type_url.as_str(), "{}", method.path);
        assert_eq!(bodies, ["1"], "{}", method.path);
        kinds[method.method as usize] += 1;
    }
    assert_eq!(kinds, [10, 11, 9]);
}

#[derive(Debug, Default)]
struct RefuseAll(Mutex<Vec<String>>);

impl Admission for RefuseAll {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let (service, type_url) = (request.service(), request.request().type_url());
        let asked = format!("{service} {:?} {type_url}", request.method());
        self.0.lock().unwrap().push(asked);
        Box::pin(async { Err(Refusal::denied("nobody")) })
    }
}

#[tokio::test(start_paused = true)]
async fn c022_no_method_of_any_service_sends_a_byte_to_whom_admission_refuses() {
    for method in methods() {
        let type_url = method.type_url.clone().unwrap_or(well_known::CLUSTER);
        let source = TestSource::default();
        source.publish_of(&type_url, &[("a", b"1")]);
        let refuse = Arc::new(RefuseAll::default());
        let xds = builder(&source).with_admission(refuse.clone()).build();
        let mut client = Client::open(&xds, &method.path).await;
        method.send_first(&client, type_url.as_str(), "a");
        let ended = client.ended().await;
        assert_eq!(
            (ended.code, &*ended.message),
            (Code::PermissionDenied, "nobody")
        );
        assert_eq!(ended.unread, 0, "{}", method.path);
        xds.drained().await;
        assert_eq!(source.state().opened, 0, "{}", method.path);

        let service = method.path[1..].split_once('/').unwrap().0;
        let asked = format!("{service} {:?} {type_url}", method.method);
        assert_eq!(*refuse.0.lock().unwrap(), [asked]);
    }
}

#[tokio::test(start_paused = true)]
async fn c038_c044_no_service_of_one_type_serves_another() {
    for method in methods().iter().filter(|method| method.type_url.is_some()) {
        let source = TestSource::with_clusters(&[("a", b"1")]);
        let xds = builder(&source).build();
        let mut client = Client::open(&xds, &method.path).await;
        method.send_first(&client, "type.googleapis.com/x.Other", "a");
        let ended = client.ended().await;
        assert_eq!((ended.code, ended.unread), (Code::InvalidArgument, 0));
        let says = format!(
            "this service serves {}, not",
            method.type_url.as_ref().unwrap()
        );
        assert!(ended.message.starts_with(&says), "{}", ended.message);
    }
}

/// Elsewhere a variant that is not served was accepted and ignored: proxies looked connected and were frozen.
#[tokio::test(start_paused = true)]
async fn b49_a_server_of_one_variant_answers_the_other_with_unimplemented() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    for disabled in [Variant::Sotw, Variant::Delta] {
        let xds = builder(&source).without_variant(disabled).build();
        for method in methods() {
            let mut client = Client::open(&xds, &method.path).await;
            let refused = client.headers.contains_key("grpc-status");
            assert_eq!(refused, method.variant() == disabled, "{}", method.path);
            if refused {
                assert_eq!(client.ended().await.code, Code::Unimplemented);
            }
        }
    }
}

/// Elsewhere one variant starved the other where both served a node.
#[tokio::test(start_paused = true)]
async fn b49_c020_a_node_may_speak_both_variants() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = builder(&source).build();
    let mut clients = Vec::new();
    let own = |m: &&MethodPath| m.type_url == Some(well_known::CLUSTER);
    let single = methods().iter().filter(own);
    let single = single.filter(|m| m.method != Method::Fetch);
    let single = single.map(|m| (&*m.path, m.variant()));
    let ads = [(SOTW, Variant::Sotw), (DELTA, Variant::Delta)];
    for (path, variant) in single.chain(ads) {
        let mut client = Client::open(&xds, path).await;
        ask(&client, variant, &well_known::CLUSTER);
        assert_eq!(next(&mut client, variant).await.1, ["1"]);
        clients.push((client, variant));
    }
    assert_eq!(clients.len(), 4);
    source.publish(&[("a", b"2")]);
    for (client, variant) in &mut clients {
        assert_eq!(next(client, *variant).await.1, ["2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn c027_c028_c031_c035_methods_that_the_protocol_does_not_have_are_unimplemented() {
    let xds = builder(&TestSource::default()).build();
    for path in [
        "/envoy.service.route.v3.ScopedRouteDiscoveryService/StreamScopedRoutes",
        "/envoy.service.route.v3.VirtualHostDiscoveryService/StreamVirtualHosts",
        "/envoy.service.endpoint.v3.LocalityEndpointDiscoveryService/StreamLocalityEndpoints",
        "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamListeners",
        "/envoy.service.cluster.v3.ClusterDiscoveryService",
        "/envoy.api.v2.ClusterDiscoveryService/StreamClusters",
        "/ratelimit.service.ratelimit.v3.RateLimitConfigDiscoveryService/DeltaRlsConfigs",
    ] {
        let ended = Client::open(&xds, path).await.ended().await;
        assert_eq!(ended.code, Code::Unimplemented, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn c036_a_service_that_was_not_added_is_unimplemented_and_those_that_were_work() {
    let source = TestSource::default();
    source.publish_of(&well_known::ENDPOINT, &[("a", b"1")]);
    let xds = builder(&source).build();
    let mut routes = Routes::new(xds.service::<Eds>());
    for method in methods() {
        let request = http::Request::post(&method.path).body(tonic::body::Body::empty());
        let response = routes.call(request.unwrap()).await.unwrap();
        let status = response.headers().get("grpc-status");
        let served = method.type_url == Some(well_known::ENDPOINT);
        assert_eq!(status.is_none(), served, "{}", method.path);
        assert!(status.is_none_or(|status| status == "12"), "{status:?}");
    }
}

/// Elsewhere a type that is not one of the four main ones broke the stream, or was served once. Each type that there
/// is, and two that nobody has heard of, each way that it can be had.
#[tokio::test(start_paused = true)]
async fn b50_every_type_is_added_updated_removed_and_added_again() {
    let unregistered = [
        "type.googleapis.com/acme.v1.Widget",
        "type.googleapis.com/envoy.extensions.filters.network.thrift_proxy.v3.RouteConfiguration",
    ];
    let types = ResourceTypes::well_known();
    let urls = types.iter().map(|t| t.url().clone());
    let urls = urls.chain(unregistered.map(TypeUrl::from_static));
    for type_url in urls {
        let own = |m: &&MethodPath| m.type_url.as_ref() == Some(&type_url);
        let streams = methods().iter().filter(own);
        let streams = streams.filter(|m| m.method != Method::Fetch);
        let streams = streams.map(|m| (&*m.path, m.variant()));
        let ads = [(SOTW, Variant::Sotw), (DELTA, Variant::Delta)];
        for (path, variant) in streams.chain(ads) {
            let mode = types.get(&type_url).sotw_mode();
            if variant == Variant::Sotw && mode == SotwMode::Unsupported {
                continue;
            }
            follow(path, variant, &type_url, mode == SotwMode::FullState).await;
        }
    }
}

async fn follow(path: &str, variant: Variant, type_url: &TypeUrl, full_state: bool) {
    let what = format!("{path} {type_url}");
    let source = TestSource::default();
    let xds = builder(&source).build();
    let publish = |resources: &[(&str, &[u8])]| source.publish_of(type_url, resources);
    publish(&[("a", b"a1"), ("b", b"b1"), ("c", b"c1")]);
    let mut client = Client::open(&xds, path).await;
    ask(&client, variant, type_url);
    assert_eq!(next(&mut client, variant).await.1, ["a1", "b1"], "{what}");

    publish(&[("a", b"a2"), ("b", b"b1"), ("c", b"c2")]);
    let whole = variant == Variant::Sotw && full_state;
    let update = if whole { &["a2", "b1"][..] } else { &["a2"] };
    assert_eq!(next(&mut client, variant).await.1, update, "{what}");

    client.pass(UNREAD).await;
    publish(&[("b", b"b1")]);
    let silent = [well_known::SECRET, well_known::EXTENSION_CONFIG].contains(type_url);
    if variant == Variant::Delta && !silent {
        let (_, bodies, removed) = next(&mut client, variant).await;
        assert_eq!(
            (bodies.len(), &*removed),
            (0, &["a".to_owned()][..]),
            "{what}"
        );
    } else if whole {
        assert_eq!(next(&mut client, variant).await.1, ["b1"], "{what}");
    }
    client.pass(UNREAD).await;

    publish(&[("a", b"a3"), ("b", b"b1")]);
    let again = if whole { &["a3", "b1"][..] } else { &["a3"] };
    assert_eq!(next(&mut client, variant).await.1, again, "{what}");
    client.assert_quiet().await;
}

/// Longer than a change waits for a client that acknowledges nothing, as the one here.
const UNREAD: Duration = Duration::from_secs(6);

/// Asks for `a` and `b`.
fn ask(client: &Client, variant: Variant, type_url: &TypeUrl) {
    let (type_url, names) = (type_url.as_str().to_owned(), vec!["a".into(), "b".into()]);
    match variant {
        Variant::Delta => client.send(&DeltaDiscoveryRequest {
            node: Some(node("n")),
            type_url,
            resource_names_subscribe: names,
            ..DeltaDiscoveryRequest::default()
        }),
        _ => client.send(&DiscoveryRequest {
            node: Some(node("n")),
            type_url,
            resource_names: names,
            ..DiscoveryRequest::default()
        }),
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_of_the_user_s_own_serves_a_type_of_the_user_s_own() {
    enum Widgets {}
    impl ServiceKind for Widgets {
        const NAME: &'static str = "acme.v1.WidgetDiscoveryService";
        const TYPE_URL: Option<TypeUrl> =
            Some(TypeUrl::from_static("type.googleapis.com/acme.v1.Widget"));
        const DELTA: Option<&'static str> = Some("DeltaWidgets");
    }

    let source = TestSource::default();
    source.publish_of(&Widgets::TYPE_URL.unwrap(), &[("a", b"1")]);
    let xds = builder(&source).build();
    let routes = xds.routes().add_service(xds.service::<Widgets>());
    let open = async |method: &str| {
        let path = format!("/{}/{method}", Widgets::NAME);
        Client::open_on(routes.clone(), &path).await
    };
    let mut client = open("DeltaWidgets").await;
    client.send(&DeltaDiscoveryRequest {
        node: Some(node("n")),
        resource_names_subscribe: vec!["a".into()],
        ..DeltaDiscoveryRequest::default()
    });
    let (type_url, bodies, _) = next(&mut client, Variant::Delta).await;
    assert_eq!(type_url, "type.googleapis.com/acme.v1.Widget");
    assert_eq!(bodies, ["1"]);
    let ended = open("StreamWidgets").await.ended().await;
    assert_eq!(ended.code, Code::Unimplemented);
}
