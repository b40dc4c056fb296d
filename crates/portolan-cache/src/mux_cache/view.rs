use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use portolan_core::{
    Delivery, DeliveryOutcome, Generation, Interest, Publication, ResourceSet, Settlement, TypeUrl,
    View,
};

use super::Shared;
use super::composite::Composite;
use super::routes::Routes;
use super::trail::Trail;

/// How often the parts are read until none has gone on while another was being read.
const READS: usize = 4;

/// A stream's view of the parts that are for it, as one.
pub(super) struct MuxView {
    shared: Arc<Shared>,
    routes: Arc<Routes>,
    /// By part; `None` where the part serves the stream nothing.
    parts: Box<[Option<Part>]>,
    state: RefCell<State>,
    /// Types of which a response was rejected since the stream last was at rest with nothing rejected.
    rejected: BTreeSet<TypeUrl>,
}

struct Part {
    view: Box<dyn View>,
    settled: Option<Settlement>,
}

/// What the stream was shown last.
#[derive(Debug, Default)]
struct State {
    loaded: Loaded,
    shown: Option<Shown>,
    /// The number of the newest publication, also when there is none any more.
    last: Generation,
    trail: Trail,
}

#[derive(Debug)]
struct Shown {
    composite: Arc<Composite>,
    publication: Publication,
}

/// What each part had.
type Loaded = Box<[Option<Publication>]>;

impl MuxView {
    pub(super) fn new(
        shared: Arc<Shared>,
        routes: Arc<Routes>,
        parts: impl IntoIterator<Item = Option<Box<dyn View>>>,
    ) -> Self {
        let settled = None;
        let parts = parts.into_iter();
        Self {
            shared,
            routes,
            parts: parts
                .map(|view| view.map(|view| Part { view, settled }))
                .collect(),
            state: RefCell::default(),
            rejected: BTreeSet::new(),
        }
    }

    /// Reads the parts, where they have gone on since `before`, until all were found twice as they are, so that they are
    /// as they were at one moment: who writes to one and then to another is not seen to have written to the other
    /// alone. Parts that never pause are taken as they come.
    fn read(&self, before: &[Option<Publication>]) -> Option<Loaded> {
        let read = || -> Loaded {
            let parts = self.parts.iter();
            parts.map(|part| part.as_ref()?.view.load()).collect()
        };
        let mut last = read();
        if same(before, &last) {
            return None;
        }
        for _ in 1..READS {
            let next = read();
            if same(&last, &next) {
                break;
            }
            last = next;
        }
        Some(last)
    }

    fn compose(&self, loaded: &[Option<Publication>], shown: Option<&Shown>) -> Arc<Composite> {
        let values = loaded.iter().map(|p| p.as_ref().map(Publication::snapshot));
        let ids = values.clone().map(|value| Some(value?.id())).collect();
        self.routes.composite(ids, |last| {
            let values: Vec<_> = values.map(|value| value.cloned()).collect();
            let previous = shown.map(|shown| &*shown.composite).or(last);
            Composite::new(&self.routes, &values, &self.shared.unions, previous)
        })
    }
}

impl View for MuxView {
    fn load(&self) -> Option<Publication> {
        let mut state = self.state.borrow_mut();
        if let Some(loaded) = self.read(&state.loaded) {
            let is_published = loaded.iter().any(Option::is_some);
            let composite = is_published.then(|| self.compose(&loaded, state.shown.as_ref()));
            let former = state.go_on(loaded, composite);
            let before = former.as_ref().map(|shown| shown.composite.clashes());
            let after = state.shown.as_ref().map(|shown| shown.composite.clashes());
            let clashes = &self.shared.clashes;
            clashes.change(before.unwrap_or_default(), after.unwrap_or_default());
        }
        state.shown.as_ref().map(|shown| shown.publication.clone())
    }

