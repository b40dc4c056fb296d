use super::*;

edges! {
    endpoints_by_name: CLUSTER r#"name: "c" type: EDS eds_cluster_config { eds_config @ADS }"# => [hard ENDPOINT "c" "name"];

    c256_endpoints_by_service_name: CLUSTER r#"name: "c" type: EDS eds_cluster_config { eds_config @SELF service_name: "s" }"# => [
        hard ENDPOINT "s" "eds_cluster_config.service_name"
    ];

    b72_endpoints_of_a_file: CLUSTER r#"name: "c" type: EDS eds_cluster_config { eds_config @FILE }"# => [];

    endpoints_of_a_cluster_that_discovers_none: CLUSTER r#"name: "c" type: STRICT_DNS eds_cluster_config { eds_config @ADS }"# => [];

    endpoints_without_a_source: CLUSTER r#"name: "c" type: EDS eds_cluster_config { service_name: "s" }"# => [];

    aggregate: CLUSTER r#"name: "c" cluster_type { name: "envoy.clusters.aggregate" typed_config {
        [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: ["a", "c"] }
    } }"# => [
        hard CLUSTER "a" "cluster_type.cluster_config.clusters[0]",
        hard CLUSTER "c" "cluster_type.cluster_config.clusters[1]",
    ];

    upstream_filters: CLUSTER r#"
        filters { name: "n" config_discovery { config_source @ADS } }
        typed_extension_protocol_options { key: "http" value { [type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions] {
            http_filters { name: "h" config_discovery { config_source @ADS } }
        } } }
    "# => [
        hard EXTENSION_CONFIG "h" "typed_extension_protocol_options[\"http\"].http_protocol_options.http_filters[0].config_discovery",
        hard EXTENSION_CONFIG "n" "filters[0].config_discovery",
    ];

    locality_endpoints: ENDPOINT r#"cluster_name: "c" endpoints {} endpoints {
        leds_cluster_locality_config { leds_config @ADS leds_collection_name: "xdstp://a/e/*" }
    }"# => [hard LOCALITY_ENDPOINT "xdstp://a/e/*" "endpoints[1].leds_cluster_locality_config.leds_collection_name"];
}

#[test]
fn b72_endpoints_of_a_named_management_server_are_asked_for_on_a_stream_of_their_own() {
    let facts = facts(
        &CLUSTER,
        r#"name: "c" type: EDS eds_cluster_config { eds_config @API }"#,
    );
    let [endpoints] = facts.references() else {
        panic!("{facts:?}");
    };
    assert!(endpoints.is_on_own_stream());
    assert_eq!(facts.ready_when(), ReadyWhen::Acked);
}

#[test]
fn an_assignment_without_endpoints_is_empty() {
    let is_empty = |text: &str| facts(&ENDPOINT, text).is_empty();
    assert!(is_empty(r#"cluster_name: "c""#));
    assert!(is_empty(
        r#"cluster_name: "c" endpoints { priority: 1 } endpoints {}"#
    ));
    assert!(!is_empty(
        r#"cluster_name: "c" endpoints {} endpoints { lb_endpoints {} }"#
    ));
    assert!(!is_empty(
        r#"cluster_name: "c" endpoints { leds_cluster_locality_config { leds_config @ADS leds_collection_name: "x" } }"#
    ));
    assert!(!facts(&CLUSTER, r#"name: "c""#).is_empty());
}

#[test]
fn endpoints_alone_prove_readiness_of_a_plain_cluster_only() {
    const PLAIN: &str = r#"name: "c" type: EDS eds_cluster_config { eds_config @ADS }"#;
    let ready_when = |more: &str| facts(&CLUSTER, &format!("{PLAIN} {more}")).ready_when();
    assert_eq!(ready_when(""), ReadyWhen::ChildAcked);
    let tls = |secret: &str| {
        ready_when(&format!(
            "transport_socket {{ typed_config {{ [@tls.UpstreamTlsContext] {{ common_tls_context {{ {secret} }} }} }} }}"
        ))
    };
    assert_eq!(tls(""), ReadyWhen::ChildAcked);
    assert_eq!(
        tls(r#"tls_certificate_sds_secret_configs { name: "s" sds_config @ADS }"#),
        ReadyWhen::BothAcked
    );
    assert_eq!(
        tls(r#"tls_certificate_sds_secret_configs { name: "s" sds_config @API }"#),
        ReadyWhen::BothAcked
    );
    assert_eq!(
        ready_when("health_checks { timeout { seconds: 1 } }"),
        ReadyWhen::BothAcked
    );
    assert_eq!(
        ready_when(r#"filters { name: "e" config_discovery { config_source @ADS } }"#),
        ReadyWhen::BothAcked
    );
}

#[test]
fn what_discovers_no_endpoints_is_ready_when_it_is_acknowledged() {
    for text in [
        r#"name: "c" type: LOGICAL_DNS health_checks {}"#,
        r#"name: "c" type: EDS eds_cluster_config { eds_config @FILE }"#,
    ] {
        assert_eq!(facts(&CLUSTER, text).ready_when(), ReadyWhen::Acked);
    }
    assert_eq!(
        facts(&ROUTE, r#"name: "r" vhds { config_source @ADS }"#).ready_when(),
        ReadyWhen::Acked
    );
}
