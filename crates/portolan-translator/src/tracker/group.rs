//! What is known of the streams of one group: a state machine without locks, clocks and tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::{Generation, Settlement, TypeUrl, ViewId};

use super::wait::Tally;
use super::{NodeOutcome, Rejection};

/// How many types' rejections are remembered of a stream. A client that rejects more at once is beyond being told apart
/// by them.
const MOST_REJECTIONS: usize = 8;

/// The streams of a group, and the waits for its nodes.
#[derive(Debug, Default)]
pub(super) struct Group {
    views: BTreeMap<ViewId, View>,
    /// The open streams of each node.
    nodes: BTreeMap<Arc<str>, Vec<ViewId>>,
    waits: BTreeMap<u64, GroupWait>,
    /// Those whose last node has settled and who have not been told.
    over: Vec<Arc<Tally>>,
}

#[derive(Debug)]
struct View {
    node: Arc<str>,
    settled: Option<Settlement>,
    /// The newest rejection of each type, oldest first.
    rejections: Vec<Rejected>,
}

#[derive(Debug)]
struct Rejected {
    rejection: Rejection,
    /// Whether something of the type was accepted afterwards. In state of the world that makes good what was rejected;
    /// in delta it need not.
    accepted_since: bool,
}

/// A wait, as far as it is for nodes of this group.
#[derive(Debug)]
struct GroupWait {
    /// The publication; `None` until it is known.
    target: Option<Generation>,
    nodes: BTreeMap<Arc<str>, NodeWait>,
    /// Nodes without an outcome.
    open: usize,
    tally: Arc<Tally>,
}

#[derive(Debug)]
enum NodeWait {
    /// What became of the publication on each open stream that has come to rest on it or a newer one.
    Open(BTreeMap<ViewId, NodeOutcome>),
    Over(NodeOutcome),
}

