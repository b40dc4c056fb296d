use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use portolan_core::{
    Announced, Delivery, Generation, Interest, Node, Peer, Publication, Refusal, Settlement,
    Snapshot, Source, View,
};

use crate::lock::lock;

/// A source that is none of ours: it has the trait, one publication for everybody, and writes down what it hears.
#[derive(Clone, Debug, Default)]
pub(super) struct Own(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    publication: Option<Publication>,
    last: Generation,
    heard: Vec<String>,
    refuses: bool,
    views: usize,
    after_load: Hook,
    /// How many streams have to be woken.
    unannounced: usize,
    budgets: Vec<usize>,
    announcers: Vec<Waker>,
}

/// Runs once, after a view was loaded.
#[derive(Default)]
struct Hook(Option<Box<dyn FnOnce() + Send>>);

impl Own {
    pub(super) fn publish(&self, snapshot: Snapshot) -> Generation {
        let mut state = lock(&self.0);
        let publication = match &state.publication {
            Some(previous) => previous.next(snapshot),
            None => Publication::first_after(state.last, snapshot),
        };
        state.last = publication.generation();
        state.publication = Some(publication);
        state.last
    }

    pub(super) fn redecorate(&self, snapshot: Snapshot) {
        let mut state = lock(&self.0);
        let held = state.publication.take();
        state.publication = held.map(|held| held.redecorated(snapshot));
    }

    pub(super) fn clear(&self) {
        lock(&self.0).publication = None;
    }

    pub(super) fn refuse(&self) {
        lock(&self.0).refuses = true;
    }

    pub(super) fn views(&self) -> usize {
        lock(&self.0).views
    }

    pub(super) fn heard(&self) -> Vec<String> {
        mem::take(&mut lock(&self.0).heard)
    }

    pub(super) fn after_load(&self, hook: impl FnOnce() + Send + 'static) {
        lock(&self.0).after_load = Hook(Some(Box::new(hook)));
    }

    /// Has this many streams to wake from now on.
    pub(super) fn note(&self, streams: usize) {
        let mut state = lock(&self.0);
        state.unannounced += streams;
        let announcers = mem::take(&mut state.announcers);
        drop(state);
        announcers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn unannounced(&self) -> usize {
        lock(&self.0).unannounced
    }

    /// The budgets that it was given since this was last asked.
    pub(super) fn budgets(&self) -> Vec<usize> {
        mem::take(&mut lock(&self.0).budgets)
    }

    pub(super) fn announcers(&self) -> usize {
        lock(&self.0).announcers.len()
    }
}

impl Source for Own {
    fn open(&self, _: &Arc<Node>, _: &Peer, _: Waker) -> Result<Box<dyn View>, Refusal> {
        let mut state = lock(&self.0);
        if state.refuses {
            return Err(Refusal::denied("not you"));
        }
        state.views += 1;
        Ok(Box::new(OwnView(self.clone())))
    }

    fn announce(&self, budget: usize) -> Announced {
        let mut state = lock(&self.0);
        state.budgets.push(budget);
        state.unannounced = state.unannounced.saturating_sub(budget);
        match state.unannounced {
            0 => Announced::All,
            _ => Announced::More,
        }
    }

    fn register_announcer(&self, waker: Waker) {
        lock(&self.0).announcers.push(waker);
    }
}

#[derive(Debug)]
struct OwnView(Own);

impl OwnView {
    fn hear(&self, line: String) {
        lock(&self.0.0).heard.push(line);
    }
}

impl View for OwnView {
    fn load(&self) -> Option<Publication> {
        let mut state = lock(&self.0.0);
        let (publication, hook) = (state.publication.clone(), state.after_load.0.take());
        drop(state);
        if let Some(hook) = hook {
            hook();
        }
        publication
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        self.hear(format!("wants {:?}", interest.added));
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        let (outcome, generation) = (delivery.outcome, delivery.generation.get());
        self.hear(format!("{outcome:?} of {generation}"));
    }

    fn settled(&mut self, settlement: Settlement) {
        let rejecting = match settlement.is_rejecting() {
            true => ", rejecting",
            false => "",
        };
        let generation = settlement.generation().get();
        self.hear(format!("settled on {generation}{rejecting}"));
    }
}

impl Drop for OwnView {
    fn drop(&mut self) {
        lock(&self.0.0).views -= 1;
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hook").field(&self.0.is_some()).finish()
    }
}
