//! A message of any type, next to the URL that says which.

use bytes::Bytes;
use prost::{DecodeError, Message, Name};

/// `google.protobuf.Any`: an encoded message of a type that the surrounding schema leaves open.
///
/// The value is [`Bytes`]: a clone shares it, and decoding from a `Bytes` buffer copies nothing.
///
/// ```
/// use portolan_types::Any;
/// use portolan_types::envoy::config::cluster::v3::Cluster;
///
/// let cluster = Cluster { name: "backend".into(), ..Cluster::default() };
/// let any = Any::pack(&cluster);
/// assert_eq!(any.type_url, "type.googleapis.com/envoy.config.cluster.v3.Cluster");
/// assert_eq!(any.unpack::<Cluster>()?, cluster);
/// # Ok::<(), portolan_types::UnpackError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Message)]
#[expect(
    clippy::exhaustive_structs,
    reason = "fixed by the protobuf specification, and built literally by users"
)]
pub struct Any {
    /// A URL whose last path segment is the full name of the message type.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The encoded message.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

impl Any {
    /// Encodes `message` beside its type URL.
    ///
    /// Equal messages give equal bytes within one version of the schema: maps are ordered by key and fields by number.
    pub fn pack<M: Message + Name>(message: &M) -> Self {
        Self {
            type_url: M::type_url(),
            value: message.encode_to_vec().into(),
        }
    }

    /// Whether the value claims to be an `M`. Only the full name counts, not what precedes its last slash.
    #[must_use]
    pub fn is<M: Name>(&self) -> bool {
        self.type_name() == Some(M::full_name().as_str())
    }

    /// Decodes the value as an `M`.
    ///
    /// # Errors
    ///
    /// [`UnpackError::Type`] if the value is of another type, [`UnpackError::Decode`] if its bytes are no valid `M`.
    /// Both are the fault of whoever made the value.
    pub fn unpack<M: Message + Name + Default>(&self) -> Result<M, UnpackError> {
        if !self.is::<M>() {
            return Err(UnpackError::Type {
                expected: M::full_name(),
                found: self.type_url.clone(),
            });
        }
        M::decode(self.value.clone()).map_err(|source| UnpackError::Decode {
            type_url: self.type_url.clone(),
            source,
        })
    }

    fn type_name(&self) -> Option<&str> {
        self.type_url.rsplit_once('/').map(|(_, name)| name)
    }
}

impl Name for Any {
    const NAME: &'static str = "Any";
    const PACKAGE: &'static str = "google.protobuf";

    fn type_url() -> String {
        "type.googleapis.com/google.protobuf.Any".to_owned()
    }
}

/// Why [`Any::unpack`] gave no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The value is of another type than the one asked for.
    #[error("expected {expected}, found `{found}`")]
    #[non_exhaustive]
    Type {
        /// Full name of the message asked for.
        expected: String,
        /// The value's type URL, as it is.
        found: String,
    },
    /// The value's bytes are not what its type URL says.
    #[error("`{type_url}` does not decode")]
    #[non_exhaustive]
    Decode {
        /// The value's type URL.
        type_url: String,
        /// What the decoder stumbled over.
        source: DecodeError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envoy::config::cluster::v3::Cluster;
    use crate::envoy::config::listener::v3::Listener;

    fn cluster() -> Cluster {
        Cluster {
            name: "backend".to_owned(),
            ..Cluster::default()
        }
    }

    #[test]
    fn packed_message_survives_the_wire() {
        let sent = Any::pack(&cluster());
        let received =
            Any::decode(sent.encode_to_vec().as_slice()).expect("what was encoded decodes");

        assert_eq!(received, sent);
        assert_eq!(
            received.unpack::<Cluster>().expect("a cluster was packed"),
            cluster()
        );
    }

    #[test]
    fn encoding_is_that_of_the_well_known_type() {
        let ours = Any::pack(&cluster());
        let theirs = prost_types::Any {
            type_url: ours.type_url.clone(),
            value: ours.value.to_vec(),
        };

        assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
    }

    #[test]
    fn decoding_shares_the_buffer() {
        let buffer = Bytes::from(Any::pack(&cluster()).encode_to_vec());
        let any = Any::decode(buffer.clone()).expect("what was encoded decodes");

        assert!(buffer.as_ptr_range().contains(&any.value.as_ptr()));
    }

    #[test]
    fn other_type_is_refused_by_name() {
        let error = Any::pack(&cluster())
            .unpack::<Listener>()
            .expect_err("a cluster is no listener");

        assert_eq!(
            error.to_string(),
            "expected envoy.config.listener.v3.Listener, found `type.googleapis.com/envoy.config.cluster.v3.Cluster`"
        );
    }

    #[test]
    fn broken_value_is_refused_with_its_cause() {
        let any = Any {
            value: Bytes::from_static(b"\xff"),
            ..Any::pack(&cluster())
        };
        let error = any
            .unpack::<Cluster>()
            .expect_err("a lone continuation byte is no cluster");

        assert!(matches!(error, UnpackError::Decode { .. }));
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn only_the_name_behind_the_last_slash_says_the_type() {
        let any = |type_url: &str| Any {
            type_url: type_url.to_owned(),
            ..Any::default()
        };

        assert!(any("example.com/path/envoy.config.cluster.v3.Cluster").is::<Cluster>());
        assert!(any("/envoy.config.cluster.v3.Cluster").is::<Cluster>());
        assert!(!any("envoy.config.cluster.v3.Cluster").is::<Cluster>());
        assert!(!any("").is::<Cluster>());
    }
}
