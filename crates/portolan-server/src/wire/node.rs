//! The node of a stream, and nodes that come after it.

use std::collections::BTreeMap;

use bytes::Bytes;
use foldhash::fast::FixedState;
use portolan_core::{Locality, MetadataValue, Node};
use prost::Message;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use std::hash::BuildHasher;

use super::RequestError;

/// What is read of `envoy.config.core.v3.Node`. Most of an Envoy's node is the list of its extensions, which only
/// [`Node::raw`] keeps.
#[derive(Clone, PartialEq, Message)]
struct NodeMessage {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    cluster: String,
    #[prost(message, optional, tag = "3")]
    metadata: Option<Struct>,
    #[prost(message, optional, tag = "4")]
    locality: Option<LocalityMessage>,
    #[prost(string, tag = "6")]
    user_agent_name: String,
    #[prost(string, tag = "7")]
    user_agent_version: String,
    #[prost(message, optional, tag = "8")]
    user_agent_build_version: Option<BuildVersion>,
    #[prost(string, repeated, tag = "10")]
    client_features: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct LocalityMessage {
    #[prost(string, tag = "1")]
    region: String,
    #[prost(string, tag = "2")]
    zone: String,
    #[prost(string, tag = "3")]
    sub_zone: String,
}

#[derive(Clone, PartialEq, Message)]
struct BuildVersion {
    #[prost(message, optional, tag = "1")]
    version: Option<SemanticVersion>,
}

#[derive(Clone, PartialEq, Message)]
struct SemanticVersion {
    #[prost(uint32, tag = "1")]
    major: u32,
    #[prost(uint32, tag = "2")]
    minor: u32,
    #[prost(uint32, tag = "3")]
    patch: u32,
}

/// The node that `raw` encodes, which it keeps as [`Node::raw`]. A node of more than `max` bytes is not looked at.
pub(crate) fn parse_node(raw: Bytes, max: usize) -> Result<Node, RequestError> {
    if raw.len() > max {
        return Err(RequestError::NodeTooLarge {
            len: raw.len(),
            max,
        });
    }
    let message = NodeMessage::decode(raw.clone()).map_err(|error| RequestError::Malformed {
        message: "Node",
        reason: error.to_string(),
    })?;
    Ok(node_of(message).with_raw(raw))
}

fn node_of(message: NodeMessage) -> Node {
    let locality = message.locality.unwrap_or_default();
    let built = message.user_agent_build_version.and_then(|b| b.version);
    let version = match built {
        Some(v) => format!("{}.{}.{}", v.major, v.minor, v.patch),
        None => message.user_agent_version,
    };
    let mut node = Node::new(message.id)
        .with_cluster(message.cluster)
        .with_user_agent(message.user_agent_name, version)
        .with_locality(Locality::new(
            locality.region,
            locality.zone,
            locality.sub_zone,
        ));
    for (key, value) in message.metadata.unwrap_or_default().fields {
        node = node.with_metadata(key, metadata(value));
    }
    for feature in message.client_features {
        node = node.with_client_feature(feature);
    }
    node
}

/// As deep as the decoder let it become, which is less than a hundred levels.
fn metadata(value: Value) -> MetadataValue {
    match value.kind {
        None | Some(Kind::NullValue(_)) => MetadataValue::Null,
        Some(Kind::NumberValue(number)) => MetadataValue::Number(number),
        Some(Kind::StringValue(text)) => MetadataValue::String(text),
        Some(Kind::BoolValue(value)) => MetadataValue::Bool(value),
        Some(Kind::StructValue(fields)) => {
            let fields = fields.fields.into_iter().map(|(key, v)| (key, metadata(v)));
            MetadataValue::Struct(fields.collect::<BTreeMap<_, _>>())
        }
        Some(Kind::ListValue(list)) => {
            MetadataValue::List(list.values.into_iter().map(metadata).collect())
        }
    }
}

/// Notices when a client sends another node than it last did. Keeps a hash instead of the node: clients may repeat
/// theirs with every request.
#[derive(Debug, Default)]
pub(crate) struct NodeWatch(Option<u64>);

impl NodeWatch {
    /// Whether `raw` differs from the node before. The first never does.
    pub(crate) fn differs(&mut self, raw: &[u8]) -> bool {
        let hash = FixedState::default().hash_one(raw);
        self.0.replace(hash).is_some_and(|before| before != hash)
    }
}

#[cfg(test)]
mod tests {
    use portolan_types::envoy::config::core::v3 as core;
    use portolan_types::envoy::r#type::v3::SemanticVersion;

