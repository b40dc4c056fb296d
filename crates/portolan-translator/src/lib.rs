//! From a model to published snapshots: the publish loop of the Portolan xDS control plane.
//!
//! You write one function, [`Translator::translate`], which turns a model of your own into the resources of one group
//! of nodes. The loop decides when to call it, for which groups, and whether what it made may be published:
//!
//! ```text
//!  Publisher::update ──▶ debounce ──▶ per group, on the blocking pool, with a deadline:
//!   newest model wins     lanes        translate ──▶ unchanged? ──▶ guard, gates ──▶ SnapshotWriter::set
//!                                          │              │               │                  │
//!  GroupWatch ── a new group: at once ──▶  └──────────────┴─── Report ────┴──────────────────┘
//! ```
//!
//! - **Debounced.** The first change after a quiet time goes at once; of a burst one translation is made, at most
//!   once in 100 ms and at least once a second. Changes of endpoints alone wait less. See [`DebounceConfig`].
//! - **Last good kept.** A translator that fails, hangs or panics publishes nothing, and so does a gate that refuses.
//!   The group is served what it was served before, and an [`Outcome`] says why.
//! - **Guarded.** A snapshot that would delete most of what a group has is refused unless the change is said to do
//!   so. See [`MassDeletionGuard`]; gates of your own implement [`Gate`].
//! - **Groups apart.** Groups with nodes are translated, and those that are
//!   [registered](Publisher::serve_group). None waits for another that is slow.
//! - **Bounded.** Nothing is queued but groups, each once. There is one newest model, and there are so many threads
//!   and no more.
//!
//! # Example
//!
//! A cache must be told who observes its groups when it is made, while the loop needs the cache to write to. So the
//! [`GroupWatch`] comes first, and either gets one end of it:
//!
//! ```
//! use std::sync::Arc;
//!
//! use portolan_core::{Resource, ResourceError, SnapshotBuilder, SnapshotWriter, well_known::CLUSTER};
//! use portolan_translator::{GroupWatch, PublishLoop, Translator};
//! # use std::collections::BTreeMap;
//! # use std::sync::Mutex;
//! # use portolan_core::{Generation, GroupObserver, Node, Published, Snapshot};
//! #
//! # #[derive(Debug)]
//! # struct Cache {
//! #     snapshots: Mutex<BTreeMap<String, (Snapshot, Generation)>>,
//! #     observer: Arc<dyn GroupObserver<String>>,
//! # }
//! #
//! # impl Cache {
//! #     fn observed_by(observer: Arc<dyn GroupObserver<String>>) -> Arc<Self> {
//! #         Arc::new(Self { snapshots: Mutex::default(), observer })
//! #     }
//! # }
//! #
//! # impl SnapshotWriter<String> for Cache {
//! #     fn set(&self, group: &String, snapshot: Snapshot) -> Published {
//! #         let mut snapshots = self.snapshots.lock().unwrap();
//! #         let generation = snapshots.get(group).map_or(Generation::default(), |held| held.1).next();
//! #         snapshots.insert(group.clone(), (snapshot, generation));
//! #         Published::Changed(generation)
//! #     }
//! #     fn get(&self, group: &String) -> Option<Snapshot> {
//! #         Some(self.snapshots.lock().unwrap().get(group)?.0.clone())
//! #     }
//! #     fn clear(&self, group: &String) {
//! #         self.snapshots.lock().unwrap().remove(group);
//! #     }
//! #     fn groups(&self) -> Vec<String> {
//! #         self.snapshots.lock().unwrap().keys().cloned().collect()
//! #     }
//! # }
//!
//! /// The model: the services that there are.
//! struct Services(Vec<String>);
//!
//! #[derive(Debug)]
//! struct Clusters;
//!
//! impl Translator<Services, String> for Clusters {
//!     type Error = ResourceError;
//!
//!     fn translate(
//!         &self,
//!         services: &Services,
//!         _group: &String,
//!         out: &mut SnapshotBuilder,
//!     ) -> Result<(), ResourceError> {
//!         for name in &services.0 {
//!             out.insert(Resource::builder(CLUSTER, name, encode_cluster(name)))?;
//!         }
//!         Ok(())
//!     }
//! }
//! # fn encode_cluster(name: &str) -> Vec<u8> { name.into() }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (watch, groups) = GroupWatch::channel();
//! let cache = Cache::observed_by(Arc::new(watch));
//! let (publisher, publish_loop) = PublishLoop::builder(Clusters, cache.clone(), groups).build();
//! publish_loop.spawn();
//! # cache.observer.first_node(&"edge".to_owned(), &Node::new("edge-1"));
//!
//! // A node of group "edge" has connected. Whenever the model changes:
//! publisher.update(Services(vec!["cart".into(), "search".into()]))?;
//!
//! let reports = publisher.flush().await?;
//! assert_eq!(reports.failed().count(), 0);
//! let edge = cache.get(&"edge".to_owned()).expect("it was just published");
//! assert_eq!(edge.set(&CLUSTER).map(|clusters| clusters.len()), Some(2));
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not do
//!
//! - It does no I/O. Watch your sources, and make a model of all of them, before you hand it in: after a restart the
//!   loop does not know what proxies had before, and publishes a first model that is half read as it is.
//! - It does not try again what failed before there is a new model. Hand the same model in again to have that done.
//! - It does not translate part of a model. A lane says how soon, not what: unchanged content costs a comparison, and
//!   is neither encoded nor sent again.
//! - It does not keep snapshots beyond the process, and does not wait for clients to accept them.

mod change;
mod config;
mod contain;
mod debounce;
mod flushes;
mod gate;
mod group_watch;
mod mass_deletion;
mod publish_loop;
mod publisher;
mod report;
mod revision;
mod schedule;
mod stages;
mod translator;

pub use change::Change;
pub use config::PublishConfig;
pub use debounce::DebounceConfig;
pub use gate::{Gate, GateRefusal};
pub use group_watch::{GroupWatch, WatchedGroups};
pub use mass_deletion::{Loss, MassDeletion, MassDeletionGuard};
pub use publish_loop::{PublishLoop, PublishLoopBuilder};
pub use publisher::{Closed, Publisher};
pub use report::{Outcome, PublishObserver, Report, Reports};
pub use revision::Revision;
pub use translator::{BoxError, Translator};
