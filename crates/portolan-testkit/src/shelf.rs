use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use portolan_core::{
    Announced, Generation, Node, Peer, Publication, Refusal, ResourceBuilder, ResourceSet,
    Snapshot, SnapshotBuilder, Source, TypeUrl, View,
};

/// How many publications are remembered.
const HISTORY: usize = 32;

/// A [`Source`] with one publication for everybody.
///
/// Clones are handles of the same shelf. Publishing wakes the open views at once, so there is nothing to announce.
///
/// ```
/// use portolan_core::well_known::CLUSTER;
/// use portolan_testkit::{Shelf, fixture};
///
/// let shelf = Shelf::new();
/// assert!(shelf.snapshot().is_none(), "nothing published is not the same as empty");
/// shelf.put([fixture::cluster("a")]);
/// shelf.put([fixture::cluster("b")]);
/// shelf.remove(&CLUSTER, ["a"]);
/// assert_eq!(shelf.snapshot().unwrap().len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shelf(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    publication: Option<Publication>,
    /// What was published before, newest first.
    history: Vec<Snapshot>,
    last: Generation,
    wakers: BTreeMap<u64, Waker>,
    opened: u64,
}

impl Shelf {
    /// A shelf on which nothing was published.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes a snapshot.
    pub fn publish(&self, snapshot: Snapshot) -> Generation {
        let (generation, wakers) = {
            let mut state = self.lock();
            let publication = match &state.publication {
                Some(previous) => previous.next(snapshot),
                None => Publication::first_after(state.last, snapshot),
            };
            state.last = publication.generation();
            let former = state.publication.replace(publication);
            if let Some(former) = former {
                state.history.insert(0, former.snapshot().clone());
                state.history.truncate(HISTORY);
            }
            (
                state.last,
                state.wakers.values().cloned().collect::<Vec<_>>(),
            )
        };
        wakers.into_iter().for_each(Waker::wake);
        generation
    }

    /// Publishes a changed copy of the newest snapshot, or of the empty one.
    pub fn edit(&self, edit: impl FnOnce(&mut SnapshotBuilder)) -> Generation {
        let mut builder = self.snapshot().unwrap_or_else(Snapshot::empty).edit();
        edit(&mut builder);
        self.publish(builder.build())
    }

    /// Publishes a copy of the newest snapshot with these resources put in.
    ///
    /// # Panics
    /// If a resource cannot be built.
    pub fn put<R: Into<ResourceBuilder>>(
        &self,
        resources: impl IntoIterator<Item = R>,
    ) -> Generation {
        self.edit(|snapshot| {
            for resource in resources {
                let put = snapshot.upsert(resource.into());
                put.expect("resources of a test have names and types");
            }
        })
    }

    /// Publishes a copy of the newest snapshot without these resources.
    pub fn remove<'a>(
        &self,
        type_url: &TypeUrl,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Generation {
        self.edit(|snapshot| {
            for name in names {
                snapshot.remove(type_url, name);
            }
        })
    }

    /// Forgets what was published. Views stay open and are told nothing.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.publication = None;
        state.history.clear();
    }

    /// The newest snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let state = self.lock();
        state.publication.as_ref().map(|p| p.snapshot().clone())
    }

    /// Number of open views.
    #[must_use]
    pub fn views(&self) -> usize {
        self.lock().wakers.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Shelf {
    fn open(&self, _: &Arc<Node>, _: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let mut state = self.lock();
        state.opened += 1;
        let number = state.opened;
        state.wakers.insert(number, waker);
        Ok(Box::new(ShelfView {
            shelf: self.clone(),
            number,
        }))
    }

    fn announce(&self, _: usize) -> Announced {
        Announced::All
    }

    fn register_announcer(&self, _: Waker) {}
}

#[derive(Debug)]
struct ShelfView {
    shelf: Shelf,
    number: u64,
}

impl View for ShelfView {
    fn load(&self) -> Option<Publication> {
        self.shelf.lock().publication.clone()
    }

    fn history(&self, type_url: &TypeUrl) -> Vec<ResourceSet> {
        let state = self.shelf.lock();
        let sets = state.history.iter().filter_map(|s| s.set(type_url));
        sets.cloned().collect()
    }
}

impl Drop for ShelfView {
    fn drop(&mut self) {
        self.shelf.lock().wakers.remove(&self.number);
    }
}
