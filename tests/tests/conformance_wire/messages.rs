//! Cases speak of requests and answers; these are the messages that they are.

use std::time::Duration;

use bytes::Bytes;
use portolan::core::{Constraints, Name};
use portolan::engine::{ErrorDetail, Locator, Request};
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::dynamic_parameter_constraints::Type;
use portolan::types::envoy::service::discovery::v3::dynamic_parameter_constraints::single_constraint::ConstraintType;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
    DynamicParameterConstraints, Resource, ResourceError, ResourceLocator, ResourceName,
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
        resource_locators: locators(request.locators),
        type_url: request.type_url,
        response_nonce: request.nonce,
        error_detail: request.error.map(status),
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
        resource_locators_subscribe: locators(request.locators_subscribe),
        resource_locators_unsubscribe: locators(request.locators_unsubscribe),
        initial_resource_versions: versions.map(|(n, v)| (text(n), text(v))).collect(),
        response_nonce: request.nonce,
        error_detail: request.error.map(status),
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
        let name = name_of(&wrapped);
        let ttl = wrapped.ttl.and_then(|ttl| Duration::try_from(ttl).ok());
        match (wrapped.resource, ttl) {
            (Some(any), ttl) => {
                assert_eq!(any.type_url, answer.type_url.as_str());
                let mut resource = AnswerResource::in_sotw(any.value.into()).with_ttl(ttl);
                assert_eq!(*resource.name, *name.stem());
                resource.name = name;
                answer.resources.push(resource);
            }
            (None, Some(ttl)) => {
                let heartbeat = AnswerHeartbeat::new(name, wrapped.version, ttl);
                answer.heartbeats.push(heartbeat);
            }
            (None, None) => answer.bodyless.push(name),
        }
    }
    answer.errors = errors(response.resource_errors);
    answer
}

pub(crate) fn of_delta(response: DeltaDiscoveryResponse) -> Answer {
    let version = response.system_version_info;
    let mut answer = Answer::new(response.type_url, version, response.nonce);
    for resource in response.resources {
        let name = name_of(&resource);
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
    let constrained = response.removed_resource_names.iter().map(constrained);
    let removed = removed.map(|name| Name::verbatim(name));
    answer.removed = removed.chain(constrained).collect();
    answer.errors = errors(response.resource_errors);
    answer
}

/// The name of a resource, which has it in one of two fields (C-314).
fn name_of(resource: &Resource) -> Name {
    match &resource.resource_name {
        Some(name) => {
            assert_eq!(resource.name, "", "a resource has one name");
            constrained(name)
        }
        None => Name::verbatim(&resource.name),
    }
}

/// A name that must have constraints.
fn constrained(name: &ResourceName) -> Name {
    let constraints = name.dynamic_parameter_constraints.as_ref();
    let constraints = constraints
        .map(read)
        .expect("without constraints it is a plain name");
    Name::verbatim(&name.name).with_constraints(&constraints)
}

fn read(constraints: &DynamicParameterConstraints) -> Constraints {
    match constraints
        .r#type
        .as_ref()
        .expect("constraints are of a kind")
    {
        Type::Constraint(one) => match one.constraint_type.as_ref() {
            Some(ConstraintType::Value(value)) => Constraints::value(&*one.key, &**value),
            Some(ConstraintType::Exists(_)) => Constraints::exists(&*one.key),
            None => panic!("a constraint says of what kind it is"),
        },
        Type::OrConstraints(list) => Constraints::any_of(list.constraints.iter().map(read)),
        Type::AndConstraints(list) => Constraints::all_of(list.constraints.iter().map(read)),
        Type::NotConstraints(inner) => !read(inner),
    }
}

fn locators(locators: Vec<Locator>) -> Vec<ResourceLocator> {
    let locator = |locator: Locator| ResourceLocator {
        name: text(locator.name),
        dynamic_parameters: locator
            .parameters
            .into_iter()
            .map(|(key, value)| (text(key), text(value)))
            .collect(),
    };
    locators.into_iter().map(locator).collect()
}

fn errors(errors: Vec<ResourceError>) -> Vec<AnswerError> {
    let error = |error: ResourceError| {
        let name = error.resource_name.expect("an error names a resource");
        let name = match name.dynamic_parameter_constraints {
            Some(_) => constrained(&name),
            None => Name::verbatim(&name.name),
        };
        let detail = error.error_detail.expect("an error says what it is");
        AnswerError::new(name, detail.code, detail.message)
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
