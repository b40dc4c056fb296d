use bytes::BytesMut;
use portolan_core::{MetadataValue, Node};
use portolan_engine::Variant;
use portolan_server::{CloseReason, RequestError};
use portolan_types::envoy::config::core::v3 as core;
use portolan_types::envoy::config::core::v3::node::UserAgentVersionType;
use prost::Message;
use prost::bytes::BufMut;
use prost_types::value::Kind;

use super::talk::{MAX_REQUEST, Talk, run};

/// Key of `DiscoveryRequest.node`.
const NODE: u8 = 2 << 3 | 2;

/// The node of a stream: what it and the generated reader accept, they read alike.
pub fn node(raw: &[u8]) {
    let theirs = core::Node::decode(raw);
    run(async {
        let mut talk = Talk::open(Variant::Sotw).await;
        let mut request = BytesMut::new();
        request.put_u8(NODE);
        prost::encode_length_delimiter(raw.len(), &mut request).expect("a buffer that grows");
        request.put_slice(raw);
        talk.send(&request);
        talk.end().await;
        let recorded = talk.recorder.recorded();
        match (&recorded.node, theirs) {
            (Some(ours), Ok(theirs)) => assert_alike(ours, &theirs),
            (None, Ok(_)) => {
                let reason = &recorded.closed[0];
                let too_large = CloseReason::Unreadable(RequestError::TooLarge {
                    len: request.len(),
                    max: MAX_REQUEST,
                });
                assert_eq!(*reason, too_large);
            }
            // The reader passes over what it has no use for.
            (_, Err(_)) => {}
        }
    });
}

fn assert_alike(ours: &Node, theirs: &core::Node) {
    assert_eq!(ours.id(), theirs.id);
    assert_eq!(ours.cluster(), theirs.cluster);
    assert_eq!(ours.user_agent_name(), theirs.user_agent_name);
    assert_eq!(ours.client_features(), theirs.client_features);
    let locality = theirs.locality.clone().unwrap_or_default();
    assert_eq!(ours.locality().region(), locality.region);
    assert_eq!(ours.locality().zone(), locality.zone);
    assert_eq!(ours.locality().sub_zone(), locality.sub_zone);
    if let Some(UserAgentVersionType::UserAgentVersion(version)) = &theirs.user_agent_version_type {
        assert_eq!(ours.user_agent_version(), version);
    }
    let fields = theirs.metadata.iter().flat_map(|s| &s.fields);
    let mut count = 0;
    for (key, value) in fields {
        count += 1;
        assert!(same(&ours.metadata()[key], value), "{key}: {value:?}");
    }
    assert_eq!(ours.metadata().len(), count);
}

fn same(ours: &MetadataValue, theirs: &prost_types::Value) -> bool {
    match (ours, &theirs.kind) {
        (MetadataValue::Null, None | Some(Kind::NullValue(_))) => true,
        (MetadataValue::Number(a), Some(Kind::NumberValue(b))) => a.to_bits() == b.to_bits(),
        (MetadataValue::String(a), Some(Kind::StringValue(b))) => a == b,
        (MetadataValue::Bool(a), Some(Kind::BoolValue(b))) => a == b,
        (MetadataValue::List(a), Some(Kind::ListValue(b))) => {
            let mut pairs = a.iter().zip(&b.values);
            a.len() == b.values.len() && pairs.all(|(a, b)| same(a, b))
        }
        (MetadataValue::Struct(a), Some(Kind::StructValue(b))) => {
            let mut fields = b.fields.iter();
            a.len() == b.fields.len()
                && fields.all(|(key, b)| a.get(key).is_some_and(|a| same(a, b)))
        }
        _ => false,
    }
}
