use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::Name;

use crate::answer::Answer;
use crate::suspects::Suspects;
use crate::touched::Touched;
use crate::transition::Brought;
use crate::window::Window;

/// What of one type is on its way from one publication to the next.
#[derive(Debug)]
pub(crate) struct TypePlan {
    /// What the client has from an earlier stream, as long as that was not looked at.
    pub(crate) brought: Brought,
    /// Resources that are shown as before, or not at all, until a cluster is ready.
    pub(crate) held: BTreeMap<Name, Hold>,
    /// Resources that are gone and stay, and since when: tables whose connections drain.
    pub(crate) lingering: BTreeMap<Name, Duration>,
    /// Assignments that are gone and stay, and a cluster that the client may hold and that refers to them.
    pub(crate) used: BTreeMap<Name, Name>,
    /// What the client rejected and was not sent again since: it may go on with what that would have replaced.
    pub(crate) pins: Suspects,
}

/// A resource that waits.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Since when; `None` while the client does not ask for it.
    pub(crate) since: Option<Duration>,
    /// The client rejected the cluster, and waiting does not end with time.
    pub(crate) rejected: bool,
}

impl Hold {
    /// Of something that the client does not ask for.
    pub(crate) fn unasked() -> Self {
        Self {
            since: None,
            rejected: false,
        }
    }
}

impl TypePlan {
    pub(crate) fn new(max_pins: usize) -> Self {
        Self {
            brought: Brought::default(),
            held: BTreeMap::new(),
            lingering: BTreeMap::new(),
            used: BTreeMap::new(),
            pins: Suspects::new(max_pins),
        }
    }

    /// Whether what is shown is what there is.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.held.is_empty() && self.lingering.is_empty() && self.used.is_empty()
    }

    /// Whether a name exists and the client is not to know yet.
    pub(crate) fn withholds(&self, name: &Name) -> bool {
        self.held.contains_key(name)
    }

    /// Whether something that the client asks for waits.
    pub(crate) fn is_holding(&self) -> bool {
        self.held.values().any(|hold| hold.since.is_some())
    }

    /// Gives up what waits, and says what it was.
    pub(crate) fn clear(&mut self) -> (BTreeMap<Name, Hold>, BTreeMap<Name, Duration>) {
        self.used.clear();
        (
            core::mem::take(&mut self.held),
            core::mem::take(&mut self.lingering),
        )
    }

    /// The client rejected a response that spoke of so many names. What a later one spoke of again is that one's affair.
    pub(crate) fn pin(&mut self, rejected: &Touched, all: usize, window: &Window) {
        let later = |name: &&Name| window.awaited().any(|touched| touched.contains(name));
        let mut names = rejected.names();
        names.retain(|name| !later(name));
        let names: Vec<_> = names.into_iter().cloned().collect();
        match names.len() < all {
            true => self.pins.add_rest(Touched::Names(names)),
            false => self.pins.add(Touched::Names(names)),
        }
    }

    /// An answer goes out. A client that still asks for what it rejected goes on with what it has of it, though it is told
    /// that the name is gone.
    pub(crate) fn note_sent(&mut self, answer: &Answer, wildcard: bool) {
        if self.pins.is_empty() {
            return;
        }
        match wildcard {
            true => self.pins.sent_again(&answer.touched),
            false => {
                let sent = Touched::Selected(answer.resources.clone());
                self.pins.sent_again(&sent);
            }
        }
    }

    /// Names of what is not shown as it is, sorted.
    pub(crate) fn as_before(&self) -> Vec<Name> {
        let held = self.held.keys().chain(self.lingering.keys());
        let mut names: Vec<_> = held.cloned().collect();
        names.sort_unstable();
        names
    }
}
