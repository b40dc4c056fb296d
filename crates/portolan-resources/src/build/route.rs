use portolan_types::envoy::config::route::v3::route::Action;
use portolan_types::envoy::config::route::v3::route_action::ClusterSpecifier;
use portolan_types::envoy::config::route::v3::route_match::PathSpecifier;
use portolan_types::envoy::config::route::v3::weighted_cluster::ClusterWeight;
use portolan_types::envoy::config::route::v3::{
    Route, RouteAction, RouteConfiguration, RouteMatch, VirtualHost, WeightedCluster,
};

/// A route table.
///
/// Whether the clusters exist is not checked by the client: a route to one that it does not have is answered with
/// 503, not rejected.
#[must_use]
pub fn route_configuration(
    name: impl Into<String>,
    virtual_hosts: impl IntoIterator<Item = VirtualHost>,
) -> RouteConfiguration {
    RouteConfiguration {
        name: name.into(),
        virtual_hosts: virtual_hosts.into_iter().collect(),
        ..RouteConfiguration::default()
    }
}

/// The routes of some domains; `*` is every domain.
#[must_use]
pub fn virtual_host<S: Into<String>>(
    name: impl Into<String>,
    domains: impl IntoIterator<Item = S>,
    routes: impl IntoIterator<Item = Route>,
) -> VirtualHost {
    VirtualHost {
        name: name.into(),
        domains: domains.into_iter().map(Into::into).collect(),
        routes: routes.into_iter().collect(),
        ..VirtualHost::default()
    }
}

/// Requests whose path starts with `prefix` go to `cluster`.
#[must_use]
pub fn prefix_route(prefix: impl Into<String>, cluster: impl Into<String>) -> Route {
    route(prefix, ClusterSpecifier::Cluster(cluster.into()))
}

/// Requests whose path starts with `prefix` go to one of several clusters, in proportion to their weights.
#[must_use]
pub fn weighted_route<S: Into<String>>(
    prefix: impl Into<String>,
    clusters: impl IntoIterator<Item = (S, u32)>,
) -> Route {
    let weight = |(name, weight): (S, u32)| ClusterWeight {
        name: name.into(),
        weight: Some(weight),
        ..ClusterWeight::default()
    };
    let clusters = WeightedCluster {
        clusters: clusters.into_iter().map(weight).collect(),
        ..WeightedCluster::default()
    };
    route(prefix, ClusterSpecifier::WeightedClusters(clusters))
}

fn route(prefix: impl Into<String>, cluster: ClusterSpecifier) -> Route {
    Route {
        r#match: Some(RouteMatch {
            path_specifier: Some(PathSpecifier::Prefix(prefix.into())),
            ..RouteMatch::default()
        }),
        action: Some(Action::Route(RouteAction {
            cluster_specifier: Some(cluster),
            ..RouteAction::default()
        })),
        ..Route::default()
    }
}
