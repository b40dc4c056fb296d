use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use portolan_engine::{Scope, Unsettled};

/// Most nodes that are remembered. One that is forgotten is believed, as every node is after a restart of the server.
const MAX_NODES: usize = 10_000;

/// What nodes left unsettled when their last stream ended. Locked when streams open and end, and at no other time.
#[derive(Debug, Default)]
pub(crate) struct UnsettledNodes(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    nodes: HashMap<String, Left>,
    /// The nodes by when they left, oldest first.
    order: BTreeMap<u64, String>,
    last: u64,
}

#[derive(Debug)]
struct Left {
    when: u64,
    unsettled: Vec<Unsettled>,
}

impl UnsettledNodes {
    /// Notes what a node left behind. A node without an id is nobody.
    pub(crate) fn remember(&self, node: &str, unsettled: Vec<Unsettled>) {
        if node.is_empty() || unsettled.is_empty() {
            return;
        }
        let mut memory = self.memory();
        let mut all = memory.forget(node);
        // Several streams of a node may end; of a type the last word counts.
        all.retain(|old| unsettled.iter().all(|new| new.type_url() != old.type_url()));
        all.extend(unsettled);
        memory.note(node, all);
    }

    /// What is remembered of a node that a stream of this scope is about, which is not remembered any longer.
    pub(crate) fn take(&self, node: &str, scope: &Scope) -> Vec<Unsettled> {
        let mut memory = self.memory();
        let left = memory.forget(node);
        let Scope::Single(only) = scope else {
            return left;
        };
        let (taken, rest) = left.into_iter().partition(|u| u.type_url() == only.url());
        memory.note(node, rest);
        taken
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn note(&mut self, node: &str, unsettled: Vec<Unsettled>) {
        if unsettled.is_empty() {
            return;
        }
        self.last += 1;
        let when = self.last;
        self.order.insert(when, node.to_owned());
        self.nodes.insert(node.to_owned(), Left { when, unsettled });
        if self.order.len() > MAX_NODES
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.nodes.remove(&oldest);
        }
    }

    fn forget(&mut self, node: &str) -> Vec<Unsettled> {
        let Some(left) = self.nodes.remove(node) else {
            return Vec::new();
        };
        self.order.remove(&left.when);
        left.unsettled
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use portolan_core::well_known::{CLUSTER, ENDPOINT};
    use portolan_core::{Publication, Resource, ResourceTypes, Snapshot, View};
    use portolan_engine::{Session, SessionConfig, SotwRequest, Variant};

    use super::*;

    #[derive(Debug)]
    struct Fixed(Publication);

    impl View for Fixed {
        fn load(&self) -> Option<Publication> {
            Some(self.0.clone())
        }
    }

    /// What a client leaves that was sent a cluster and said nothing.
    fn unsettled() -> Vec<Unsettled> {
        let mut snapshot = Snapshot::builder();
        snapshot
            .insert(Resource::builder(CLUSTER, "a", &b"1"[..]))
            .unwrap();
        let view = Fixed(Publication::first(snapshot.build()));
        let config = Arc::new(SessionConfig::default());
        let mut session = Session::new(Variant::Sotw, Scope::Aggregated, config);
        let mut request = SotwRequest::default();
        request.type_url = CLUSTER.to_string();
        session.handle_request(request.into()).unwrap();
        assert!(session.poll_response(Duration::ZERO, &view).is_some());
        session.unsettled()
    }

    #[test]
    fn what_a_node_left_is_taken_once() {
        let nodes = UnsettledNodes::default();
        nodes.remember("n", unsettled());
        nodes.remember("n", unsettled());
        assert_eq!(nodes.take("n", &Scope::Aggregated).len(), 1);
        assert!(nodes.take("n", &Scope::Aggregated).is_empty());
        nodes.remember("", unsettled());
        assert!(nodes.take("", &Scope::Aggregated).is_empty());
    }

    #[test]
    fn a_stream_of_one_type_takes_what_is_of_that_type() {
        let nodes = UnsettledNodes::default();
        nodes.remember("n", unsettled());
        let types = ResourceTypes::well_known();
        let of = |url| nodes.take("n", &Scope::Single(types.get(url)));
        assert!(of(ENDPOINT).is_empty());
        assert_eq!(of(CLUSTER).len(), 1);
        assert!(of(CLUSTER).is_empty());
    }

    #[test]
    fn the_node_that_left_longest_ago_is_forgotten_first() {
        let nodes = UnsettledNodes::default();
        for n in 0..MAX_NODES {
            nodes.remember(&n.to_string(), unsettled());
        }
        nodes.remember("0", unsettled());
        nodes.remember("one more", unsettled());
        assert!(nodes.take("1", &Scope::Aggregated).is_empty());
        assert_eq!(nodes.take("0", &Scope::Aggregated).len(), 1);
        let memory = nodes.memory();
        assert_eq!(memory.nodes.len(), memory.order.len());
    }
}
