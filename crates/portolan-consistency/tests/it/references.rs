use portolan_consistency::{FindingKind, Severity};
use portolan_core::well_known::{CLUSTER, ENDPOINT, EXTENSION_CONFIG, ROUTE, SECRET};

use crate::world::{checks, shown, whole};

#[test]
fn c255_in_a_whole_snapshot_nothing_is_found() {
    assert_eq!(shown(&checks().check(&whole())), Vec::<String>::new());
}

/// Tests that without this resource, which one refers to, there is one finding, with its place.
macro_rules! dangling {
    ($($test:ident: $type_url:ident $name:literal, $severity:ident => $shown:literal;)*) => {$(
        #[test]
        fn $test() {
            let mut edit = whole().edit();
            edit.remove(&$type_url, $name);
            let report = checks().check(&edit.build());
            assert_eq!(shown(&report), [$shown]);
            assert_eq!(report.findings()[0].kind(), FindingKind::Missing);
            assert_eq!(report.findings()[0].severity(), Severity::$severity);
            assert_eq!(report.findings()[0].target(), Some(&$type_url));
            assert_eq!(report.findings()[0].value(), $name);
        }
    )*};
}

dangling! {
    rds: ROUTE "r1", Error => "Listener \"ingress\" › filter_chains[0] › filters[0] › http_connection_manager › rds › route_config_name \"r1\": there is no such RouteConfiguration";
    route_of_a_scope: ROUTE "r2", Error => "ScopedRouteConfiguration \"s\" › route_configuration_name \"r2\": there is no such RouteConfiguration";
    certificate: SECRET "certificate", Error => "Listener \"ingress\" › filter_chains[0] › transport_socket › downstream_tls_context › common_tls_context › tls_certificate_sds_secret_configs[0] › name \"certificate\": there is no such Secret";
    certificate_authority: SECRET "ca", Error => "Cluster \"secure\" › transport_socket › upstream_tls_context › common_tls_context › validation_context_sds_secret_config › name \"ca\": there is no such Secret";
    discovered_filter: EXTENSION_CONFIG "waf", Error => "Listener \"ingress\" › filter_chains[0] › filters[0] › http_connection_manager › http_filters[0] › config_discovery \"waf\": there is no such TypedExtensionConfig";
    access_log: CLUSTER "als", Warning => "Listener \"ingress\" › filter_chains[0] › filters[0] › http_connection_manager › access_log[0] › http_grpc_access_log_config › common_config › grpc_service › envoy_grpc › cluster_name \"als\": there is no such Cluster";
    tcp_proxy: CLUSTER "tcp", Error => "Listener \"tcp\" › filter_chains[0] › filters[0] › tcp_proxy › cluster \"tcp\": there is no such Cluster";
    mirror: CLUSTER "mirror", Error => "RouteConfiguration \"r1\" › virtual_hosts[0] › routes[0] › route › request_mirror_policies[0] › cluster \"mirror\": there is no such Cluster";
    weighted_cluster: CLUSTER "heavy", Error => "RouteConfiguration \"r1\" › virtual_hosts[0] › routes[1] › route › weighted_clusters › clusters[0] › name \"heavy\": there is no such Cluster";
    cluster_of_no_weight: CLUSTER "light", Error => "RouteConfiguration \"r1\" › virtual_hosts[0] › routes[1] › route › weighted_clusters › clusters[1] › name \"light\": there is no such Cluster";
    filter_configuration: CLUSTER "authz", Warning => "RouteConfiguration \"r1\" › virtual_hosts[0] › typed_per_filter_config[\"authz\"] › ext_authz_per_route › check_settings › grpc_service › envoy_grpc › cluster_name \"authz\": there is no such Cluster";
    cluster_of_a_virtual_host: CLUSTER "on-demand", Error => "VirtualHost \"r1/h\" › routes[0] › route › cluster \"on-demand\": there is no such Cluster";
    member_of_an_aggregate: CLUSTER "member", Error => "Cluster \"aggregate\" › cluster_type › cluster_config › clusters[0] \"member\": there is no such Cluster";
    endpoints: ENDPOINT "web", Error => "Cluster \"web\" › name \"web\": there is no such ClusterLoadAssignment";
    endpoints_of_a_service: ENDPOINT "service", Error => "Cluster \"named\" › eds_cluster_config › service_name \"service\": there is no such ClusterLoadAssignment";
}

#[test]
fn a_cluster_that_is_gone_leaves_its_endpoints_behind() {
    let mut edit = whole().edit();
    edit.remove(&CLUSTER, "web");
    let expected = [
        "RouteConfiguration \"r1\" › virtual_hosts[0] › routes[0] › route › cluster \"web\": there is no such Cluster",
        "ClusterLoadAssignment \"web\": nothing refers to it",
    ];
    assert_eq!(shown(&checks().check(&edit.build())), expected);
}
