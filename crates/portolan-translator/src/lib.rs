//! From a model to published snapshots: the publish loop of the Portolan xDS control plane.
//!
//! You write one function, [`Translator::translate`], which turns a model of your own into the resources of one group
//! of nodes. The loop decides when to call it, for which groups, and whether what it made may be published; and it
//! tells you what became of it, up to each node:
//!
//! ```text
//!  Publisher::update ──▶ debounce ──▶ per group, on the blocking pool, with a deadline:
//!   newest model wins     lanes        translate ──▶ unchanged? ──▶ guard, gates ──▶ SnapshotWriter::set ──▶ nodes
//!                                          │              │               │                  │                │
//!  GroupWatch ── a new group: at once ──▶  └──────────────┴─ PublishReport ──────────────────┘      Publisher::wait
//! ```
//!
//! - **Debounced.** The first change after a quiet time goes at once; of a burst one translation is made, at most
//!   once in 100 ms and at least once a second, however long translations take. Changes of endpoints alone wait less.
//!   See [`DebounceConfig`].
//! - **No more than changed.** A [`Change`] says whom it concerns and what of it. Endpoints can have a [translator of
//!   their own](PublishLoopBuilder::with_endpoint_translator); an [`IncrementalTranslator`] applies changes to what is
//!   published. What turns out equal is neither encoded nor sent again.
//! - **Last good kept.** A translator that fails, hangs or panics publishes nothing, and so does a gate that refuses.
//!   The group is served what it was served before, and a [`PublishReport`] says why.
//! - **Guarded.** A snapshot that would delete most of what a group has is refused unless the change is said to do
//!   so. See [`MassDeletionGuard`]; gates of your own implement [`Gate`].
//! - **Groups apart.** Groups with nodes are translated, and those that are
//!   [registered](Publisher::serve_group). None waits for another that is slow. One whose last node left is forgotten
//!   [after a while](PublishConfig::with_linger).
//! - **Bounded.** Nothing is queued but groups, each once, with [so many details](PublishConfig::with_max_details) of
//!   what changed for them. There is one newest model, and there are so many threads and no more.
//!
//! # A translator
//!
//! A cache must be told who observes its groups and its streams when it is made, while the loop needs the cache to
//! write to. So [`GroupWatch`] and [`DeliveryTracker`] come first, and either gets one end of them:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use portolan_core::{Resource, ResourceError, SnapshotBuilder, SnapshotWriter, well_known::CLUSTER};
//! use portolan_translator::{DeliveryTracker, GroupWatch, PublishLoop, Translator, WaitScope};
//! # use std::collections::BTreeMap;
//! # use std::sync::Mutex;
//! # use portolan_core::{DeliverySink, Generation, GroupObserver, Node, Published, Settlement, Snapshot, ViewId};
//! #
//! # #[derive(Debug)]
//! # struct Cache {
//! #     snapshots: Mutex<BTreeMap<String, (Snapshot, Generation)>>,
//! #     observer: Arc<dyn GroupObserver<String>>,
//! #     sink: Arc<dyn DeliverySink<String>>,
//! # }
//! #
//! # impl Cache {
//! #     fn told_by(observer: Arc<dyn GroupObserver<String>>, sink: Arc<dyn DeliverySink<String>>) -> Arc<Self> {
//! #         Arc::new(Self { snapshots: Mutex::default(), observer, sink })
//! #     }
//! #     fn node_connects(&self, group: &str, node: &str) {
//! #         self.observer.first_node(&group.to_owned(), &Node::new(node));
//! #         self.sink.opened(&group.to_owned(), ViewId::new(1), &Node::new(node));
//! #     }
//! #     fn node_accepts(&self, group: &str) {
//! #         let settlement = Settlement::new(Generation::default().next(), false);
//! #         self.sink.settled(&group.to_owned(), ViewId::new(1), settlement);
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
//! # fn encode_cluster(name: &str) -> Vec<u8> { [&[0x0a, name.len() as u8], name.as_bytes()].concat() }
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
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (watch, groups) = GroupWatch::channel();
//! let tracker = Arc::new(DeliveryTracker::new());
//! let cache = Cache::told_by(Arc::new(watch), tracker.clone());
//! let (publisher, publish_loop) = PublishLoop::builder(Clusters, cache.clone(), groups)
//!     .with_tracker(tracker)
//!     .build();
//! publish_loop.spawn();
//! # cache.node_connects("edge", "edge-1");
//!
//! // A node of group "edge" has connected. Whenever the model changes:
//! publisher.update(Services(vec!["cart".into(), "search".into()]))?;
//!
//! // Who wants to know what became of it, waits until it is published,
//! let reports = publisher.flush().await?;
//! assert_eq!(reports.failed().count(), 0);
//! let edge = reports.get(&"edge".to_owned()).expect("it has a node");
//! assert_eq!(edge.diff[0].added().to_string(), "2 (cart, search)");
//! # cache.node_accepts("edge");
//!
//! // or until every node has accepted or rejected it.
//! let rollout = publisher.wait(WaitScope::all(), Duration::from_secs(10)).await?;
//! assert!(rollout.is_accepted());
//! # Ok(())
//! # }
//! ```
//!
//! # An incremental translator
//!
//! Where the model is large, a change need not cost what there is. An [`IncrementalTranslator`] is told the details of
//! what changed, of a type of its own, and applies them to what the group has:
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use std::sync::{Arc, Mutex};
//! # use portolan_core::{Generation, Published, Snapshot, SnapshotWriter};
//! # #[derive(Debug, Default)]
//! # struct Cache {
//! #     snapshots: Mutex<BTreeMap<String, (Snapshot, Generation)>>,
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
//! # fn encode_service(name: &str, timeout: u8) -> Vec<u8> {
//! #     [&[0x0a, name.len() as u8], name.as_bytes(), &[0x22, 2, 0x08, timeout]].concat()
//! # }
//! use portolan_core::{Resource, ResourceError, SnapshotBuilder, well_known::CLUSTER};
//! use portolan_translator::{Change, Extent, IncrementalTranslator, PublishLoop, Translator};
//! # use portolan_translator::WatchedGroups;
//!
//! /// The model: the services that there are, and the time to connect to each in seconds.
//! type Services = BTreeMap<String, u8>;
//!
//! #[derive(Debug)]
//! struct Clusters;
//!
//! impl Translator<Services, String> for Clusters {
//!     type Error = ResourceError;
//!
//!     // As before: for a group that has nothing yet, and whenever changes cannot be applied.
//!     fn translate(&self, services: &Services, _: &String, out: &mut SnapshotBuilder) -> Result<(), ResourceError> {
//!         for (name, timeout) in services {
//!             out.insert(Resource::builder(CLUSTER, name, encode_service(name, *timeout)))?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! impl IncrementalTranslator<Services, String> for Clusters {
//!     /// The name of a service that was added, changed or removed.
//!     type Detail = String;
//!
//!     // `out` starts with all that the group has.
//!     fn translate_details(
//!         &self,
//!         services: &Services,
//!         _: &String,
//!         changed: &[&String],
//!         out: &mut SnapshotBuilder,
//!     ) -> Result<(), ResourceError> {
//!         for name in changed {
//!             match services.get(*name) {
//!                 Some(timeout) => out.upsert(Resource::builder(CLUSTER, *name, encode_service(name, *timeout)))?,
//!                 None => out.remove(&CLUSTER, name),
//!             };
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (cache, groups) = (Cache::default(), WatchedGroups::none());
//! # let edge = "edge".to_owned();
//! let (publisher, publish_loop) = PublishLoop::incremental(Clusters, Arc::new(cache), groups).build();
//! publish_loop.spawn();
//! publisher.serve_group(&edge);
//!
//! let mut services = Services::from([("cart".into(), 5), ("search".into(), 5)]);
//! publisher.update(services.clone())?;
//! assert_eq!(publisher.flush().await?.get(&edge).expect("it is served").extent, Extent::Everything);
//!
//! services.insert("cart".into(), 1);
//! publisher.update_with(services, Change::config().with_detail("cart".into()))?;
//! let reports = publisher.flush().await?;
//! let report = reports.get(&edge).expect("it is served");
//! assert_eq!(report.extent, Extent::Details);
//! assert_eq!(report.diff[0].changed().to_string(), "1 (cart)");
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not do
//!
//! - It does no I/O. Watch your sources, and make a model of all of them, before you hand it in: after a restart the
//!   loop does not know what proxies had before, and publishes a first model that is half read as it is.
//! - It does not try again what failed before there is a new change. Hand the same model in again to have that done.
//! - It does not know what resources mean. A body that is no protobuf message, two resources of one name, one without
//!   name or type, and a mass deletion are refused; with feature `consistency`, and checks given to the loop's builder
//!   (`with_checks`), resources that do not fit together are reported or refused, such as one that refers to another which
//!   does not exist. A body of another type than its URL says and values out of range are for gates of your own to find,
//!   or for clients to reject.
//! - It does not keep snapshots beyond the process.

