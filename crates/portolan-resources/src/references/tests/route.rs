use super::edges;

edges! {
    cluster: ROUTE r#"name: "r" virtual_hosts {} virtual_hosts { routes { direct_response {} } routes { route { cluster: "c" } } }"# => [
        hard CLUSTER "c" "virtual_hosts[1].routes[1].route.cluster"
    ];

    weighted_clusters_whatever_their_weight: ROUTE r#"virtual_hosts { routes { route { weighted_clusters {
        clusters { name: "a" weight { value: 100 } } clusters { name: "b" weight { value: 0 } } clusters { cluster_header: "h" }
    } } } }"# => [
        hard CLUSTER "a" "virtual_hosts[0].routes[0].route.weighted_clusters.clusters[0].name",
        hard CLUSTER "b" "virtual_hosts[0].routes[0].route.weighted_clusters.clusters[1].name",
    ];

    mirrors: ROUTE r#"
        request_mirror_policies { cluster: "all" }
        virtual_hosts {
            request_mirror_policies { cluster: "host" }
            routes { route { cluster_header: "h" request_mirror_policies { cluster: "route" } } }
        }
    "# => [
        hard CLUSTER "route" "virtual_hosts[0].routes[0].route.request_mirror_policies[0].cluster",
        hard CLUSTER "host" "virtual_hosts[0].request_mirror_policies[0].cluster",
        hard CLUSTER "all" "request_mirror_policies[0].cluster",
    ];

    named_specifier_plugin: ROUTE r#"cluster_specifier_plugins { extension { name: "p" typed_config {
        [type.googleapis.com/envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig] { default_cluster: "c" }
    } } }"# => [soft CLUSTER "c" "cluster_specifier_plugins[0].extension.lua_config.default_cluster"];

    inline_specifier_plugin: ROUTE r#"virtual_hosts { routes { route { inline_cluster_specifier_plugin { extension { name: "p" typed_config {
        [type.googleapis.com/envoy.extensions.router.cluster_specifiers.matcher.v3.MatcherClusterSpecifier] { cluster_matcher {
            matcher_list { matchers { on_match { action { name: "a" typed_config {
                [type.googleapis.com/envoy.extensions.router.cluster_specifiers.matcher.v3.ClusterAction] { cluster: "c" }
            } } } } }
        } }
    } } } } } }"# => [
        soft CLUSTER "c" "virtual_hosts[0].routes[0].route.inline_cluster_specifier_plugin.extension.matcher_cluster_specifier.cluster_matcher.matcher_list.matchers[0].on_match.action.cluster_action.cluster"
    ];

    routes_in_a_match_tree: ROUTE r#"virtual_hosts { matcher { matcher_tree { prefix_match_map { map { key: "/a" value { action { name: "route" typed_config {
        [type.googleapis.com/envoy.config.route.v3.Route] { route { cluster: "c" } }
    } } } } } } } }"# => [
        hard CLUSTER "c" "virtual_hosts[0].matcher.matcher_tree.prefix_match_map.map[\"/a\"].action.route.route.cluster"
    ];

    discovered_virtual_hosts: ROUTE r#"name: "ns/r" vhds { config_source @ADS }"# => [hard VIRTUAL_HOST "ns/r/" "vhds"];

    filter_configuration_of_a_table: ROUTE r#"typed_per_filter_config { key: "z" value { [@http.ext_authz.v3.ExtAuthzPerRoute] { check_settings { @GRPC } } } }"# => [
        soft CLUSTER "c" "typed_per_filter_config[\"z\"].ext_authz_per_route.check_settings.grpc_service.envoy_grpc.cluster_name"
    ];

    filter_configuration_of_a_virtual_host: ROUTE r#"virtual_hosts { typed_per_filter_config { key: "p" value {
        [@http.ext_proc.v3.ExtProcPerRoute] { overrides { @GRPC } }
    } } }"# => [
        soft CLUSTER "c" "virtual_hosts[0].typed_per_filter_config[\"p\"].ext_proc_per_route.overrides.grpc_service.envoy_grpc.cluster_name"
    ];

    filter_configuration_of_a_route: ROUTE r#"virtual_hosts { routes { typed_per_filter_config { key: "p" value {
        [type.googleapis.com/envoy.config.route.v3.FilterConfig] { config { [@http.ext_proc.v3.ExtProcPerRoute] { overrides { @GRPC } } } }
    } } } }"# => [
        soft CLUSTER "c" "virtual_hosts[0].routes[0].typed_per_filter_config[\"p\"].filter_config.ext_proc_per_route.overrides.grpc_service.envoy_grpc.cluster_name"
    ];

    filter_configuration_of_a_weighted_cluster: ROUTE r#"virtual_hosts { routes { route { weighted_clusters { clusters {
        name: "w" typed_per_filter_config { key: "z" value { [@http.ext_authz.v3.ExtAuthzPerRoute] { check_settings { @GRPC } } } }
    } } } } }"# => [
        hard CLUSTER "w" "virtual_hosts[0].routes[0].route.weighted_clusters.clusters[0].name",
        soft CLUSTER "c" "virtual_hosts[0].routes[0].route.weighted_clusters.clusters[0].typed_per_filter_config[\"z\"].ext_authz_per_route.check_settings.grpc_service.envoy_grpc.cluster_name",
    ];

    virtual_host: VIRTUAL_HOST r#"name: "v" routes { route { cluster: "c" } }"# => [hard CLUSTER "c" "routes[0].route.cluster"];

    scoped_route: SCOPED_ROUTE r#"name: "s" route_configuration_name: "r""# => [hard ROUTE "r" "route_configuration_name"];

    scoped_route_with_inline_routes: SCOPED_ROUTE r#"route_configuration { virtual_hosts { routes { route { cluster: "c" } } } }"# => [
        hard CLUSTER "c" "route_configuration.virtual_hosts[0].routes[0].route.cluster"
    ];

    of_several_references_to_a_name_the_hardest_is_told: ROUTE r#"
        virtual_hosts {
            typed_per_filter_config { key: "z" value { [@http.ext_authz.v3.ExtAuthzPerRoute] { check_settings { @GRPC } } } }
            routes { route { cluster: "c" } } routes { route { cluster: "c" } }
        }
    "# => [hard CLUSTER "c" "virtual_hosts[0].routes[0].route.cluster"];
}
