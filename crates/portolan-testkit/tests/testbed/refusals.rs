use bytes::Bytes;
use portolan_types::Any;
use tonic::{Code, Status};

use crate::client::{CDS, EDS, Sotw, TYPES, request, start, state};
use crate::generated::{ClearStateRequest, ResourceRequest};

/// That it is refused so.
#[track_caller]
fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, message: &str) {
    let status = result.unwrap_err();
    assert_eq!((status.code(), status.message()), (code, message));
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let (_testbed, mut adapter) = start().await;
    let unknown = r#"node "test-id" has no state, set one first"#;
    for of in TYPES {
        let a = || request(of, "A", "2");
        expect(adapter.update_resource(a()).await, Code::NotFound, unknown);
        expect(adapter.add_resource(a()).await, Code::NotFound, unknown);
        expect(adapter.remove_resource(a()).await, Code::NotFound, unknown);
    }
    adapter.set_state(state("1", [])).await.unwrap();
    for of in TYPES {
        let a = || request(of, "A", "2");
        let unknown = format!(r#"node "test-id" has no {} resource "A""#, of.service);
        expect(adapter.update_resource(a()).await, Code::NotFound, &unknown);
        expect(adapter.remove_resource(a()).await, Code::NotFound, &unknown);
    }
}

#[tokio::test]
async fn what_is_there_already_is_not_added() {
    let (_testbed, mut adapter) = start().await;
    adapter
        .set_state(state("1", [EDS.named("A")]))
        .await
        .unwrap();
    expect(
        adapter.add_resource(request(EDS, "A", "2")).await,
        Code::AlreadyExists,
        r#"node "test-id" has EDS resource "A" already"#,
    );
}

#[tokio::test]
async fn types_that_are_not_served_are_refused() {
    let (_testbed, mut adapter) = start().await;
    let of = |type_url: &str| ResourceRequest {
        type_url: type_url.to_owned(),
        ..request(CDS, "A", "2")
    };
    adapter.set_state(state("1", [])).await.unwrap();
    let refusal = r#"node "test-id": unknown type "x/y"; there are LDS, CDS, RDS and EDS"#;
    let code = Code::InvalidArgument;
    expect(adapter.update_resource(of("x/y")).await, code, refusal);
    expect(adapter.add_resource(of("x/y")).await, code, refusal);
    expect(adapter.remove_resource(of("x/y")).await, code, refusal);
    let any = Any {
        type_url: "x/y".to_owned(),
        ..Any::default()
    };
    let set = adapter.set_state(state("2", [CDS.named("A"), any])).await;
    expect(set, code, &format!("resources[1]: {refusal}"));
}

#[tokio::test]
async fn nameless_resources_and_nodes_are_refused() {
    let (_testbed, mut adapter) = start().await;
    let code = Code::InvalidArgument;
    for of in TYPES {
        let refusal = format!(r#"node "test-id": {} resource without a name"#, of.service);
        let nameless = || request(of, "", "2");
        expect(adapter.update_resource(nameless()).await, code, &refusal);
        expect(adapter.add_resource(nameless()).await, code, &refusal);
        expect(adapter.remove_resource(nameless()).await, code, &refusal);
        let set = adapter.set_state(state("1", [of.named("")])).await;
        expect(set, code, &format!("resources[0]: {refusal}"));
    }
    let mut nowhere = state("1", []);
    nowhere.node.clear();
    expect(adapter.set_state(nowhere).await, code, "no node is named");
    let nobody = ClearStateRequest::default();
    expect(adapter.clear_state(nobody).await, code, "no node is named");
}

#[tokio::test]
async fn a_refused_state_changes_nothing() {
    let (testbed, mut adapter) = start().await;
    adapter
        .set_state(state("1", [CDS.named("A")]))
        .await
        .unwrap();
    let twice = [CDS.named("B"), CDS.named("B")];
    expect(
        adapter.set_state(state("2", twice)).await,
        Code::InvalidArgument,
        r#"resources[1]: node "test-id": two CDS resources are named "B""#,
    );
    let broken = Any {
        value: Bytes::from_static(b"\xff"),
        ..CDS.named("")
    };
    let status = adapter
        .set_state(state("2", [CDS.named("B"), broken]))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let expected = r#"resources[1]: node "test-id": CDS resource that does not decode: "#;
    assert!(status.message().starts_with(expected), "{status}");

    let mut client = Sotw::open(testbed.xds_address()).await;
    client.subscribe(CDS, &[]);
    assert_eq!(
        client.accept(CDS, &[]).await,
        ("1".to_owned(), vec!["A".to_owned()])
    );
}
