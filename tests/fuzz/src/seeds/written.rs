use portolan_core::well_known::ROUTE;
use portolan_engine::Variant;
use portolan_resources::build;
use portolan_types::Any;
use portolan_types::envoy::config::core::v3 as core;
use portolan_types::envoy::config::core::v3::node::UserAgentVersionType;
use portolan_types::envoy::config::core::v3::transport_socket::ConfigType;
use portolan_types::envoy::config::route::v3::Vhds;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, SdsSecretConfig, UpstreamTlsContext,
};
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DiscoveryRequest, ResourceLocator,
};
use prost::Message;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};

use crate::resources::op;
use crate::session::{GLOB, LOCATED, OTHER_SPELLING, SOURCES, URL, flag, how, op as session};

/// A bare node, and one that says as much of itself as an Envoy does.
pub(crate) fn nodes() -> Vec<Vec<u8>> {
    let bare = core::Node {
        id: "n".into(),
        ..core::Node::default()
    };
    let text = |text: &str| Value::from(Kind::StringValue(text.into()));
    let list = ListValue {
        values: vec![
            Kind::NumberValue(1.5).into(),
            Kind::BoolValue(true).into(),
            text("x"),
        ],
    };
    let labels = Struct {
        fields: [
            ("app".to_owned(), text("web")),
            ("null".to_owned(), Kind::NullValue(0).into()),
        ]
        .into(),
    };
    let envoy = core::Node {
        id: "sidecar~10.0.0.1~web-0.prod~prod.svc.cluster.local".into(),
        cluster: "web.prod".into(),
        metadata: Some(Struct {
            fields: [
                ("labels".to_owned(), Kind::StructValue(labels).into()),
                ("ports".to_owned(), Kind::ListValue(list).into()),
            ]
            .into(),
        }),
        locality: Some(core::Locality {
            region: "eu".into(),
            zone: "eu-1".into(),
            sub_zone: "a".into(),
        }),
        user_agent_name: "envoy".into(),
        client_features: vec!["envoy.lb.does_not_support_overprovisioning".into()],
        extensions: vec![core::Extension {
            name: "envoy.filters.http.router".into(),
            category: "envoy.filters.http".into(),
            ..core::Extension::default()
        }],
        user_agent_version_type: Some(UserAgentVersionType::UserAgentVersion("1.36.2".into())),
        ..core::Node::default()
    };
    vec![bare.encode_to_vec(), envoy.encode_to_vec()]
}

/// A few operations of each kind.
pub(crate) fn resources() -> Vec<Vec<u8>> {
    let put = |op, flags, name: &[u8], body: &[u8]| {
        let mut out = vec![op, flags, name.len() as u8];
        out.extend(name);
        out.push(body.len() as u8);
        out.extend(body);
        out
    };
    let few = [
        put(op::INSERT, 0, b"a", b"\x0a\x01a"),
        put(op::INSERT, 8, b"b", b""),
        put(op::UPSERT, 2, b"a", b"endpoints"),
        vec![op::EDIT],
        put(op::UPSERT, 0, b"a", b"changed"),
        vec![op::REMOVE, 0, 1, b'b'],
        vec![op::REPLACE],
        put(op::INSERT, 0, b"a", b"changed"),
    ];
    let many = [
        vec![op::MANY, 0, 139, 1, b'x'],
        vec![op::EDIT],
        vec![op::MANY, 100, 20, 1, b'y'],
        vec![op::REBUILD],
        vec![op::MANY, 0, 139, 1, b'x'],
    ];
    let attributes = [
        put(op::INSERT, 4 | 16, b"a", b"body"),
        vec![1, b'v', 1, b'z'],
        put(op::INSERT, 3, b"widget", b"name"),
        put(
            op::INSERT,
            16,
            b"xdstp://a/envoy.config.cluster.v3.Cluster/d/x?b&a=1",
            b"body",
        ),
        vec![1, b'z'],
    ];
    vec![few.concat(), many.concat(), attributes.concat()]
}

/// Names of each kind.
pub(crate) fn names() -> Vec<Vec<u8>> {
    let names = [
        "plain/name",
        "rc/*",
        "xdstp://a/envoy.config.route.v3.RouteConfiguration/foo/x?b=2&a=1",
        "xdstp:///envoy.config.route.v3.RouteConfiguration/%66oo/*?k=v%26",
        "xdstp://a/envoy.config.listener.v3.Listener/x#f",
        "xdstp://a",
    ];
    names.map(|name| name.as_bytes().to_vec()).to_vec()
}

