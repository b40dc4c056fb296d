use std::collections::BTreeMap;
use std::time::Duration;

use portolan_core::Snapshot;
use portolan_engine::{Event, ProtocolError, Request, Scope};

use super::Subject;
use super::bed::{Answer, Bed, Plan};
use crate::{Pair, PlainClient, Setup};

/// Sessions that read from a subject, in one thread.
pub(super) struct Simulation<'a, S: Subject> {
    make: &'a dyn Fn() -> S,
    subject: S,
    plan: Plan,
    streams: BTreeMap<usize, Pair<PlainClient>>,
    taken: BTreeMap<usize, usize>,
}

impl<'a, S: Subject> Simulation<'a, S> {
    pub(super) fn new(make: &'a dyn Fn() -> S, plan: Plan) -> Self {
        Self {
            make,
            subject: make(),
            plan,
            streams: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    fn stream(&mut self, stream: usize) -> &mut Pair<PlainClient> {
        let stream = self.streams.get_mut(&stream);
        stream.expect("a case opens a stream before it uses it")
    }
}

impl<S: Subject> Bed for Simulation<'_, S> {
    fn publish(&mut self, snapshot: Snapshot) {
        self.subject.publish(snapshot);
    }

    fn unpublish(&mut self) {
        self.subject.unpublish();
    }

    fn open(&mut self, stream: usize) {
        let source = self.subject.source();
        if let Some(pair) = self.streams.get_mut(&stream) {
            return pair.connect();
        }
        let scope = match &self.plan.single {
            Some(url) => Scope::Single(self.plan.config.types().get(url)),
            None => Scope::Aggregated,
        };
        let setup = Setup::default()
            .with_config(self.plan.config.clone())
            .with_node(self.plan.node.clone())
            .with_parameters(self.plan.parameters.clone())
            .with_scope(scope);
        let client = PlainClient::new(self.plan.variant).without_acks();
        self.streams
            .insert(stream, Pair::open(client, &source, setup));
    }

    fn restart(&mut self, snapshot: Option<Snapshot>) {
        self.subject = (self.make)();
        if let Some(snapshot) = snapshot {
            self.subject.publish(snapshot);
        }
        let source = self.subject.source();
        for pair in self.streams.values_mut() {
            pair.connect_to(&source);
        }
    }

    fn send(&mut self, stream: usize, request: Request) {
        self.stream(stream).client.send(request);
    }

    fn set_reading(&mut self, stream: usize, on: bool) -> bool {
        let pair = self.stream(stream);
        pair.set_reading(on);
        pair.set_window(if on { usize::MAX } else { 1 });
        true
    }

    fn settle(&mut self, time: Duration) {
        // A wake-up of one stream may have been taken out of the source while another was driven.
        for _ in 0..2 {
            self.streams.values_mut().for_each(Pair::drive);
        }
        for pair in self.streams.values_mut() {
            pair.advance(time);
        }
    }

    fn received(&mut self, stream: usize) -> Vec<Answer> {
        let Some(pair) = self.streams.get(&stream) else {
            return Vec::new();
        };
        let received = pair.client.received();
        let taken = self.taken.insert(stream, received.len()).unwrap_or(0);
        received[taken..].iter().map(Answer::from).collect()
    }

    fn ended(&mut self, stream: usize) -> Option<String> {
        self.stream(stream).error().map(|error| code(error).into())
    }

    fn told(&mut self, stream: usize) -> Option<Vec<Event>> {
        Some(self.stream(stream).take_events())
    }
}

fn code(error: &ProtocolError) -> &'static str {
    match error {
        ProtocolError::TooManyTypes { .. }
        | ProtocolError::TooManyNames { .. }
        | ProtocolError::NamesTooLong { .. } => "resource_exhausted",
        _ => "invalid_argument",
    }
}
