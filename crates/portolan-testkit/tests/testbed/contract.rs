//! What harnesses rely on, written out: the names and numbers that go over the wire.

use portolan_testkit::testbed::Testbed;
use portolan_types::Any;
use portolan_types::prost;
use prost::Message;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::client::{CDS, NODE, connect, start};

#[derive(Clone, PartialEq, Message)]
struct SetState {
    #[prost(string, tag = "1")]
    node: String,
    #[prost(string, tag = "2")]
    version: String,
    #[prost(message, repeated, tag = "3")]
    resources: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct ClearState {
    #[prost(string, tag = "1")]
    node: String,
}

#[derive(Clone, PartialEq, Message)]
struct OfResource {
    #[prost(string, tag = "1")]
    node: String,
    #[prost(string, tag = "2")]
    type_url: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Success {
    #[prost(bool, tag = "1")]
    success: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Cleared {
    #[prost(string, tag = "1")]
    response: String,
}

async fn call<Q, A>(testbed: &Testbed, path: &'static str, request: Q) -> Result<A, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = tonic::client::Grpc::new(connect(testbed.adapter_address()).await);
    grpc.ready().await.unwrap();
    let codec = ProstCodec::<Q, A>::default();
    let path = PathAndQuery::from_static(path);
    let answer = grpc.unary(Request::new(request), path, codec).await?;
    Ok(answer.into_inner())
}

#[tokio::test]
async fn methods_are_called_by_these_names_and_numbers() {
    let (testbed, _) = start().await;
    let success = Ok(true);
    let state = SetState {
        node: NODE.to_owned(),
        version: "1".to_owned(),
        resources: vec![CDS.named("A")],
    };
    let answer = call::<_, Success>(&testbed, "/adapter.Adapter/SetState", state).await;
    assert_eq!(answer.map(|it| it.success).map_err(|e| e.code()), success);

    let served = |key: &str| {
        let status = testbed.answer("status test-id").to_string();
        status.contains(key)
    };
    assert!(served(r#""CDS":"1""#));
    for (path, name, version) in [
        ("/adapter.Adapter/UpdateResource", "A", "2"),
        ("/adapter.Adapter/AddResource", "B", "3"),
        ("/adapter.Adapter/RemoveResource", "A", "4"),
    ] {
        let request = OfResource {
            node: NODE.to_owned(),
            type_url: CDS.url(),
            name: name.to_owned(),
            version: version.to_owned(),
        };
        let answer = call::<_, Success>(&testbed, path, request).await;
        assert_eq!(answer.map(|it| it.success).map_err(|e| e.code()), success);
        assert!(served(&format!(r#""CDS":"{version}""#)), "{path}");
    }

    let request = ClearState {
        node: NODE.to_owned(),
    };
    let answer = call::<_, Cleared>(&testbed, "/adapter.Adapter/ClearState", request).await;
    assert!(!answer.unwrap().response.is_empty());
    assert!(served(r#""served":null"#));
}
