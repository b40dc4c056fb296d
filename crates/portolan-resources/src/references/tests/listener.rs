use super::edges;

edges! {
    rds: LISTENER r#"filter_chains {} filter_chains {
        filters { name: "tls" } filters { name: "any" typed_config { [@HCM] { rds { config_source @ADS route_config_name: "r" } } } }
    }"# => [hard ROUTE "r" "filter_chains[1].filters[1].http_connection_manager.rds.route_config_name"];

    rds_of_the_default_chain: LISTENER r#"default_filter_chain {
        filters { typed_config { [@HCM] { rds { config_source @SELF route_config_name: "r" } } } }
    }"# => [hard ROUTE "r" "default_filter_chain.filters[0].http_connection_manager.rds.route_config_name"];

    rds_of_an_api_listener: LISTENER r#"api_listener {
        api_listener { [@HCM] { rds { config_source @ADS route_config_name: "r" } } }
    }"# => [hard ROUTE "r" "api_listener.http_connection_manager.rds.route_config_name"];

    inline_routes: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        route_config { name: "r" virtual_hosts { routes { route { cluster: "c" } } } }
    } } } }"# => [hard CLUSTER "c" "filter_chains[0].filters[0].http_connection_manager.route_config.virtual_hosts[0].routes[0].route.cluster"];

    scoped_routes_by_wildcard: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        scoped_routes { name: "s" rds_config_source @ADS scoped_rds { scoped_rds_config_source @ADS } }
    } } } }"# => [hard SCOPED_ROUTE "*" "filter_chains[0].filters[0].http_connection_manager.scoped_routes.scoped_rds"];

    scoped_routes_by_locator: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        scoped_routes { scoped_rds { scoped_rds_config_source @ADS srds_resources_locator: "xdstp://a/s/*" } }
    } } } }"# => [hard SCOPED_ROUTE "xdstp://a/s/*" "filter_chains[0].filters[0].http_connection_manager.scoped_routes.scoped_rds.srds_resources_locator"];

    inline_scoped_routes: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        scoped_routes { rds_config_source @ADS scoped_route_configurations_list {
            scoped_route_configurations { name: "s" route_configuration_name: "r" }
            scoped_route_configurations { route_configuration { virtual_hosts { routes { route { cluster: "c" } } } } }
        } }
    } } } }"# => [
        hard ROUTE "r" "filter_chains[0].filters[0].http_connection_manager.scoped_routes.scoped_route_configurations_list.scoped_route_configurations[0].route_configuration_name",
        hard CLUSTER "c" "filter_chains[0].filters[0].http_connection_manager.scoped_routes.scoped_route_configurations_list.scoped_route_configurations[1].route_configuration.virtual_hosts[0].routes[0].route.cluster",
    ];

    tcp_proxy: LISTENER r#"filter_chains { filters { typed_config { [@network.tcp_proxy.v3.TcpProxy] { cluster: "c" } } } }"# => [
        hard CLUSTER "c" "filter_chains[0].filters[0].tcp_proxy.cluster"
    ];

    weighted_tcp_proxy: LISTENER r#"filter_chains { filters { typed_config { [@network.tcp_proxy.v3.TcpProxy] {
        weighted_clusters { clusters { name: "a" weight: 1 } clusters { name: "b" } }
    } } } }"# => [
        hard CLUSTER "a" "filter_chains[0].filters[0].tcp_proxy.weighted_clusters.clusters[0].name",
        hard CLUSTER "b" "filter_chains[0].filters[0].tcp_proxy.weighted_clusters.clusters[1].name",
    ];

    udp_proxy: LISTENER r#"listener_filters { typed_config { [type.googleapis.com/envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig] {
        matcher { on_no_match { action { name: "route" typed_config {
            [type.googleapis.com/envoy.extensions.filters.udp.udp_proxy.v3.Route] { cluster: "c" }
        } } } }
    } } }"# => [hard CLUSTER "c" "listener_filters[0].udp_proxy_config.matcher.on_no_match.action.route.cluster"];

    discovered_listener_filter: LISTENER r#"listener_filters { name: "e" config_discovery { config_source @ADS } }"# => [
        hard EXTENSION_CONFIG "e" "listener_filters[0].config_discovery"
    ];

    discovered_network_filter: LISTENER r#"filter_chains { filters { name: "e" config_discovery { config_source @ADS } } }"# => [
        hard EXTENSION_CONFIG "e" "filter_chains[0].filters[0].config_discovery"
    ];

    discovered_http_filter: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        http_filters { name: "e" config_discovery { config_source @ADS } }
    } } } }"# => [hard EXTENSION_CONFIG "e" "filter_chains[0].filters[0].http_connection_manager.http_filters[0].config_discovery"];

    discovered_filter_with_a_default: LISTENER r#"filter_chains { filters { name: "e" config_discovery {
        config_source @ADS default_config { [@network.tcp_proxy.v3.TcpProxy] { cluster: "c" } }
    } } }"# => [
        soft EXTENSION_CONFIG "e" "filter_chains[0].filters[0].config_discovery",
        hard CLUSTER "c" "filter_chains[0].filters[0].config_discovery.tcp_proxy.cluster",
    ];

    filter_of_an_upgrade: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        upgrade_configs { filters { name: "e" config_discovery { config_source @ADS } } }
    } } } }"# => [hard EXTENSION_CONFIG "e" "filter_chains[0].filters[0].http_connection_manager.upgrade_configs[0].filters[0].config_discovery"];

    access_log_of_a_listener: LISTENER r#"access_log { typed_config { [@log.grpc.v3.TcpGrpcAccessLogConfig] { common_config { @GRPC } } } }"# => [
        soft CLUSTER "c" "access_log[0].tcp_grpc_access_log_config.common_config.grpc_service.envoy_grpc.cluster_name"
    ];

    access_log_of_requests: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        access_log { name: "file" } access_log { typed_config { [@log.grpc.v3.HttpGrpcAccessLogConfig] { common_config { @GRPC } } } }
    } } } }"# => [soft CLUSTER "c" "filter_chains[0].filters[0].http_connection_manager.access_log[1].http_grpc_access_log_config.common_config.grpc_service.envoy_grpc.cluster_name"];

    open_telemetry_access_log: LISTENER r#"access_log { typed_config { [@log.open_telemetry.v3.OpenTelemetryAccessLogConfig] { http_service @HTTP } } }"# => [
        soft CLUSTER "c" "access_log[0].open_telemetry_access_log_config.http_service.http_uri.cluster"
    ];

    tracing: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        tracing { provider { typed_config { [@trace.OpenTelemetryConfig] { @GRPC } } } }
    } } } }"# => [soft CLUSTER "c" "filter_chains[0].filters[0].http_connection_manager.tracing.provider.open_telemetry_config.grpc_service.envoy_grpc.cluster_name"];

    tracing_by_a_named_cluster: LISTENER r#"filter_chains { filters { typed_config { [@HCM] {
        tracing { provider { typed_config { [@trace.ZipkinConfig] { collector_cluster: "c" } } } }
    } } } }"# => [soft CLUSTER "c" "filter_chains[0].filters[0].http_connection_manager.tracing.provider.zipkin_config.collector_cluster"];

    network_ext_authz: LISTENER r#"filter_chains { filters { typed_config { [@network.ext_authz.v3.ExtAuthz] { @GRPC } } } }"# => [
        soft CLUSTER "c" "filter_chains[0].filters[0].ext_authz.grpc_service.envoy_grpc.cluster_name"
    ];

    network_rate_limit: LISTENER r#"filter_chains { filters { typed_config { [@network.ratelimit.v3.RateLimit] { rate_limit_service { @GRPC } } } } }"# => [
        soft CLUSTER "c" "filter_chains[0].filters[0].rate_limit.rate_limit_service.grpc_service.envoy_grpc.cluster_name"
    ];
}
