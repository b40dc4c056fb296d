//! An embeddable xDS control plane.
//!
//! You have proxies (Envoy) or gRPC clients that ask a management server for their configuration, and a source of
//! truth of your own. Implement [`Translator`](translator::Translator), which turns your model into resources, and
//! add the services to your own tonic server; everything between those two is here. See [`ControlPlane`] for a whole
//! program.
//!
//! | module | what is in it |
//! |---|---|
//! | [`core`] | the vocabulary: resources, snapshots, nodes, and the traits between the parts |
//! | [`resources`] | Envoy's messages as resources; builders for the usual ones |
//! | [`translator`] | from your model to published snapshots, and to who accepted them: debounced, incremental where you like, guarded, last good kept |
//! | [`cache`] | a snapshot per group of nodes; one large type whose resources change one by one; several sources as one |
//! | [`server`] | the gRPC services, callbacks, admission, shutdown |
//! | [`engine`] | the protocol itself, without I/O |
//! | [`types`] | the generated messages and gRPC stubs |
//!
//! A large collection that changes one resource at a time, endpoints for instance, needs no translator: write each
//! change to a [`LinearCache`](cache::LinearCache), and serve it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use portolan::cache::LinearCache;
//! use portolan::prelude::*;
//!
//! let (writer, reader) = LinearCache::new(well_known::ENDPOINT).split();
//! let xds = XdsServer::builder(Arc::new(reader)).build();
//!
//! writer.replace_all([build::assignment("web", ["10.0.0.1:80".parse()?]).to_resource()])?;
//! writer.upsert(build::assignment("web", ["10.0.0.2:80".parse()?]).to_resource())?;
//! # drop(xds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The [`prelude`] has what most programs use.
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `tls-ring`, `tls-aws-lc` | the peer's certificates, from connections that tonic's own TLS accepted |
//! | `health` | the gRPC health service, tied to readiness |
//! | `reflection` | the gRPC reflection service, with the schema of the xDS APIs |
//! | `metrics` | metrics through the `metrics` facade, for the recorder that you install |
//! | `consistency` | the module `consistency`, and `with_checks` of the publish loop's builder: what does not fit together is reported or refused |
//! | `schema` | `consistency`, and the validation of fields by the rules of the schema: `consistency::schema` |
//! | `full-types` | all messages of the xDS APIs; by default only those of a usual configuration |

mod control_plane;
mod tokio_clock;

pub use control_plane::ControlPlane;
pub use portolan_cache as cache;
#[cfg(feature = "consistency")]
pub use portolan_consistency as consistency;
pub use portolan_core as core;
pub use portolan_engine as engine;
pub use portolan_resources as resources;
pub use portolan_server as server;
pub use portolan_translator as translator;
pub use portolan_types as types;
pub use tokio_clock::TokioClock;

/// What most programs use.
pub mod prelude {
    pub use portolan_cache::SnapshotCache;
    pub use portolan_core::{
        Node, NodeHash, NodeId, Peer, Refusal, Resource, ResourceError, Snapshot, SnapshotBuilder,
        well_known,
    };
    pub use portolan_resources::{AddTyped, TypedResource, build};
    pub use portolan_server::{Admission, Callbacks, XdsServer};
    pub use portolan_translator::{
        Change, IncrementalTranslator, Publisher, Translator, WaitScope,
    };

    pub use crate::ControlPlane;
}