/// A delta session that asks by globs, aliases and other spellings, gives some up, and comes back; from each source.
pub(crate) fn identifiers() -> Vec<Vec<u8>> {
    let routes = 3;
    let publish =
        |from, count, revision, how| [session::PUBLISH, routes, from, count, revision, how];
    let ask = |subscribe: &[u8], unsubscribe: &[u8]| {
        let mut out = vec![session::REQUEST, routes, 0, 0, subscribe.len() as u8];
        out.extend(subscribe);
        out.push(unsubscribe.len() as u8);
        out.extend(unsubscribe);
        out.push(0);
        out
    };
    let said = [
        publish(URL, 6, 1, how::ALIASED).to_vec(),
        ask(&[GLOB, OTHER_SPELLING | 1, 4], &[]),
        vec![session::DRIVE],
        publish(URL, 3, 2, 0).to_vec(),
        vec![session::DRIVE],
        ask(&[URL | 1], &[GLOB]),
        publish(URL, 4, 1, how::REMOVED).to_vec(),
        vec![
            session::DRIVE,
            session::RECONNECT,
            session::RESUME,
            routes,
            2,
            GLOB,
            4,
        ],
        vec![session::DRIVE],
        publish(URL, 6, 3, how::ALIASED).to_vec(),
    ];
    let said = said.concat();
    let seeds = (0..SOURCES).map(|source| [&[flag::DELTA, source], &*said].concat());
    seeds.collect()
}

/// Each type as one would write it, and what says most of references.
pub(crate) fn references() -> Vec<Vec<u8>> {
    let body = |kind: u8, body: Vec<u8>| [vec![kind], body].concat();
    let address = "10.0.0.1:80".parse().expect("an address");
    let mut secured = build::eds_cluster("secured");
    let tls = UpstreamTlsContext {
        common_tls_context: Some(CommonTlsContext {
            tls_certificate_sds_secret_configs: vec![SdsSecretConfig {
                name: "certificate".into(),
                sds_config: Some(build::ads()),
            }],
            ..CommonTlsContext::default()
        }),
        ..UpstreamTlsContext::default()
    };
    secured.transport_socket = Some(core::TransportSocket {
        name: "tls".into(),
        config_type: Some(ConfigType::TypedConfig(Any::pack(&tls))),
    });
    let host = build::virtual_host("all", ["*"], [build::prefix_route("/", "web")]);
    let routes = build::route_configuration("routes", [host]);
    let mut discovering = routes.clone();
    discovering.vhds = Some(Vhds {
        config_source: Some(build::ads()),
    });
    vec![
        body(0, build::eds_cluster("web").encode_to_vec()),
        body(0, build::static_cluster("fixed", [address]).encode_to_vec()),
        body(0, secured.encode_to_vec()),
        body(1, routes.encode_to_vec()),
        body(1, discovering.encode_to_vec()),
        body(2, build::assignment("web", [address]).encode_to_vec()),
        body(
            3,
            build::http_listener("ingress", address, "routes").encode_to_vec(),
        ),
    ]
}

/// A request for names with parameters and without, which no client that there is a trace of sends.
pub(crate) fn located(variant: Variant) -> Vec<u8> {
    let locator = |name: &str, parameters: &[(&str, &str)]| ResourceLocator {
        name: name.to_owned(),
        dynamic_parameters: parameters
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
    };
    let locators = vec![
        locator("r", &[("env", "prod"), ("version", "v1")]),
        locator("*", &[("env", "test")]),
        locator("r", &[]),
    ];
    let type_url = ROUTE.to_string();
    match variant {
        Variant::Delta => DeltaDiscoveryRequest {
            type_url,
            resource_names_subscribe: vec!["r".to_owned()],
            resource_locators_unsubscribe: locators[..1].to_vec(),
            resource_locators_subscribe: locators,
            ..DeltaDiscoveryRequest::default()
        }
        .encode_to_vec(),
        _ => DiscoveryRequest {
            type_url,
            resource_names: vec!["r".to_owned()],
            resource_locators: locators,
            ..DiscoveryRequest::default()
        }
        .encode_to_vec(),
    }
}

/// Sessions that ask for names of which there are alternatives, in both variants.
pub(crate) fn alternatives() -> Vec<Vec<u8>> {
    let routes = 3;
    let publish = |from, count, revision, how| {
        let op = [session::PUBLISH, routes, from, count, revision, how];
        [&op[..], &[session::DRIVE]].concat()
    };
    let ask = |lists: &[&[u8]]| {
        let mut out = vec![session::REQUEST, routes, 0, 0];
        for list in lists {
            out.push(list.len() as u8);
            out.extend(*list);
        }
        out.extend([0, session::DRIVE]);
        out
    };
    let wanted = [LOCATED, LOCATED + 1, LOCATED + 4, LOCATED + 5, 3];
    let delta = [
        publish(LOCATED, 12, 1, 0),
        ask(&[&wanted, &[]]),
        publish(LOCATED, 4, 2, 0),
        ask(&[&[LOCATED + 6], &[LOCATED + 1, LOCATED + 4]]),
        publish(LOCATED, 2, 2, how::REMOVED),
        vec![session::RECONNECT],
        ask(&[&wanted, &[]]),
    ];
    let sotw = [
        publish(LOCATED, 12, 1, 0),
        ask(&[&wanted]),
        publish(LOCATED, 4, 2, 0),
        ask(&[&wanted[2..]]),
        publish(LOCATED, 12, 2, how::REMOVED),
    ];
    let all = [(flag::DELTA, delta.concat()), (0, sotw.concat())];
    let from = |source| {
        all.clone()
            .map(|(flags, said)| [&[flags, source], &*said].concat())
    };
    (0..SOURCES).flat_map(from).collect()
}
