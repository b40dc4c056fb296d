use std::collections::BTreeMap;

use bytes::Bytes;

/// What a client says of itself in the first message of a stream.
///
/// Read once per stream, from the first message; a later message cannot change which node a stream belongs to
/// (C-002, C-005).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    id: String,
    cluster: String,
    locality: Locality,
    metadata: BTreeMap<String, MetadataValue>,
    user_agent_name: String,
    user_agent_version: String,
    client_features: Vec<String>,
    raw: Bytes,
}

impl Node {
    /// A node with this id and nothing else.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// Sets the cluster: the group of proxies to which the node says it belongs.
    #[must_use]
    pub fn with_cluster(mut self, cluster: impl Into<String>) -> Self {
        self.cluster = cluster.into();
        self
    }

    /// Sets the locality.
    #[must_use]
    pub fn with_locality(mut self, locality: Locality) -> Self {
        self.locality = locality;
        self
    }

    /// Sets one entry of the metadata.
    #[must_use]
    pub fn with_metadata(
        mut self,
        key: impl Into<String>,
        value: impl Into<MetadataValue>,
    ) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets name and version of the client program, such as `envoy` and `1.36.0`.
    #[must_use]
    pub fn with_user_agent(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.user_agent_name = name.into();
        self.user_agent_version = version.into();
        self
    }

    /// Adds a feature that the client announces.
    #[must_use]
    pub fn with_client_feature(mut self, feature: impl Into<String>) -> Self {
        self.client_features.push(feature.into());
        self
    }

    /// Sets the encoded message that all else was read from.
    #[must_use]
    pub fn with_raw(mut self, raw: impl Into<Bytes>) -> Self {
        self.raw = raw.into();
        self
    }

    /// The id. Clients need not send one.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The locality.
    #[must_use]
    pub fn locality(&self) -> &Locality {
        &self.locality
    }

    /// The metadata, by key.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, MetadataValue> {
        &self.metadata
    }

    /// Name of the client program.
    #[must_use]
    pub fn user_agent_name(&self) -> &str {
        &self.user_agent_name
    }

    /// Version of the client program.
    #[must_use]
    pub fn user_agent_version(&self) -> &str {
        &self.user_agent_version
    }

    /// Features that the client announces; unknown ones have no effect (C-009).
    #[must_use]
    pub fn client_features(&self) -> &[String] {
        &self.client_features
    }

    /// The encoded `envoy.config.core.v3.Node` with everything the client sent, extensions included (C-008).
    ///
    /// Present while a stream is admitted and its group is chosen. Afterwards it is dropped: an Envoy's node has
    /// 60 kB, which thousands of streams must not keep.
    #[must_use]
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The node without [`raw`](Self::raw).
    #[must_use]
    pub fn without_raw(mut self) -> Self {
        self.raw = Bytes::new();
        self
    }
}

/// Where a node runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locality {
    region: String,
    zone: String,
    sub_zone: String,
}

impl Locality {
    /// A locality of three parts, each of which may be empty.
    #[must_use]
    pub fn new(
        region: impl Into<String>,
        zone: impl Into<String>,
        sub_zone: impl Into<String>,
    ) -> Self {
        Self {
            region: region.into(),
            zone: zone.into(),
            sub_zone: sub_zone.into(),
        }
    }

    /// The region.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The zone.
    #[must_use]
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// The sub-zone.
    #[must_use]
    pub fn sub_zone(&self) -> &str {
        &self.sub_zone
    }
}

/// A value in a node's metadata: what JSON can say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetadataValue {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Self>),
    /// Values by key.
    Struct(BTreeMap<String, Self>),
}

impl MetadataValue {
    /// The text, where it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for MetadataValue {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for MetadataValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for MetadataValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
