use std::fmt::Debug;
use std::sync::Arc;
use std::task::Waker;

use crate::{Delivery, Name, Node, Peer, Publication, Refusal, ResourceSet, Settlement, TypeUrl};

/// Where a server gets resources from: the reading side of a cache.
///
/// The server knows nothing else of a cache, so a source of your own is as good as ours.
pub trait Source: Debug + Send + Sync {
    /// Opens the view of one stream. `waker` is woken when what [`View::load`] gives may have changed; being woken
    /// too often is harmless, too seldom is not.
    ///
    /// # Errors
    /// A refusal ends the stream.
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal>;

    /// Wakes streams whose data changed, at most `budget` of them, and says whether some are left.
    ///
    /// A writer only notes that a group changed; the server's one announcer calls this until it is
    /// [`Announced::All`], yielding in between, so that publishing costs the same however many streams there are.
    fn announce(&self, budget: usize) -> Announced;

    /// Registers an announcer's waker, to be woken once, when [`announce`](Self::announce) next has something to do.
    /// Register before a call of `announce`, not after it, or a change in between goes unnoticed.
    fn register_announcer(&self, waker: Waker);
}

/// What is left after a call of [`Source::announce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Announced {
    /// Every stream whose data changed was woken.
    All,
    /// The budget ran out first.
    More,
}

/// What one stream sees of a source.
pub trait View: Debug + Send {
    /// The newest publication; `None` while nothing was published, which is not the same as an empty snapshot
    /// (C-129). Cheap: a pointer is copied.
    fn load(&self) -> Option<Publication>;

    /// What the client may have been served of a type before, newest first: sets that were published and are no longer. A
    /// client that connects again says which of it it has, by versions, and is moved from there to what there is as gently
    /// as one that was there all the time. Default: nothing is remembered.
    fn history(&self, _type_url: &TypeUrl) -> Vec<ResourceSet> {
        Vec::new()
    }

    /// Tells what the stream's client began and ceased to want. Sources that hold everything need not care.
    fn interest(&mut self, _interest: &Interest<'_>) {}

    /// Tells what became of a response. Must not block.
    fn delivered(&mut self, _delivery: &Delivery<'_>) {}

    /// Tells that nothing is left to say of a publication, and that everything that was said is acknowledged or
    /// rejected. A publication that does not concern the stream settles without a delivery; one that is overtaken
    /// never does. Must not block.
    fn settled(&mut self, _settlement: Settlement) {}
}

/// A change of what a client wants of one type.
///
/// In delta a name that is wanted is an identifier: it stands for the resource of that name, for those that have it for an
/// [alias](crate::Resource::aliases), and if it is a [glob](Name::is_glob) for all that it matches. A source that wakes
/// streams by name wakes one for each of [`Resource::other_identifiers`](crate::Resource::other_identifiers) too, those
/// of the resource before a change and those after it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Interest<'a> {
    /// The type.
    pub type_url: &'a TypeUrl,
    /// Names that are wanted now and were not before.
    pub added: &'a [Name],
    /// Names that are not wanted any more.
    pub removed: &'a [Name],
    /// Whether everything is wanted.
    pub wildcard: bool,
}

impl<'a> Interest<'a> {
    /// A change of interest in `type_url`.
    #[must_use]
    pub const fn new(
        type_url: &'a TypeUrl,
        added: &'a [Name],
        removed: &'a [Name],
        wildcard: bool,
    ) -> Self {
        Self {
            type_url,
            added,
            removed,
            wildcard,
        }
    }
}
