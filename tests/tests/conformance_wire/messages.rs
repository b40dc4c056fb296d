//! Cases speak of requests and answers; these are the messages that they are.

use bytes::Bytes;
use portolan::engine::{ErrorDetail, Request};
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use portolan::types::google::rpc::Status;
use portolan_testkit::conformance::{Answer, AnswerResource, NODE};

/// What is sent first on a stream says who sends it, and nothing later does.
fn node(is_first: bool) -> Option<Node> {
    is_first.then(|| Node {
        id: NODE.to_owned(),
        ..Node::default()
    })
}

pub(crate) fn sotw(request: Request, is_first: bool) -> Option<DiscoveryRequest> {
    let Request::Sotw(request) = request else {
        return None;
    };
    Some(DiscoveryRequest {
        node: node(is_first),
        version_info: request.version,
        resource_names: texts(request.names),
        type_url: request.type_url,
        response_nonce: request.nonce,
        error_detail: request.error.map(status),
        ..DiscoveryRequest::default()
    })
}

pub(crate) fn delta(request: Request, is_first: bool) -> Option<DeltaDiscoveryRequest> {
    let Request::Delta(request) = request else {
        return None;
    };
    let versions = request.initial_versions.into_iter();
    Some(DeltaDiscoveryRequest {
        node: node(is_first),
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
    let resources = response.resources.into_iter();
    answer.resources = resources
        .map(|any| AnswerResource::in_sotw(any.value.into()))
        .collect();
    answer
}

pub(crate) fn of_delta(response: DeltaDiscoveryResponse) -> Answer {
    let version = response.system_version_info;
    let mut answer = Answer::new(response.type_url, version, response.nonce);
    for resource in response.resources {
        let name = resource.name.as_str();
        match resource.resource {
            Some(any) => {
                let version = Some(resource.version);
                let resource = AnswerResource::new(name, version, any.value.into());
                answer.resources.push(resource);
            }
            None => answer.bodyless.push(name.into()),
        }
    }
    let removed = response.removed_resources.iter();
    answer.removed = removed.map(|name| name.as_str().into()).collect();
    answer
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
