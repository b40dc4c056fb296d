//! One large type of resources that change independently of each other.

mod edit;
mod reader;
mod store;
mod streams;
#[cfg(test)]
mod tests;
mod view;
mod wants;
mod watched;
mod writer;

use std::sync::Arc;

use portolan_core::TypeUrl;

pub use self::edit::LinearEdit;
pub use self::reader::LinearCacheReader;
use self::store::Store;
pub use self::writer::LinearCacheWriter;

/// A cache of one type, the same for all nodes, before it is split into its two handles.
///
/// For a large collection of resources that change one by one: endpoints, secrets, routes on demand. A change costs
/// what it changes, and wakes only the streams that subscribe a name that changed, or everything.
///
/// What it publishes speaks for its own type alone ([`SnapshotBuilder::only`](portolan_core::SnapshotBuilder::only)).
/// Of other types nothing is known, so whoever asks for them on the same stream is not answered.
///
/// ```
/// use portolan_cache::LinearCache;
/// use portolan_core::{Resource, ResourceError, well_known::ENDPOINT};
///
/// let (writer, reader) = LinearCache::new(ENDPOINT).split();
/// let endpoint = |name: &str, body: &'static [u8]| Resource::builder(ENDPOINT, name, body);
///
/// // Nothing is published yet, and nobody is told anything. The first write publishes: start with all there is.
/// assert!(writer.resources().is_none());
/// let first = writer.replace_all([endpoint("a", b"1"), endpoint("b", b"1")])?;
///
/// // Then change one at a time, or several at once.
/// let second = writer.upsert(endpoint("a", b"2"))?;
/// assert_eq!(second.generation(), first.generation().next());
/// let third = writer.batch(|edit| {
///     edit.upsert(endpoint("c", b"1"))?.remove("b");
///     Ok::<_, ResourceError>(())
/// })?;
/// assert_eq!(third.generation(), second.generation().next());
/// assert_eq!(writer.len(), 2);
/// # drop(reader);
/// # Ok::<(), ResourceError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct LinearCache {
    type_url: TypeUrl,
}

impl LinearCache {
    /// A cache of this type in which nothing is published yet.
    pub fn new(type_url: impl Into<TypeUrl>) -> Self {
        Self {
            type_url: type_url.into(),
        }
    }

    /// The two handles: one for publishers, one for servers.
    #[must_use]
    pub fn split(self) -> (LinearCacheWriter, LinearCacheReader) {
        let store = Arc::new(Store::new(self.type_url));
        let writer = LinearCacheWriter::new(Arc::clone(&store));
        (writer, LinearCacheReader::new(store))
    }
}
