use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::{DynamicParameters, Name, ResourceSet, ResourceType, SotwMode, TypeUrl};

use crate::early::Early;
use crate::introduced::Introduced;
use crate::known::Known;
use crate::lives::Lives;
use crate::owed::Owed;
use crate::subscription::Subscription;
use crate::suspects::Suspects;
use crate::transition::TypePlan;
use crate::window::Window;
use crate::{Nonce, Variant};

/// All that a session remembers of one type. Types are separate: nothing here is shared with another (C-045).
#[derive(Debug)]
pub(crate) struct TypeState {
    pub(crate) resource_type: ResourceType,
    pub(crate) subscription: Subscription,
    pub(crate) known: Known,
    pub(crate) owed: Owed,
    pub(crate) window: Window,
    pub(crate) suspects: Suspects,
    pub(crate) pace: Pace,
    pub(crate) plan: TypePlan,
    /// What the client keeps for a limited time.
    pub(crate) lives: Lives,
    /// What the type that this one re-answers must be told when it is asked for.
    pub(crate) early: Early,
    /// What of that type its own responses were the first to mention.
    pub(crate) introduced: Introduced,
    /// Whether a request of the type was seen.
    pub(crate) begun: bool,
}

impl TypeState {
    pub(crate) fn new(
        resource_type: ResourceType,
        variant: Variant,
        parameters: Arc<DynamicParameters>,
        max_unacked: usize,
    ) -> Self {
        Self {
            resource_type,
            subscription: Subscription::new(variant, parameters),
            known: Known::default(),
            owed: Owed::default(),
            window: Window::new(max_unacked),
            suspects: Suspects::new(max_unacked),
            pace: Pace::default(),
            plan: TypePlan::new(max_unacked),
            lives: Lives::default(),
            early: Early::default(),
            introduced: Introduced::default(),
            begun: false,
        }
    }

    pub(crate) fn url(&self) -> &TypeUrl {
        self.resource_type.url()
    }

    /// Place among the types of a stream: by rank, then by URL.
    pub(crate) fn place(&self) -> (u16, &TypeUrl) {
        (self.resource_type.rank(), self.url())
    }

    /// A resource that refers to the name was sent.
    pub(crate) fn reanswer(&mut self, name: &Name) {
        match self.subscription.has_locators() {
            true => {
                let forms = self.subscription.forms_of(name);
                forms.for_each(|form| self.owed.reanswer(form.clone()));
            }
            false => self.owed.reanswer(name.clone()),
        }
    }

    /// Whether the client has rejected something that it is still to have.
    pub(crate) fn is_rejected(&self, set: &ResourceSet) -> bool {
        let wanted = |name: &Name| set.entry(name).is_some_and(|r| self.subscription.covers(r));
        !self.suspects.is_empty() && self.suspects.names().iter().any(wanted)
    }

    /// The names that the client waits for and of which it is not known yet what to say (C-235).
    pub(crate) fn awaits(&self, set: &ResourceSet) -> Vec<Name> {
        let is_owed = |name: &Name| self.owed.all_names || self.owed.is_asked(name);
        let brought = |name: &Name| {
            self.owed.unless_claimed && self.known.holds_name(name, &self.subscription)
        };
        let pending = set.pending().filter(|name| !brought(name));
        let named = pending.flat_map(|name| self.subscription.forms_of(name));
        // Who is told what a name stands for besides need not wait for more.
        let stands = |name: &Name| self.subscription.resolve(set, name).next().is_some();
        let owed = named.filter(|name| is_owed(name) && !stands(name));
        owed.cloned().collect()
    }

    /// Whether a client would delete what it is to keep if it was answered with everything now: it has something from
    /// before, and it is not known of all that it names what there is.
    pub(crate) fn would_lose(&self, set: &ResourceSet) -> bool {
        let is_first = self.owed.all_names && self.owed.even_nothing;
        is_first && set.pending().any(|name| self.subscription.names_stem(name))
    }

    pub(crate) fn is_full_state(&self, variant: Variant) -> bool {
        variant == Variant::Sotw && self.resource_type.sotw_mode() == SotwMode::FullState
    }

    pub(crate) fn is_supported(&self, variant: Variant) -> bool {
        variant == Variant::Delta || self.resource_type.sotw_mode() != SotwMode::Unsupported
    }
}

/// Keeps responses with changes from piling up at a client that does not read: one waits while the previous one of
/// its type is unread. It is read when it, or anything sent later on the stream, was acknowledged or rejected, since a
/// stream is ordered; or when the client asks for a name that it was the first to mention.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The newest response with changes, and when it was sent.
    last: Option<(Nonce, Duration)>,
    /// Whether something waits for it.
    waiting: bool,
}

impl Pace {
    pub(crate) fn sent(&mut self, nonce: Nonce, now: Duration) {
        self.last = Some((nonce, now));
        self.waiting = false;
    }

    pub(crate) fn is_unread(&self, read: Option<Nonce>) -> bool {
        self.last
            .is_some_and(|(nonce, _)| read.is_none_or(|read| read < nonce))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting
    }

    pub(crate) fn set_waiting(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    /// When what waits goes although nobody read.
    pub(crate) fn deadline(&self, unread_after: Duration) -> Option<Duration> {
        let (_, sent) = self.last.filter(|_| self.waiting)?;
        Some(sent.saturating_add(unread_after))
    }

    /// Gives up waiting where the deadline has come; gives the response that nobody acknowledged.
    pub(crate) fn expire(&mut self, now: Duration, unread_after: Duration) -> Option<Nonce> {
        self.deadline(unread_after)
            .filter(|deadline| *deadline <= now)?;
        self.waiting = false;
        self.last.take().map(|(nonce, _)| nonce)
    }
}
