use std::sync::Mutex;

use portolan_core::well_known::CLUSTER;
use portolan_core::{Delivery, DeliveryOutcome, DeliverySink, Generation, Settlement, ViewId};

use super::*;

/// Writes down what it hears. A rejection makes it panic.
#[derive(Debug, Default)]
struct Sink(Mutex<Vec<String>>);

impl Sink {
    fn note(&self, group: &str, view: ViewId, what: &str) {
        let line = format!("{group}/{} {what}", view.get());
        self.0.lock().unwrap().push(line);
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl DeliverySink<String> for Sink {
    fn opened(&self, group: &String, view: ViewId, node: &Node) {
        self.note(group, view, &format!("opened by {}", node.id()));
    }

    fn delivered(&self, group: &String, view: ViewId, delivery: &Delivery<'_>) {
        let accepted = delivery.outcome == DeliveryOutcome::Acked;
        assert!(accepted, "a sink's own fault");
        self.note(group, view, &format!("acked by {}", delivery.stream));
    }

    fn settled(&self, group: &String, view: ViewId, settlement: Settlement) {
        let generation = settlement.generation().get();
        self.note(group, view, &format!("settled on {generation}"));
    }

    fn closed(&self, group: &String, view: ViewId) {
        self.note(group, view, "closed");
    }
}

fn listened(sinks: &[Arc<Sink>]) -> (Writer, Reader) {
    let mut cache = SnapshotCache::new(NodeId::default());
    for sink in sinks {
        cache = cache.with_delivery_sink(Arc::<Sink>::clone(sink));
    }
    cache.split()
}

fn deliver(view: &mut dyn View, generation: Generation, outcome: DeliveryOutcome<'_>) {
    let (node, version) = (Node::new("a"), "1".into());
    view.delivered(&Delivery::new(
        7, &node, &CLUSTER, &version, generation, outcome,
    ));
}

#[test]
fn a_view_is_told_from_its_opening_to_its_end() {
    let sink = Arc::new(Sink::default());
    let (writer, reader) = listened(std::slice::from_ref(&sink));
    let mut stream = Stream::open(&reader, "a");
    let generation = writer.set(&key("a"), snapshot("1")).generation();
    deliver(&mut *stream.view, generation, DeliveryOutcome::Acked);
    stream.view.settled(Settlement::new(generation, false));
    drop(stream);
    assert_eq!(
        sink.heard(),
        [
            "a/0 opened by a",
            "a/0 acked by 7",
            "a/0 settled on 1",
            "a/0 closed"
        ]
    );
}

#[test]
fn views_have_numbers_of_their_own_across_groups_and_after_one_was_freed() {
    let sink = Arc::new(Sink::default());
    let (_, reader) = listened(std::slice::from_ref(&sink));
    let (a, b) = (Stream::open(&reader, "a"), Stream::open(&reader, "b"));
    drop((a, b));
    drop(Stream::open(&reader, "a"));
    let opened: Vec<_> = sink.heard();
    assert_eq!(opened[0], "a/0 opened by a");
    assert_eq!(opened[1], "b/1 opened by b");
    assert_eq!(opened[4], "a/2 opened by a");
}

#[test]
fn a_sink_that_panics_spoils_nothing_for_the_next() {
    let sinks: [Arc<Sink>; 2] = Default::default();
    let (writer, reader) = listened(&sinks);
    let mut stream = Stream::open(&reader, "a");
    let generation = writer.set(&key("a"), snapshot("1")).generation();
    sinks.iter().for_each(|sink| drop(sink.heard()));
    let nacked = DeliveryOutcome::Nacked("no such filter");
    deliver(&mut *stream.view, generation, nacked);
    deliver(&mut *stream.view, generation, DeliveryOutcome::Acked);
    for sink in &sinks {
        assert_eq!(sink.heard(), ["a/0 acked by 7"]);
    }
}
