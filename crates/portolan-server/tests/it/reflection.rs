//! What tools can find out about the services.

use std::collections::BTreeSet;

use portolan_server::reflection;
use tokio_stream::StreamExt;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::schema::methods;

async fn ask(requests: Vec<MessageRequest>) -> Vec<MessageResponse> {
    let mut client = ServerReflectionClient::new(reflection().build_v1().unwrap());
    let requests = requests.into_iter().map(|request| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(request),
    });
    let requests: Vec<_> = requests.collect();
    let responses = client.server_reflection_info(tokio_stream::iter(requests));
    let responses = responses.await.unwrap().into_inner();
    let responses = responses.map(|r| r.unwrap().message_response.unwrap());
    responses.collect().await
}

#[tokio::test]
async fn exactly_the_discovery_services_are_named() {
    let response = ask(vec![MessageRequest::ListServices(String::new())])
        .await
        .remove(0);
    let MessageResponse::ListServicesResponse(list) = response else {
        panic!("{response:?}");
    };
    let named: BTreeSet<_> = list.service.iter().map(|service| &*service.name).collect();
    let served = methods()
        .iter()
        .map(|m| m.path[1..].split_once('/').unwrap().0);
    assert_eq!(named, served.collect());
}

#[tokio::test]
async fn the_schema_of_what_is_served_can_be_had() {
    let symbols = [
        "envoy.service.discovery.v3.AggregatedDiscoveryService",
        "envoy.config.cluster.v3.Cluster",
    ];
    let requests = symbols.map(|s| MessageRequest::FileContainingSymbol(s.into()));
    for response in ask(requests.into()).await {
        let MessageResponse::FileDescriptorResponse(file) = response else {
            panic!("{response:?}");
        };
        assert_eq!(file.file_descriptor_proto.len(), 1);
    }
}
