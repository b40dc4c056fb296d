use portolan::core::TypeUrl;
use portolan::core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, LOCALITY_ENDPOINT, ROUTE, RUNTIME, SCOPED_ROUTE,
    SECRET, VIRTUAL_HOST,
};
use portolan::engine::Variant;
use portolan_testkit::conformance::Plan;

/// By type: the package of its service, the service, and what follows `Stream` and `Delta` in its methods.
const SERVICES: [(TypeUrl, &str, &str, &str); 10] = [
    (
        LISTENER,
        "listener",
        "ListenerDiscoveryService",
        "Listeners",
    ),
    (ROUTE, "route", "RouteDiscoveryService", "Routes"),
    (
        SCOPED_ROUTE,
        "route",
        "ScopedRoutesDiscoveryService",
        "ScopedRoutes",
    ),
    (
        VIRTUAL_HOST,
        "route",
        "VirtualHostDiscoveryService",
        "VirtualHosts",
    ),
    (CLUSTER, "cluster", "ClusterDiscoveryService", "Clusters"),
    (
        ENDPOINT,
        "endpoint",
        "EndpointDiscoveryService",
        "Endpoints",
    ),
    (
        LOCALITY_ENDPOINT,
        "endpoint",
        "LocalityEndpointDiscoveryService",
        "LocalityEndpoints",
    ),
    (SECRET, "secret", "SecretDiscoveryService", "Secrets"),
    (RUNTIME, "runtime", "RuntimeDiscoveryService", "Runtime"),
    (
        EXTENSION_CONFIG,
        "extension",
        "ExtensionConfigDiscoveryService",
        "ExtensionConfigs",
    ),
];

/// The method that a run calls; `None` where there is none, as for a type of somebody's own.
pub(crate) fn path(plan: &Plan) -> Option<String> {
    let delta = plan.variant == Variant::Delta;
    let verb = if delta { "Delta" } else { "Stream" };
    let Some(url) = &plan.single else {
        let service = "envoy.service.discovery.v3.AggregatedDiscoveryService";
        return Some(format!("/{service}/{verb}AggregatedResources"));
    };
    let (only, package, service, what) = SERVICES.into_iter().find(|(known, ..)| known == url)?;
    if [VIRTUAL_HOST, LOCALITY_ENDPOINT].contains(&only) && !delta {
        return None;
    }
    Some(format!(
        "/envoy.service.{package}.v3.{service}/{verb}{what}"
    ))
}
