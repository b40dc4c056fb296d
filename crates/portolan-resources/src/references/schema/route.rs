//! Route tables, scoped routes and virtual hosts.

use portolan_core::Strength;
use portolan_core::well_known::{ROUTE as ROUTE_TABLE, VIRTUAL_HOST as HOST};

use super::matching::{MATCHER, TYPED_EXTENSION_CONFIG};
use super::{
    At, Discovers, Holds, Message, any, any_by_key, field, many, needs_cluster, one, uses_cluster,
};

pub(super) static ROUTE_CONFIGURATION: Message = Message {
    name: "envoy.config.route.v3.RouteConfiguration",
    fields: &[
        many("virtual_hosts", 2, &VIRTUAL_HOST),
        many("cluster_specifier_plugins", 12, &CLUSTER_SPECIFIER_PLUGIN),
        many("request_mirror_policies", 13, &REQUEST_MIRROR_POLICY),
        any_by_key("typed_per_filter_config", 16),
    ],
    // All names of a table's virtual hosts begin with the table's.
    discovers: Some(
        Discovers::new(
            HOST,
            &[At("vhds", 9), At("config_source", 1)],
            &[At("name", 1)],
            "vhds",
        )
        .with_suffix("/"),
    ),
};

pub(super) static SCOPED_ROUTE_CONFIGURATION: Message = Message {
    name: "envoy.config.route.v3.ScopedRouteConfiguration",
    fields: &[
        field(
            "route_configuration_name",
            2,
            Holds::Name(ROUTE_TABLE, Strength::Hard),
        ),
        one("route_configuration", 5, &ROUTE_CONFIGURATION),
    ],
    discovers: None,
};

pub(super) static VIRTUAL_HOST: Message = Message {
    name: "envoy.config.route.v3.VirtualHost",
    fields: &[
        many("routes", 3, &ROUTE),
        one("matcher", 21, &MATCHER),
        many("request_mirror_policies", 22, &REQUEST_MIRROR_POLICY),
        any_by_key("typed_per_filter_config", 15),
    ],
    discovers: None,
};

/// Routes are in an `Any` where a virtual host matches them by a tree.
pub(super) const IN_ANY: &[&Message] = &[
    &ROUTE,
    &ROUTE_LIST,
    &FILTER_CONFIG,
    &LUA_CLUSTER_SPECIFIER,
    &MATCHER_CLUSTER_SPECIFIER,
    &CLUSTER_ACTION,
];

static ROUTE: Message = Message {
    name: "envoy.config.route.v3.Route",
    fields: &[
        one("route", 2, &ROUTE_ACTION),
        any_by_key("typed_per_filter_config", 13),
    ],
    discovers: None,
};

static ROUTE_LIST: Message = Message {
    name: "envoy.config.route.v3.RouteList",
    fields: &[many("routes", 1, &ROUTE)],
    discovers: None,
};

static ROUTE_ACTION: Message = Message {
    name: "envoy.config.route.v3.RouteAction",
    fields: &[
        needs_cluster("cluster", 1),
        one("weighted_clusters", 3, &WEIGHTED_CLUSTER),
        one(
            "inline_cluster_specifier_plugin",
            39,
            &CLUSTER_SPECIFIER_PLUGIN,
        ),
        many("request_mirror_policies", 30, &REQUEST_MIRROR_POLICY),
    ],
    discovers: None,
};

static WEIGHTED_CLUSTER: Message = Message {
    name: "envoy.config.route.v3.WeightedCluster",
    fields: &[many("clusters", 1, &CLUSTER_WEIGHT)],
    discovers: None,
};

/// One without weight too: the weight may change at run time, and clients check it as any other.
static CLUSTER_WEIGHT: Message = Message {
    name: "envoy.config.route.v3.WeightedCluster.ClusterWeight",
    fields: &[
        needs_cluster("name", 1),
        any_by_key("typed_per_filter_config", 10),
    ],
    discovers: None,
};

pub(super) static REQUEST_MIRROR_POLICY: Message = Message {
    name: "envoy.config.route.v3.RouteAction.RequestMirrorPolicy",
    fields: &[needs_cluster("cluster", 1)],
    discovers: None,
};

static CLUSTER_SPECIFIER_PLUGIN: Message = Message {
    name: "envoy.config.route.v3.ClusterSpecifierPlugin",
    fields: &[one("extension", 1, &TYPED_EXTENSION_CONFIG)],
    discovers: None,
};

static LUA_CLUSTER_SPECIFIER: Message = Message {
    name: "envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig",
    fields: &[uses_cluster("default_cluster", 2)],
    discovers: None,
};

static MATCHER_CLUSTER_SPECIFIER: Message = Message {
    name: "envoy.extensions.router.cluster_specifiers.matcher.v3.MatcherClusterSpecifier",
    fields: &[one("cluster_matcher", 1, &MATCHER)],
    discovers: None,
};

static CLUSTER_ACTION: Message = Message {
    name: "envoy.extensions.router.cluster_specifiers.matcher.v3.ClusterAction",
    fields: &[uses_cluster("cluster", 1)],
    discovers: None,
};

/// What a filter is told on a route, with whether it is told at all.
static FILTER_CONFIG: Message = Message {
    name: "envoy.config.route.v3.FilterConfig",
    fields: &[any("config", 1)],
    discovers: None,
};