impl Group {
    pub(super) fn opened(&mut self, view: ViewId, node: &str) {
        let node = match self.nodes.get_key_value(node) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(node),
        };
        self.nodes.entry(Arc::clone(&node)).or_default().push(view);
        let view_of = View {
            node,
            settled: None,
            rejections: Vec::new(),
        };
        self.views.insert(view, view_of);
    }

    pub(super) fn closed(&mut self, view: ViewId) {
        let Some(View { node, .. }) = self.views.remove(&view) else {
            return;
        };
        if let Some(views) = self.nodes.get_mut(&node) {
            views.retain(|open| *open != view);
            if views.is_empty() {
                self.nodes.remove(&node);
            }
        }
        for wait in self.waits.values_mut() {
            if let Some(NodeWait::Open(rests)) = wait.nodes.get_mut(&node) {
                rests.remove(&view);
            }
        }
        self.conclude(&node);
    }

    pub(super) fn rejected(&mut self, view: ViewId, rejection: Rejection) {
        let Some(view) = self.views.get_mut(&view) else {
            return;
        };
        let rejections = &mut view.rejections;
        rejections.retain(|known| known.rejection.type_url() != rejection.type_url());
        if rejections.len() == MOST_REJECTIONS {
            rejections.remove(0);
        }
        rejections.push(Rejected {
            rejection,
            accepted_since: false,
        });
    }

    pub(super) fn accepted(&mut self, view: ViewId, type_url: &TypeUrl) {
        let view = self.views.get_mut(&view);
        let rejections = view.into_iter().flat_map(|view| &mut view.rejections);
        for known in rejections.filter(|known| known.rejection.type_url() == type_url) {
            known.accepted_since = true;
        }
    }

    pub(super) fn settled(&mut self, id: ViewId, settlement: Settlement) {
        let Some(view) = self.views.get_mut(&id) else {
            return;
        };
        view.settled = Some(settlement);
        if !settlement.is_rejecting() {
            view.rejections.clear();
        }
        let node = Arc::clone(&view.node);
        for wait in self.waits.values_mut() {
            wait.note(id, view);
        }
        self.conclude(&node);
    }

    /// Begins to wait for the nodes that have streams now, all or these. Says whether there are any.
    pub(super) fn begin_wait(
        &mut self,
        number: u64,
        ids: Option<&BTreeSet<String>>,
        tally: &Arc<Tally>,
    ) -> bool {
        let is_meant = |node: &&Arc<str>| ids.is_none_or(|ids| ids.contains(&***node));
        let nodes = self.nodes.keys().filter(is_meant);
        let nodes: BTreeMap<_, _> = nodes
            .map(|node| (Arc::clone(node), NodeWait::Open(BTreeMap::new())))
            .collect();
        if nodes.is_empty() {
            return false;
        }
        tally.group_joins();
        let wait = GroupWait {
            target: None,
            open: nodes.len(),
            nodes,
            tally: Arc::clone(tally),
        };
        self.waits.insert(number, wait);
        true
    }

    /// The publication that a wait is for is known.
    pub(super) fn aim(&mut self, number: u64, target: Generation) {
        let Some(wait) = self.waits.get_mut(&number) else {
            return;
        };
        wait.target = Some(target);
        for (id, view) in &self.views {
            wait.note(*id, view);
        }
        let nodes: Vec<_> = wait.nodes.keys().cloned().collect();
        nodes.iter().for_each(|node| self.conclude(node));
    }

    /// Ends a wait, and says what became of the publication at each of its nodes.
    pub(super) fn end_wait(&mut self, number: u64) -> BTreeMap<Arc<str>, NodeOutcome> {
        let Some(wait) = self.waits.remove(&number) else {
            return BTreeMap::new();
        };
        if wait.open > 0 {
            self.over.push(wait.tally);
        }
        let outcome = |(node, state): (Arc<str>, NodeWait)| {
            let outcome = match state {
                NodeWait::Over(outcome) => outcome,
                NodeWait::Open(_) if self.nodes.contains_key(&node) => NodeOutcome::Pending,
                NodeWait::Open(_) => NodeOutcome::Gone,
            };
            (node, outcome)
        };
        wait.nodes.into_iter().map(outcome).collect()
    }

    /// Ends, in every wait, the waiting for a node all of whose streams have come to rest.
    fn conclude(&mut self, node: &Arc<str>) {
        let Some(views) = self.nodes.get(node) else {
            return;
        };
        for wait in self.waits.values_mut() {
            let Some(state) = wait.nodes.get_mut(node) else {
                continue;
            };
            let NodeWait::Open(rests) = state else {
                continue;
            };
            if !views.iter().all(|view| rests.contains_key(view)) {
                continue;
            }
            let rests = std::mem::take(rests).into_values();
            if let Some(outcome) = rests.reduce(NodeOutcome::and) {
                *state = NodeWait::Over(outcome);
                wait.open -= 1;
                if wait.open == 0 {
                    self.over.push(Arc::clone(&wait.tally));
                }
            }
        }
    }

    /// The waits that have become over for this group, to be told so.
    pub(super) fn take_over(&mut self) -> Vec<Arc<Tally>> {
        std::mem::take(&mut self.over)
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_empty(&self) -> bool {
        self.views.is_empty() && self.waits.is_empty()
    }
}

impl GroupWait {
    /// Notes where a stream has come to rest, the first time that is on the publication or a newer one.
    fn note(&mut self, id: ViewId, view: &View) {
        let (Some(target), Some(settled)) = (self.target, view.settled) else {
            return;
        };
        if settled.generation() < target {
            return;
        }
        if let Some(NodeWait::Open(rests)) = self.nodes.get_mut(&view.node) {
            rests
                .entry(id)
                .or_insert_with(|| view.outcome(target, settled));
        }
    }
}

impl View {
    fn outcome(&self, target: Generation, settled: Settlement) -> NodeOutcome {
        let rejections = match settled.is_rejecting() {
            true => self.standing_rejections(),
            false => Vec::new(),
        };
        match settled.generation() {
            by if by > target => NodeOutcome::Superseded { by, rejections },
            _ if settled.is_rejecting() => NodeOutcome::Nacked { rejections },
            _ => NodeOutcome::Acked,
        }
    }

    /// The rejections that may still stand, where some do: those that nothing was accepted after, or else all.
    fn standing_rejections(&self) -> Vec<Rejection> {
        let all_accepted = self.rejections.iter().all(|known| known.accepted_since);
        let standing = self.rejections.iter();
        let standing = standing.filter(|known| all_accepted || !known.accepted_since);
        standing.map(|known| known.rejection.clone()).collect()
    }
}
