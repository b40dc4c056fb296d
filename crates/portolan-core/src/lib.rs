//! The vocabulary of the Portolan xDS control plane, and the traits between its crates.
//!
//! | word | means |
//! |---|---|
//! | [`TypeUrl`], [`ResourceType`] | a type's URL; what the protocol needs to know of it. The set of types is open |
//! | [`Resource`], [`ResourceSet`], [`Snapshot`] | one named, versioned, encoded resource; the resources of one type; all types that belong together. Immutable values that share what they have in common |
//! | [`DynamicParameters`], [`Constraints`] | what clients say of themselves with a name; which of several resources of one name is meant for whom |
//! | [`Publication`] | a snapshot as it was published, numbered |
//! | [`Version`] | what identifies content on the wire |
//! | [`Node`], [`Peer`] | what a client says of itself; what the transport knows of it |
//! | [`NodeHash`] | maps a node to the group whose snapshot it is served; [parts](node_hash) to build one from |
//! | [`Source`], [`View`] | where a server reads from; what one stream sees of it |
//! | [`SnapshotWriter`] | where a publisher writes to |
//! | [`DeliverySink`], [`GroupObserver`] | who hears how far each stream got, and of groups that come and go |
//! | [`References`] | reads out of a body what it refers to |
//!
//! This crate knows no protobuf messages, does no I/O, and has no clocks and no threads.

mod delivery;
mod digest;
mod dynamic_parameters;
mod error;
mod group;
mod lookup;
mod name;
mod node;
pub mod node_hash;
mod overlay;
mod peer;
mod references;
mod refusal;
mod resource;
mod resource_failure;
mod resource_set;
mod resource_type;
mod snapshot;
mod source;
mod timed_entry;
mod type_url;
mod version;
mod wire;
mod xdstp;

pub use delivery::{Delivery, DeliveryOutcome, DeliverySink, Settlement, ViewId};
pub use dynamic_parameters::{Constraints, DynamicParameters};
pub use error::ResourceError;
pub use group::{GroupObserver, Published, SnapshotWriter};
pub use lookup::Lookup;
pub use name::Name;
pub use node::{Locality, MetadataValue, Node};
#[doc(inline)]
pub use node_hash::{GroupKey, NodeHash, NodeId};
pub use overlay::{Overlay, OverlayEntry};
pub use peer::Peer;
pub use references::{Facts, NoReferences, ReadyWhen, Reference, References, Strength};
pub use refusal::{Refusal, RefusalKind};
pub use resource::{
    EntryForm, Identity, Resource, ResourceBuilder, bodyless_entry, encoded_resource_name,
};
pub use resource_failure::{FailureCode, ResourceFailure};
pub use resource_set::{
    Diff, NewReference, ResourceSet, ResourceSetEdit, Selection, ValueId, coalesce, encoded_chunks,
};
pub use resource_type::{
    MissingName, ResourceType, ResourceTypes, ResponseSplit, SotwMode, well_known,
};
pub use snapshot::{Coverage, Generation, Publication, Referrer, Snapshot, SnapshotBuilder};
pub use source::{Announced, Interest, Source, View};
pub use timed_entry::{
    heartbeat_entry, timed_entry, timed_entry_len, wrapped_entry, wrapped_entry_len,
};
pub use type_url::TypeUrl;
pub use version::Version;
