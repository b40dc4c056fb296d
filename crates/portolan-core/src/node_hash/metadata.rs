//! By a text in a node's metadata.

use std::fmt;

use super::NodeHash;
use crate::{MetadataValue, Node, Peer, Refusal};

/// Nodes with the same text in one place of their metadata are a group, named by the text.
///
/// ```
/// use std::collections::BTreeMap;
/// use portolan_core::node_hash::NodeMetadata;
/// use portolan_core::{MetadataValue, Node, NodeHash, Peer};
///
/// let labels = BTreeMap::from([("app".to_owned(), MetadataValue::from("shop"))]);
/// let node = Node::new("n1")
///     .with_metadata("role", "ingress")
///     .with_metadata("labels", MetadataValue::Struct(labels));
///
/// assert_eq!(NodeMetadata::new("role").key(&node, &Peer::unknown())?, "ingress");
/// assert_eq!(NodeMetadata::new("labels").field("app").key(&node, &Peer::unknown())?, "shop");
/// # Ok::<(), portolan_core::Refusal>(())
/// ```
#[derive(Clone, Debug)]
pub struct NodeMetadata {
    key: Box<str>,
    fields: Vec<Box<str>>,
}

impl NodeMetadata {
    /// The text with this key.
    #[must_use]
    pub fn new(key: impl Into<Box<str>>) -> Self {
        Self {
            key: key.into(),
            fields: Vec::new(),
        }
    }

    /// The text in this field of what was named so far, which then is a struct. A name is taken as it is, dots
    /// included.
    #[must_use]
    pub fn field(mut self, name: impl Into<Box<str>>) -> Self {
        self.fields.push(name.into());
        self
    }

    fn find<'a>(&self, node: &'a Node) -> Option<&'a MetadataValue> {
        let first = node.metadata().get(&*self.key)?;
        self.fields
            .iter()
            .try_fold(first, |value, name| match value {
                MetadataValue::Struct(fields) => fields.get(&**name),
                _ => None,
            })
    }
}

impl NodeHash for NodeMetadata {
    type Key = String;

    fn key(&self, node: &Node, _: &Peer) -> Result<String, Refusal> {
        let refusal = |what| {
            let remedy = "set it to a text in the client's bootstrap";
            Refusal::invalid(format!("{self} {what}; {remedy}"))
        };
        match self.find(node) {
            None | Some(MetadataValue::Null) => Err(refusal("is not set")),
            Some(MetadataValue::String(text)) if text.is_empty() => Err(refusal("is empty")),
            Some(MetadataValue::String(text)) => Ok(text.clone()),
            Some(_) => Err(refusal("is not a text")),
        }
    }
}

impl fmt::Display for NodeMetadata {
    /// The place in the node, as an operator looks for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node.metadata[{:?}]", self.key)?;
        self.fields
            .iter()
            .try_for_each(|name| write!(f, "[{name:?}]"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::RefusalKind;

    fn nested(value: impl Into<MetadataValue>) -> Node {
        let fields = BTreeMap::from([("example.org/role".to_owned(), value.into())]);
        Node::default().with_metadata("labels", MetadataValue::Struct(fields))
    }

    fn key(node: &Node) -> Result<String, Refusal> {
        let hash = NodeMetadata::new("labels").field("example.org/role");
        hash.key(node, &Peer::unknown())
    }

    #[test]
    fn a_path_leads_into_structs() {
        assert_eq!(key(&nested("edge")).as_deref(), Ok("edge"));
        let deep = Node::default().with_metadata("a", {
            let inner = BTreeMap::from([("c".to_owned(), MetadataValue::from("deep"))]);
            MetadataValue::Struct([("b".to_owned(), MetadataValue::Struct(inner))].into())
        });
        let hash = NodeMetadata::new("a").field("b").field("c");
        assert_eq!(hash.key(&deep, &Peer::unknown()).as_deref(), Ok("deep"));
    }

    #[test]
    fn what_is_no_text_is_refused_and_said_what_it_is() {
        let list = MetadataValue::List(vec!["edge".into()]);
        let cases = [
            (Node::default(), "is not set"),
            (
                Node::default().with_metadata("labels", "flat"),
                "is not set",
            ),
            (nested(MetadataValue::Null), "is not set"),
            (nested(""), "is empty"),
            (nested(1.0), "is not a text"),
            (nested(true), "is not a text"),
            (nested(list), "is not a text"),
        ];
        for (node, what) in cases {
            let refusal = key(&node).unwrap_err();
            assert_eq!(refusal.kind(), RefusalKind::Invalid);
            let reason = format!(
                "node.metadata[\"labels\"][\"example.org/role\"] {what}; set it to a text in the client's bootstrap"
            );
            assert_eq!(refusal.reason(), reason);
        }
    }
}
