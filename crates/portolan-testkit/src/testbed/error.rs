use portolan_core::ResourceError;
use prost::DecodeError;
use tonic::{Code, Status};

use super::kind::Kind;

/// Why a request was refused. The fault is the harness's; nothing has changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StateError {
    /// Of several resources, this one.
    #[error("resources[{index}]: {source}")]
    At { index: usize, source: Box<Self> },
    #[error("no node is named")]
    NoNode,
    #[error("node {node:?}: unknown type {found:?}; there are LDS, CDS, RDS and EDS")]
    UnknownType { node: String, found: String },
    #[error("node {node:?} has no state, set one first")]
    UnknownNode { node: String },
    #[error("node {node:?} has no {} resource {name:?}", kind.short_name())]
    UnknownResource {
        node: String,
        kind: Kind,
        name: String,
    },
    #[error("node {node:?} has {} resource {name:?} already", kind.short_name())]
    Exists {
        node: String,
        kind: Kind,
        name: String,
    },
    #[error("node {node:?}: {type_name} resource without a name")]
    Unnamed { node: String, type_name: String },
    #[error("node {node:?}: two {type_name} resources are named {name:?}")]
    Duplicate {
        node: String,
        type_name: String,
        name: String,
    },
    #[error("node {node:?}: {type_name} resource whose body is not hexadecimal")]
    NotHexadecimal { node: String, type_name: String },
    #[error("node {node:?}: {source}")]
    Invalid { node: String, source: ResourceError },
    #[error("node {node:?}: {} resource that does not decode: {source}", kind.short_name())]
    Malformed {
        node: String,
        kind: Kind,
        source: DecodeError,
    },
}

impl StateError {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::At { source, .. } => source.code(),
            Self::UnknownNode { .. } | Self::UnknownResource { .. } => Code::NotFound,
            Self::Exists { .. } => Code::AlreadyExists,
            _ => Code::InvalidArgument,
        }
    }
}

impl From<StateError> for Status {
    fn from(error: StateError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
