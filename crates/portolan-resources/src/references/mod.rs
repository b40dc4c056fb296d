//! Reads out of a resource's body what it refers to.
//!
//! Bodies are not decoded: [`walk`] follows the fields that [`schema`] says lead to references, and passes over all
//! others. So it takes no message to be compiled in, whatever features `portolan-types` has, and no more memory than
//! what it finds.

mod schema;
mod walk;
mod wire;

use bytes::Bytes;
use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_core::{Facts, ReadyWhen, Reference, References, Strength, TypeUrl};

/// The references of Envoy's resources, and when they are ready.
///
/// Only what a management server supplies is referred to: endpoints, routes, secrets and the like whose source is a
/// file, or which stand in the message itself, are not. What a source says is served by another management server than
/// the one it came from is [`on a stream of its own`](Reference::is_on_own_stream). A cluster that is named anywhere is
/// always referred to. Of several references to one name, one is told.
///
/// | of | to | where |
/// |---|---|---|
/// | listener | route table | `rds` of an HTTP connection manager |
/// | | scoped routes | its `scoped_rds`: what the locator names, or else all, as `*` |
/// | | extension configuration | `config_discovery` of HTTP, network, listener and UDP session filters; soft with a default |
/// | | secret | the TLS contexts of filter chains, QUIC and STARTTLS included; OAuth2 and injected credentials |
/// | | cluster | `cluster` and `weighted_clusters` of TCP proxies, UDP proxies, and all that a route table names if it stands in the listener |
/// | | cluster, soft | access logs, tracing, external authorization and processing, rate limits, JWT keys, OAuth2 |
/// | route table | cluster | `cluster`, `weighted_clusters` whatever their weight, mirrors |
/// | | cluster, soft | cluster specifier plug-ins; services in the filter configuration of tables, virtual hosts, routes and weighted clusters |
/// | | virtual host | `vhds`: `<route table>/`, with which all their names begin |
/// | virtual host | as route table | |
/// | scoped route | route table | `route_configuration_name` |
/// | cluster | endpoints | `service_name`, or else the cluster's name (C-256) |
/// | | cluster | the members of an aggregate cluster; mirrors |
/// | | secret | the TLS contexts of `transport_socket` and `transport_socket_matches` |
/// | | extension configuration | upstream network and HTTP filters |
/// | endpoints | locality endpoints | `leds_collection_name` |
/// | extension configuration | as the filter that it is for | |
///
/// Filters, loggers and the like are found by the type of their configuration, whatever their names. One that is not
/// known refers to nothing; neither does a `TypedStruct`, nor what lies deeper than 64 messages in each other.
///
/// # Paths
/// A [`path`](Reference::path) leads through the fields of the message by their names in the schema, with positions in
/// lists and keys in maps in brackets. A message in an `Any` is named by its type, in the style of field names, instead of
/// by the field that it is in:
///
/// ```text
/// filter_chains[0].filters[1].http_connection_manager.rds.route_config_name
/// virtual_hosts[0].routes[2].typed_per_filter_config["authz"].ext_authz_per_route.check_settings.grpc_service.envoy_grpc.cluster_name
/// ```
///
/// # Readiness
/// A cluster with discovered endpoints is proved ready by their acknowledgement, unless it warms for another reason too:
/// it checks health, or fetches secrets or filters. Any other resource is ready when it is acknowledged.
///
/// ```
/// use portolan_resources::{EnvoyReferences, TypedResource, build};
///
/// let listener = build::http_listener("ingress", "0.0.0.0:80".parse()?, "routes");
/// let listener = listener.to_resource().build()?;
/// let rds = &listener.facts(&EnvoyReferences::default()).references()[0];
/// assert_eq!(rds.name().as_str(), "routes");
/// assert_eq!(
///     rds.path(),
///     "filter_chains[0].filters[0].http_connection_manager.rds.route_config_name",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EnvoyReferences;

impl References for EnvoyReferences {
    /// A body that is no such message refers to nothing; clients say what they think of it.
    fn facts(&self, type_url: &TypeUrl, body: &Bytes) -> Facts {
        let found = schema::of_type(type_url).map(|message| walk::references(message, body));
        let Some(Ok(references)) = found else {
            return Facts::default();
        };
        let ready_when = ready_when(type_url, body, &references);
        let empty = *type_url == ENDPOINT && has_endpoints(body) == Ok(false);
        Facts::new(references, ready_when).with_empty(empty)
    }
}

/// Whether an assignment has endpoints, or says where they are discovered.
fn has_endpoints(assignment: &[u8]) -> Result<bool, wire::Malformed> {
    for field in wire::fields(assignment) {
        let (schema::LOCALITIES, wire::Value::Bytes(locality)) = field? else {
            continue;
        };
        for field in wire::fields(locality) {
            if schema::LOCALITY_MEMBERS.contains(&field?.0) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Field 1 of a message, if it is there and is bytes or text.
pub(crate) fn first_field(body: &[u8]) -> Option<Vec<u8>> {
    let field = wire::get_bytes(body, 1).ok()?;
    field.map(<[u8]>::to_vec)
}

fn ready_when(type_url: &TypeUrl, body: &[u8], references: &[Reference]) -> ReadyWhen {
    let awaits_endpoints = |r: &Reference| *r.target() == ENDPOINT && !r.is_on_own_stream();
    if *type_url != CLUSTER || !references.iter().any(awaits_endpoints) {
        return ReadyWhen::Acked;
    }
    let awaits_more = references.iter().any(|r| {
        r.strength() == Strength::Hard && *r.target() != ENDPOINT && *r.target() != CLUSTER
    });
    let checks_health = matches!(wire::get(body, schema::HEALTH_CHECKS.1), Ok(Some(_)));
    match awaits_more || checks_health {
        true => ReadyWhen::BothAcked,
        false => ReadyWhen::ChildAcked,
    }
}

#[cfg(test)]
mod tests;
