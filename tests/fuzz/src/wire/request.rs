use portolan_engine::{ErrorDetail, Variant};
use portolan_server::{CloseReason, RequestError};
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DiscoveryRequest, ResourceLocator,
};
use portolan_types::google::rpc;
use prost::{DecodeError, Message};

use super::recorder::Seen;
use super::talk::{MAX_NAMES, MAX_REQUEST, Talk, run};

/// The first message of a state-of-the-world stream: what it and the generated reader accept, they read alike.
pub fn sotw_request(message: &[u8]) {
    let theirs = DiscoveryRequest::decode(message).map(|request| Read {
        type_url: request.type_url,
        nonce: request.response_nonce,
        error: request.error_detail.map(error),
        names: request.resource_names.len() + request.resource_locators.len(),
        unsubscribed: 0,
        total: request.resource_names.len() + total(&request.resource_locators),
    });
    run(compare(Variant::Sotw, message, theirs));
}

/// The first message of a delta stream: what it and the generated reader accept, they read alike.
pub fn delta_request(message: &[u8]) {
    let theirs = DeltaDiscoveryRequest::decode(message).map(|request| {
        let names = request.resource_names_subscribe.len();
        let unsubscribed = request.resource_names_unsubscribe.len();
        let (subscribe, unsubscribe) = (
            &request.resource_locators_subscribe,
            &request.resource_locators_unsubscribe,
        );
        let located = total(subscribe) + total(unsubscribe);
        Read {
            type_url: request.type_url,
            nonce: request.response_nonce,
            error: request.error_detail.map(error),
            names: names + subscribe.len(),
            unsubscribed: unsubscribed + unsubscribe.len(),
            total: names + unsubscribed + located + request.initial_resource_versions.len(),
        }
    });
    run(compare(Variant::Delta, message, theirs));
}

/// What locators count as: themselves, and each of their parameters.
fn total(locators: &[ResourceLocator]) -> usize {
    let parameters = locators
        .iter()
        .map(|locator| locator.dynamic_parameters.len());
    locators.len() + parameters.sum::<usize>()
}

/// What the generated reader finds in a request.
#[derive(Debug)]
struct Read {
    type_url: String,
    nonce: String,
    error: Option<ErrorDetail>,
    names: usize,
    unsubscribed: usize,
    /// Names of all lists.
    total: usize,
}

fn error(status: rpc::Status) -> ErrorDetail {
    ErrorDetail::new(status.code, status.message)
}

async fn compare(variant: Variant, message: &[u8], theirs: Result<Read, DecodeError>) {
    let mut talk = Talk::open(variant).await;
    talk.publish(3, 0);
    talk.send(message);
    talk.end().await;
    let recorded = talk.recorder.recorded();
    match (recorded.requests.as_slice(), theirs) {
        ([ours], Ok(theirs)) => assert_alike(ours, &theirs),
        ([], Ok(theirs)) => assert_refusable(&recorded.closed[0], message.len(), &theirs),
        // The reader passes over what it has no use for.
        ([_] | [], Err(_)) => {}
        (more, _) => panic!("one message was {} requests", more.len()),
    }
}

fn assert_alike(ours: &Seen, theirs: &Read) {
    assert_eq!(ours.type_url, theirs.type_url);
    assert_eq!(ours.nonce, theirs.nonce);
    assert_eq!(ours.error, theirs.error);
    assert_eq!(ours.names, theirs.names);
    assert_eq!(ours.unsubscribed, theirs.unsubscribed);
}

/// What the generated reader accepts is refused only for being too much, or for the groups that it alone knows.
fn assert_refusable(reason: &CloseReason, len: usize, theirs: &Read) {
    let refusable = match reason {
        CloseReason::Unreadable(RequestError::TooLarge { .. }) => len > MAX_REQUEST,
        // Entries that override each other count as well.
        CloseReason::Unreadable(RequestError::TooManyNames { .. }) => {
            theirs.total > MAX_NAMES || len > 2 * MAX_NAMES
        }
        CloseReason::Unreadable(RequestError::Malformed { reason, .. }) => {
            reason.contains("unknown wire type")
        }
        _ => false,
    };
    assert!(refusable, "{reason} {theirs:?}");
}
