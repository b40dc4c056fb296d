use portolan_types::envoy::config::core::v3::TypedExtensionConfig;

use super::*;

edges! {
    what_is_not_known_is_passed_over: LISTENER r#"filter_chains {
        filters { typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x" value { fields { key: "cluster" value { string_value: "c" } } } } } }
        filters { typed_config { [@network.echo.v3.Echo] {} } }
        filters { typed_config { [@network.tcp_proxy.v3.TcpProxy] { cluster: "c" } } }
    }"# => [hard CLUSTER "c" "filter_chains[0].filters[2].tcp_proxy.cluster"];

    names_that_are_empty_are_none: ROUTE r#"vhds { config_source {} } virtual_hosts { routes { route { cluster: "" } } }"# => [];
}

#[test]
fn a_body_that_is_no_message_refers_to_nothing() {
    let whole = body(
        &CLUSTER,
        r#"name: "c" type: EDS eds_cluster_config { eds_config @ADS }"#,
    );
    assert_eq!(
        EnvoyReferences.facts(&CLUSTER, &whole).references().len(),
        1
    );
    let cut = whole.slice(..whole.len() - 1);
    for broken in [cut, Bytes::from_static(b"\xff\xff\xff")] {
        assert_eq!(EnvoyReferences.facts(&CLUSTER, &broken), Facts::default());
    }
    assert_eq!(EnvoyReferences.facts(&SECRET, &whole), Facts::default());
}

#[test]
fn an_extension_that_is_no_message_refers_to_nothing() {
    let whole = body(
        &EXTENSION_CONFIG,
        r#"typed_config { [@http.ext_authz.v3.ExtAuthz] { @GRPC } }"#,
    );
    assert_eq!(
        EnvoyReferences
            .facts(&EXTENSION_CONFIG, &whole)
            .references()
            .len(),
        1
    );
    let mut extension = TypedExtensionConfig::decode(whole).unwrap();
    let authz = extension.typed_config.as_mut().unwrap();
    authz.value = [&authz.value[..], b"\x0a\x7f"].concat().into();
    let facts = EnvoyReferences.facts(&EXTENSION_CONFIG, &extension.encode_to_vec().into());
    assert!(facts.references().is_empty());
}

#[test]
fn what_lies_too_deep_is_not_read() {
    let nested = |depth: usize| {
        let mut matcher = String::from(
            "on_no_match { action { name: \"route\" typed_config {
                [type.googleapis.com/envoy.config.route.v3.Route] { route { cluster: \"c\" } }
            } } }",
        );
        for _ in 0..depth {
            matcher = format!("on_no_match {{ matcher {{ {matcher} }} }}");
        }
        facts(&VIRTUAL_HOST, &format!("matcher {{ {matcher} }}"))
    };
    assert_eq!(nested(25).references().len(), 1);
    assert!(nested(35).references().is_empty());
}
