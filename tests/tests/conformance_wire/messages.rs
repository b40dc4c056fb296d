//! Cases speak of requests and answers; these are the messages that they are.

use std::time::Duration;

use bytes::Bytes;
use portolan::core::Name;
use portolan::engine::{ErrorDetail, Request};
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse, Resource,
    ResourceError,
};
use portolan::types::google::rpc::Status;
use portolan_testkit::conformance::{Answer, AnswerError, AnswerHeartbeat, AnswerResource};
use prost::Message;

/// What a resource of state of the world is in where it has a time to live.
const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

/// The node of a plan as a message. What is sent first on a stream says who sends it, and nothing later does.
pub(crate) fn node(node: &portolan::core::Node) -> Node {
    Node {
        id: node.id().to_owned(),
        user_agent_name: node.user_agent_name().to_owned(),
        client_features: node.client_features().to_vec(),
        ..Node::default()
    }
}

pub(crate) fn sotw(request: Request, node: Option<Node>) -> Option<DiscoveryRequest> {
    let Request::Sotw(request) = request else {
        return None;
    };
    Some(DiscoveryRequest {
        node,
        version_info: request.version,
        resource_names: texts(request.names),
        type_url: request.type_url,
        response_nonce: request.nonce,
        error_detail: request.error.map(status),
        ..DiscoveryRequest::default()
    })
}

pub(crate) fn delta(request: Request, node: Option<Node>) -> Option<DeltaDiscoveryRequest> {
    let Request::Delta(request) = request else {
        return None;
    };
    let versions = request.initial_versions.into_iter();
    Some(DeltaDiscoveryRequest {
        node,
        type_url: request.type_url,
        resource_names_subscribe: texts(request.subscribe),
        resource_names_unsubscribe: texts(request.unsubscribe),
        initial_resource_versions: versions.map(|(n, v)| (text(n), text(v))).collect(),
        response_nonce: request.nonce,
        error_detail: request.error.map(status),
        ..DeltaDiscoveryRequest::default()
    })
}

pub(crate) fn of_sotw(response: DiscoveryResponse) -> Answer {
    let mut answer = Answer::new(response.type_url, response.version_info, response.nonce);
    for any in response.resources {
        if any.type_url != WRAPPER {
            let resource = AnswerResource::in_sotw(any.value.into());
            answer.resources.push(resource);
            continue;
        }
        let wrapped = Resource::decode(&*any.value).expect("a wrapper is what its type says");
        assert_eq!(wrapped.version, answer.version, "{}", wrapped.name);
        let ttl = wrapped.ttl.and_then(|ttl| Duration::try_from(ttl).ok());
        match (wrapped.resource, ttl) {
            (Some(any), ttl) => {
                assert_eq!(any.type_url, answer.type_url.as_str());
                let resource = AnswerResource::in_sotw(any.value.into()).with_ttl(ttl);
                assert_eq!(*resource.name, *wrapped.name);
                answer.resources.push(resource);
            }
            (None, Some(ttl)) => {
                let heartbeat = AnswerHeartbeat::new(wrapped.name, wrapped.version, ttl);
                answer.heartbeats.push(heartbeat);
            }
            (None, None) => answer.bodyless.push(wrapped.name.into()),
        }
    }
    answer.errors = errors(response.resource_errors);
    answer
}

pub(crate) fn of_delta(response: DeltaDiscoveryResponse) -> Answer {
    let version = response.system_version_info;
    let mut answer = Answer::new(response.type_url, version, response.nonce);
    for resource in response.resources {
        let name = Name::verbatim(&resource.name);
        match (
            resource.resource,
            resource.ttl.and_then(|ttl| Duration::try_from(ttl).ok()),
        ) {
            (Some(any), ttl) => {
                let version = Some(resource.version);
                let aliases = resource.aliases.iter().map(|alias| Name::verbatim(alias));
                let resource = AnswerResource::new(name, version, any.value.into());
                let resource = resource.with_ttl(ttl).with_aliases(aliases.collect());
                answer.resources.push(resource);
            }
            (None, Some(ttl)) => {
                let heartbeat = AnswerHeartbeat::new(name, resource.version, ttl);
                answer.heartbeats.push(heartbeat);
            }
            (None, None) => {
                // Clients know what they wait for by the alias (C-221).
                assert_eq!(resource.aliases, [&*name]);
                answer.bodyless.push(name);
            }
        }
    }
    let removed = response.removed_resources.iter();
    answer.removed = removed.map(|name| Name::verbatim(name)).collect();
    answer.errors = errors(response.resource_errors);
    answer
}

fn errors(errors: Vec<ResourceError>) -> Vec<AnswerError> {
    let error = |error: ResourceError| {
        let name = error.resource_name.expect("an error names a resource").name;
        let detail = error.error_detail.expect("an error says what it is");
        AnswerError::new(Name::verbatim(&name), detail.code, detail.message)
    };
    errors.into_iter().map(error).collect()
}

fn status(error: ErrorDetail) -> Status {
    Status {
        code: error.code,
        message: error.message,
        ..Status::default()
    }
}

fn texts(names: Vec<Bytes>) -> Vec<String> {
    names.into_iter().map(text).collect()
}

fn text(name: Bytes) -> String {
    String::from_utf8_lossy(&name).into_owned()
}