    /// That of the one part that serves the type. What several parts amounted to is not remembered.
    fn history(&self, type_url: &TypeUrl) -> Vec<ResourceSet> {
        match self.routes.parts(type_url) {
            [part] => {
                let part = self.parts[*part].as_ref();
                part.map_or_else(Vec::new, |part| part.view.history(type_url))
            }
            _ => Vec::new(),
        }
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        for part in self.routes.parts(interest.type_url) {
            if let Some(part) = &mut self.parts[*part] {
                part.view.interest(interest);
            }
        }
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        let state = self.state.get_mut();
        match delivery.outcome {
            DeliveryOutcome::Sent => state.trail.note_sent(delivery.generation),
            DeliveryOutcome::Nacked(_) => drop(self.rejected.insert(delivery.type_url.clone())),
            _ => {}
        }
        let Some(generations) = state.trail.at(delivery.generation) else {
            return;
        };
        for part in self.routes.parts(delivery.type_url) {
            if let (Some(part), Some(generation)) = (&mut self.parts[*part], generations[*part]) {
                part.view.delivered(&Delivery::new(
                    delivery.stream,
                    delivery.node,
                    delivery.type_url,
                    delivery.version,
                    generation,
                    delivery.outcome,
                ));
            }
        }
    }

    fn settled(&mut self, settlement: Settlement) {
        let state = self.state.get_mut();
        if !settlement.is_rejecting() {
            self.rejected.clear();
        }
        let rejected = self.rejected.iter().flat_map(|url| self.routes.parts(url));
        let rejected: BTreeSet<_> = rejected.copied().collect();
        state.trail.settle(settlement.generation());
        let Some(generations) = state.trail.at(settlement.generation()) else {
            return;
        };
        for (at, part) in self.parts.iter_mut().enumerate() {
            if let (Some(part), Some(generation)) = (part, generations[at]) {
                let settlement = Settlement::new(generation, rejected.contains(&at));
                if part.settled.replace(settlement) != Some(settlement) {
                    part.view.settled(settlement);
                }
            }
        }
    }
}

impl Drop for MuxView {
    fn drop(&mut self) {
        if let Some(shown) = self.state.get_mut().shown.take() {
            let clashes = &self.shared.clashes;
            clashes.change(shown.composite.clashes(), &[]);
        }
    }
}

impl State {
    /// Takes what is newest, and gives back what was shown before.
    ///
    /// A publication of a part is one of the stream's, whatever is in it: the part is to hear when the stream has come to
    /// rest on it. Labels are no reason for one.
    fn go_on(&mut self, loaded: Loaded, composite: Option<Arc<Composite>>) -> Option<Shown> {
        let former = std::mem::replace(&mut self.loaded, loaded);
        let shown = self.shown.take();
        let Some(composite) = composite else {
            return shown;
        };
        let snapshot = composite.snapshot().clone();
        let publication = match &shown {
            Some(Shown { publication, .. })
                if generations(&former).eq(generations(&self.loaded))
                    && publication.snapshot().same_content(&snapshot) =>
            {
                publication.redecorated(snapshot)
            }
            Some(Shown { publication, .. }) => publication.next(snapshot),
            None => Publication::first_after(self.last, snapshot),
        };
        if publication.generation() != self.last {
            self.last = publication.generation();
            let parts = generations(&self.loaded).collect();
            self.trail.push(self.last, parts);
        }
        self.shown = Some(Shown {
            composite,
            publication,
        });
        shown
    }
}

fn generations(loaded: &[Option<Publication>]) -> impl Iterator<Item = Option<Generation>> {
    loaded
        .iter()
        .map(|p| p.as_ref().map(Publication::generation))
}

/// Whether the parts have not gone on from `a` to `b`.
fn same(a: &[Option<Publication>], b: &[Option<Publication>]) -> bool {
    let identity =
        |p: &Option<Publication>| p.as_ref().map(|p| (p.generation(), p.snapshot().id()));
    a.iter().map(identity).eq(b.iter().map(identity))
}

impl fmt::Debug for MuxView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().zip(&self.shared.names);
        let parts = parts.filter_map(|(view, name)| Some((name, &view.as_ref()?.view)));
        f.debug_map().entries(parts).finish()
    }
}
