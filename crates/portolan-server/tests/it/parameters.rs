//! Dynamic parameters on the wire.

use std::sync::Arc;

use portolan_core::{Constraints, DynamicParameters, Resource, Snapshot, well_known};
use portolan_server::XdsServer;
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryResponse, Resource as Wrapper, ResourceLocator,
};
use prost::Message;

use crate::client::{Client, DELTA, SOTW, clusters, delta_answer, delta_clusters};
use crate::source::TestSource;

const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

fn of(value: &str) -> Constraints {
    Constraints::value("env", value)
}

/// Alternatives of one cluster, by the environment that each is meant for.
fn publish(source: &TestSource, values: &[&str]) {
    let mut builder = Snapshot::builder();
    for value in values {
        let cluster = Resource::builder(well_known::CLUSTER, "a", (*value).to_owned());
        builder.insert(cluster.constraints(of(value))).unwrap();
    }
    source.publish_snapshot(builder.build());
}

fn locator(value: &str) -> ResourceLocator {
    ResourceLocator {
        name: "a".to_owned(),
        dynamic_parameters: [("env".to_owned(), value.to_owned())].into(),
    }
}

#[tokio::test(start_paused = true)]
async fn c313_c323_constraints_come_with_a_resource_and_go_with_it() {
    let source = TestSource::default();
    publish(&source, &["prod", "test"]);
    let xds = XdsServer::builder(Arc::new(source.clone())).build();
    let client = &mut Client::open(&xds, DELTA).await;
    let mut subscribe = delta_clusters("n");
    subscribe.resource_locators_subscribe = vec![locator("prod")];
    client.send(&subscribe);
    let response: DeltaDiscoveryResponse = client.message().await;
    let [resource] = &response.resources[..] else {
        panic!("{response:?}");
    };
    assert_eq!(resource.name, "");
    let name = resource.resource_name.clone().unwrap();
    assert_eq!(name.name, "a");
    let constraints = name.dynamic_parameter_constraints.as_ref().unwrap();
    assert_eq!(constraints.encode_to_vec(), of("prod").encoded());
    client.send(&delta_answer(&response, None));
    publish(&source, &["test"]);
    let response: DeltaDiscoveryResponse = client.message().await;
    assert_eq!(response.removed_resource_names, [name]);
    assert_eq!(response.removed_resources, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn c327_c328_a_node_may_stand_for_parameters_and_is_sent_no_wrapper() {
    let source = TestSource::default();
    publish(&source, &["prod", "test"]);
    let xds = XdsServer::builder(Arc::new(source))
        .with_parameters(|node| DynamicParameters::from([("env", node.id())]))
        .build();
    let client = &mut Client::open(&xds, SOTW).await;
    client.send(&clusters("test"));
    let response = client.response().await;
    let bodies: Vec<_> = response
        .resources
        .iter()
        .map(|any| &any.value[..])
        .collect();
    assert_eq!(bodies, [b"test"]);
    assert_eq!(response.resources[0].type_url, response.type_url);

    let client = &mut Client::open(&xds, SOTW).await;
    let mut request = clusters("test");
    request.resource_locators = vec![locator("prod")];
    client.send(&request);
    let response = client.response().await;
    assert_eq!(response.resources[0].type_url, WRAPPER);
    let wrapper = Wrapper::decode(&*response.resources[0].value).unwrap();
    assert_eq!(wrapper.resource.unwrap().value, &b"prod"[..]);
    assert_eq!(
        (&*wrapper.name, &*wrapper.resource_name.unwrap().name),
        ("", "a")
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_with_a_nul_is_the_fault_of_who_sends_it() {
    let source = TestSource::default();
    publish(&source, &["prod"]);
    let xds = XdsServer::builder(Arc::new(source)).build();
    let mut client = Client::open(&xds, SOTW).await;
    let mut request = clusters("n");
    request.resource_names = vec!["a\0env=prod".to_owned()];
    client.send(&request);
    assert_eq!(client.ended().await.code, tonic::Code::InvalidArgument);
}
