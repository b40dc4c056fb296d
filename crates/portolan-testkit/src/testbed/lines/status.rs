use std::collections::BTreeSet;

use portolan_server::{NodeStatus, RejectionStatus, StatusRegistry, StreamStatus, TypeStatus};
use serde_json::{Map, Value, json};

use crate::testbed::kind::Kind;
use crate::testbed::state::State;

/// All nodes that are served something or have streams, sorted by id.
pub(super) fn of_all(state: &State, registry: &StatusRegistry) -> Value {
    let mut nodes: BTreeSet<String> = state.nodes().into_iter().collect();
    nodes.extend(registry.nodes().map(|node| node.id().to_owned()));
    let nodes = nodes.iter().map(|node| of(state, registry, node));
    json!({ "nodes": nodes.collect::<Vec<_>>() })
}

/// One node, whether it is known or not.
pub(super) fn of(state: &State, registry: &StatusRegistry, node: &str) -> Value {
    let served: Option<Map<String, Value>> = state.versions(node).map(|versions| {
        let version = versions.iter();
        let version =
            version.map(|(kind, version)| (kind.short_name().to_owned(), json!(version.as_str())));
        version.collect()
    });
    let status = registry.node(node);
    let streams = status.iter().flat_map(NodeStatus::streams).map(stream);
    json!({
        "node": node,
        "served": served,
        "streams": streams.collect::<Vec<_>>(),
    })
}

fn stream(stream: &StreamStatus) -> Value {
    let info = stream.info();
    let types = stream.types().iter().map(of_type);
    json!({
        "id": info.id(),
        "service": info.service(),
        "variant": match info.variant() {
            portolan_engine::Variant::Delta => "delta",
            _ => "sotw",
        },
        "settled": stream.is_settled(),
        "types": types.collect::<Vec<_>>(),
    })
}

fn of_type(status: &TypeStatus) -> Value {
    let url = status.type_url().as_str();
    json!({
        "type": Kind::name_of(url),
        "wildcard": status.is_wildcard(),
        "names": status.names(),
        "sent": status.sent().map(|response| response.version().as_str()),
        "accepted": status.accepted().map(|response| response.version().as_str()),
        "pending": status.is_pending(),
        "rejected": status.rejection().map(rejection),
    })
}

fn rejection(rejection: &RejectionStatus) -> Value {
    json!({
        "version": rejection.version().as_str(),
        "code": rejection.code(),
        "message": rejection.message(),
    })
}