mod change;
mod config;
#[cfg_attr(feature = "consistency", path = "consistency/on.rs")]
#[cfg_attr(not(feature = "consistency"), path = "consistency/off.rs")]
mod consistency;
mod contain;
mod debounce;
mod difference;
mod flushes;
mod gate;
mod group_watch;
mod malformed;
mod mass_deletion;
mod notices;
mod publish_loop;
mod publisher;
mod report;
mod revision;
mod rollout;
mod schedule;
mod stages;
mod tracker;
mod translator;

pub use change::Change;
pub use config::PublishConfig;
#[cfg(feature = "consistency")]
pub use consistency::Inconsistent;
pub use debounce::DebounceConfig;
pub use difference::{Names, TypeDiff};
pub use gate::{Gate, GateRefusal, Proposal};
pub use group_watch::{GroupWatch, WatchedGroups};
pub use malformed::MalformedResource;
pub use mass_deletion::{Loss, MassDeletion, MassDeletionGuard};
pub use publish_loop::{PublishLoop, PublishLoopBuilder};
pub use publisher::{Closed, Publisher};
pub use report::{Extent, Outcome, PublishObserver, PublishReport, Reports, Stage, StageTimes};
pub use revision::Revision;
pub use rollout::{GroupRollout, Publishing, Rollout, WaitError};
pub use tracker::{DeliveryTracker, NodeOutcome, Rejection, WaitScope};
pub use translator::{BoxError, IncrementalTranslator, Translator};
