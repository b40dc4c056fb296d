use std::sync::Arc;

use portolan_core::Node;

/// What a group's observer knows of it, and what it should know.
///
/// A *run* is the time from a group's first stream to its last. The observer is told of one run at a time, by one
/// thread at a time, outside the group's lock; whoever changes something meanwhile leaves the telling to that thread.
/// Only the present run is remembered, so a flapping client cannot make this grow.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    run: Option<Run>,
    runs: u64,
    /// The run whose first node the observer was told of, and whose end it was not.
    told: Option<u64>,
    telling: bool,
}

#[derive(Debug)]
pub(super) struct Run {
    number: u64,
    /// Who opened it; let go once it was told.
    node: Option<Arc<Node>>,
}

#[derive(Debug)]
pub(super) enum Event {
    FirstNode(Arc<Node>),
    LastNodeLeft,
}

impl Lifecycle {
    pub(super) fn begin(&mut self, node: Arc<Node>) {
        self.runs += 1;
        self.run = Some(Run {
            number: self.runs,
            node: Some(node),
        });
    }

    pub(super) fn end(&mut self) -> Option<Run> {
        self.run.take()
    }

    /// What to tell the observer, where nobody is telling it already. After it was told, [`proceed`](Self::proceed).
    pub(super) fn claim(&mut self) -> Option<Event> {
        if self.telling { None } else { self.proceed() }
    }

    /// What to tell the observer next. With `None` the telling ends, and the next change has to claim it again.
    pub(super) fn proceed(&mut self) -> Option<Event> {
        let event = self.next();
        self.telling = event.is_some();
        event
    }

    /// Whether the observer knows of no run, and nobody is about to tell it of one.
    pub(super) fn is_settled(&self) -> bool {
        self.run.is_none() && self.told.is_none() && !self.telling
    }

    fn next(&mut self) -> Option<Event> {
        let present = self.run.as_ref().map(|run| run.number);
        if self.told == present {
            return None;
        }
        if self.told.take().is_some() {
            return Some(Event::LastNodeLeft);
        }
        let run = self.run.as_mut()?;
        self.told = Some(run.number);
        run.node.take().map(Event::FirstNode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str) -> Arc<Node> {
        Arc::new(Node::new(id))
    }

    fn first(event: Option<Event>) -> String {
        match event {
            Some(Event::FirstNode(node)) => node.id().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_thread_tells_at_a_time() {
        let mut lifecycle = Lifecycle::default();
        lifecycle.begin(node("a"));
        assert_eq!(first(lifecycle.claim()), "a");
        lifecycle.end();
        assert!(lifecycle.claim().is_none(), "somebody is telling");
        assert!(matches!(lifecycle.proceed(), Some(Event::LastNodeLeft)));
        assert!(lifecycle.proceed().is_none());
        assert!(lifecycle.is_settled());
    }

    #[test]
    fn a_run_that_nobody_was_told_of_is_skipped_and_its_node_forgotten() {
        let mut lifecycle = Lifecycle::default();
        lifecycle.begin(node("a"));
        assert_eq!(first(lifecycle.claim()), "a");
        for id in ["b", "c"] {
            lifecycle.end();
            lifecycle.begin(node(id));
        }
        assert!(matches!(lifecycle.proceed(), Some(Event::LastNodeLeft)));
        assert_eq!(first(lifecycle.proceed()), "c");
        assert!(lifecycle.proceed().is_none());
        assert!(!lifecycle.is_settled());
    }
}