    use super::*;

    const MAX: usize = 1 << 20;

    fn text(value: &str) -> Value {
        Kind::StringValue(value.into()).into()
    }

    #[test]
    fn all_that_the_client_says_is_read() {
        let labels = Struct {
            fields: [("app".to_owned(), text("web"))].into(),
        };
        let list = prost_types::ListValue {
            values: vec![Kind::NumberValue(1.5).into(), Kind::BoolValue(true).into()],
        };
        let message = core::Node {
            id: "n".into(),
            cluster: "c".into(),
            metadata: Some(Struct {
                fields: [
                    ("labels".to_owned(), Kind::StructValue(labels).into()),
                    ("list".to_owned(), Kind::ListValue(list).into()),
                    ("null".to_owned(), Kind::NullValue(0).into()),
                ]
                .into(),
            }),
            locality: Some(core::Locality {
                region: "r".into(),
                zone: "z".into(),
                sub_zone: "s".into(),
            }),
            user_agent_name: "envoy".into(),
            client_features: vec!["f".into()],
            extensions: vec![core::Extension {
                name: "x".into(),
                ..core::Extension::default()
            }],
            user_agent_version_type: Some(core::node::UserAgentVersionType::UserAgentBuildVersion(
                core::BuildVersion {
                    version: Some(SemanticVersion {
                        major_number: 1,
                        minor_number: 36,
                        patch: 2,
                    }),
                    metadata: None,
                },
            )),
            ..core::Node::default()
        };
        let raw = Bytes::from(message.encode_to_vec());
        let labels = BTreeMap::from([("app".to_owned(), MetadataValue::from("web"))]);
        let list = vec![MetadataValue::Number(1.5), MetadataValue::Bool(true)];
        let expected = Node::new("n")
            .with_cluster("c")
            .with_locality(Locality::new("r", "z", "s"))
            .with_user_agent("envoy", "1.36.2")
            .with_client_feature("f")
            .with_metadata("null", MetadataValue::Null)
            .with_raw(raw.clone());
        let node = parse_node(raw, MAX).unwrap();
        assert_eq!(node.metadata()["labels"], MetadataValue::Struct(labels));
        assert_eq!(node.metadata()["list"], MetadataValue::List(list));
        let expected = ["labels", "list"].iter().fold(expected, |expected, key| {
            expected.with_metadata(*key, node.metadata()[*key].clone())
        });
        assert_eq!(node, expected);
    }

    #[test]
    fn a_version_given_as_text_is_taken_as_it_is() {
        let version = core::node::UserAgentVersionType::UserAgentVersion("1.2-dev".into());
        let message = core::Node {
            user_agent_version_type: Some(version),
            ..core::Node::default()
        };
        let node = parse_node(message.encode_to_vec().into(), MAX).unwrap();
        assert_eq!(node.user_agent_version(), "1.2-dev");
    }

    #[test]
    fn a_node_that_cannot_be_read_is_refused_and_says_why() {
        let error = parse_node(Bytes::from_static(b"\x0a\x01\xff"), MAX).unwrap_err();
        assert!(error.to_string().contains("Node"), "{error}");
        let error = parse_node(Bytes::from_static(&[0; 11]), 10).unwrap_err();
        assert_eq!(error, RequestError::NodeTooLarge { len: 11, max: 10 });
    }

    #[test]
    fn hostile_nesting_is_refused() {
        let mut value = Value { kind: None };
        for _ in 0..200 {
            let values = vec![value];
            value = Kind::ListValue(prost_types::ListValue { values }).into();
        }
        let message = core::Node {
            metadata: Some(Struct {
                fields: [("deep".to_owned(), value)].into(),
            }),
            ..core::Node::default()
        };
        assert!(parse_node(message.encode_to_vec().into(), MAX).is_err());
    }

    #[test]
    fn each_change_of_node_is_noticed_once() {
        let mut watch = NodeWatch::default();
        let differs: Vec<_> = [b"a", b"a", b"b", b"b", b"a"]
            .map(|raw| watch.differs(raw))
            .into();
        assert_eq!(differs, [false, false, true, false, true]);
    }
}
