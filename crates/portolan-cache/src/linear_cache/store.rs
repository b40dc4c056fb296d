use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use portolan_core::{
    Announced, Name, Publication, Published, Resource, ResourceError, ResourceSet, Snapshot,
    SnapshotBuilder, TypeUrl, Version, ViewId,
};

use super::edit::LinearEdit;
use super::streams::{Changed, Streams};
use super::view::LinearView;
use crate::announcer::Announcer;
use crate::ledger::Ledger;
use crate::lock::lock;

/// What the handles of a cache share.
#[derive(Debug)]
pub(super) struct Store {
    type_url: TypeUrl,
    /// Held by a writer while it prepares and puts in place what comes next, so that one that replaces all cannot be
    /// outrun by those that change a little. Streams do not know of it.
    writing: Mutex<Decoration>,
    streams: Arc<Streams>,
    announcer: Announcer<Streams>,
    /// How many views were ever opened.
    opened: AtomicU64,
}

/// What is published with the resources and is none.
#[derive(Debug, Default)]
struct Decoration {
    label: Option<Version>,
}

impl Store {
    pub(super) fn new(type_url: TypeUrl) -> Self {
        Self {
            type_url,
            writing: Mutex::default(),
            streams: Arc::default(),
            announcer: Announcer::new(),
            opened: AtomicU64::new(0),
        }
    }

    pub(super) fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    pub(super) fn streams(&self) -> &Streams {
        &self.streams
    }

    pub(super) fn resources(&self) -> Option<ResourceSet> {
        let ledger = self.streams.ledger();
        self.set_of(&ledger).cloned()
    }

    /// Starts changes. They are prepared without a lock, from what there is now.
    pub(super) fn edit(&self) -> LinearEdit {
        LinearEdit::new(self.type_url.clone(), self.resources().unwrap_or_default())
    }

    pub(super) fn apply(&self, edit: LinearEdit) -> Result<Published, ResourceError> {
        let changes = edit.into_changes();
        self.write(|held| {
            let mut next = match held {
                Some(held) => held.edit(),
                // To say that something is gone is not to say that there is nothing else.
                None if changes.values().all(Option::is_none) => return Ok(None),
                None => self.start(),
            };
            self.put(&mut next, changes)?;
            Ok(Some(next))
        })
    }

    pub(super) fn replace(&self, edit: LinearEdit) -> Result<Published, ResourceError> {
        let changes = edit.into_changes();
        self.write(|held| {
            let mut next = match held {
                Some(held) => held.rebuild([self.type_url.clone()]),
                None => self.start(),
            };
            self.put(&mut next, changes)?;
            Ok(Some(next))
        })
    }

    pub(super) fn label(&self, label: Version) {
        let mut writing = lock(&self.writing);
        let former = writing.label.replace(label);
        let redecorated = self.enter(&writing, |held| Ok(held.map(Snapshot::edit)));
        drop(writing);
        drop(former);
        // A label makes no resource another.
        let _ = redecorated.map(|redecorated| self.settle(redecorated));
    }

    pub(super) fn clear(&self) {
        let mut writing = lock(&self.writing);
        let label = writing.label.take();
        let former = self.streams.clear();
        drop(writing);
        drop((label, former));
    }

    pub(super) fn open(self: &Arc<Self>, waker: Waker) -> LinearView {
        let view = ViewId::new(self.opened.fetch_add(1, Ordering::Relaxed));
        self.streams.join(view, Arc::new(waker));
        LinearView::new(Arc::clone(self), view)
    }

    pub(super) fn announce(&self, budget: usize) -> Announced {
        self.announcer.announce(budget)
    }

    pub(super) fn register_announcer(&self, waker: Waker) {
        self.announcer.register(waker);
    }

    pub(super) fn describe(&self, out: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        out.field("type_url", &self.type_url)
            .field("resources", &self.resources().map(|set| set.len()))
            .field("streams", &self.streams.len())
            .finish()
    }

    /// Publishes what `make` makes of what is there; with `None` all stays as it is.
    fn write(
        &self,
        make: impl FnOnce(Option<&Snapshot>) -> Made,
    ) -> Result<Published, ResourceError> {
        let writing = lock(&self.writing);
        let entered = self.enter(&writing, make);
        drop(writing);
        Ok(self.settle(entered?))
    }

    /// What is left to do of a write when no lock is held. It may be for nothing that the write changed: a stream that
    /// is about to want everything is behind until it is woken.
    fn settle(&self, entered: Entered) -> Published {
        if entered.enqueue {
            self.announcer.enqueue(Arc::clone(&self.streams));
        }
        entered.published
    }

    fn enter(
        &self,
        decoration: &Decoration,
        make: impl FnOnce(Option<&Snapshot>) -> Made,
    ) -> Result<Entered, ResourceError> {
        let former = self.streams.ledger();
        let held = former.publication().map(|held| held.snapshot());
        let Some(mut next) = make(held)? else {
            return Ok(Entered {
                published: Published::Unchanged(former.last()),
                enqueue: false,
                _former: former,
            });
        };
        if let Some(label) = &decoration.label {
            next.label(self.type_url.clone(), label.clone());
        }
        let (next, published) = former.enter(next.build());
        let enqueue = next.is_some_and(|next| {
            let changed = match (self.set_of(&former), self.set_of(&next)) {
                (Some(old), Some(new)) => Changed::between(old, new),
                _ => Changed::Everything,
            };
            self.streams.replace(next, changed)
        });
        Ok(Entered {
            published,
            enqueue,
            _former: former,
        })
    }

    fn start(&self) -> SnapshotBuilder {
        let mut start = Snapshot::builder();
        start.only([self.type_url.clone()]);
        start
    }

    /// Takes out first, so that what is put in is compared with nothing that goes.
    fn put(
        &self,
        next: &mut SnapshotBuilder,
        changes: BTreeMap<Name, Option<Resource>>,
    ) -> Result<(), ResourceError> {
        for name in changes.keys() {
            next.remove(&self.type_url, name);
        }
        for resource in changes.into_values().flatten() {
            next.insert_shared(resource)?;
        }
        Ok(())
    }

    fn set_of<'a>(&self, ledger: &'a Ledger) -> Option<&'a ResourceSet> {
        let publication: &Publication = ledger.publication()?;
        publication.snapshot().set(&self.type_url)
    }
}

/// What a write makes of what there is; with `None` all stays as it is.
type Made = Result<Option<SnapshotBuilder>, ResourceError>;

/// What came of a write. What was there before is let go with it, when no lock is held.
#[derive(Debug)]
struct Entered {
    published: Published,
    /// Whether the streams belong into the announcer's line; that is the writer's duty.
    enqueue: bool,
    _former: Ledger,
}
