//! What observing costs: nothing is allocated for what happens again and again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_core::{Node, Peer, Publication, Resource, Snapshot, View, well_known};
use portolan_engine::{
    Event, Request, Response, Scope, Session, SessionConfig, SotwRequest, Variant,
};

use super::{Observatory, StreamRecord, TurnInfo, TurnOutcome};
use crate::callbacks::ResponseInfo;
use crate::{Method, RequestInfo, StreamInfo};

/// What a publication gives rise to on a stream that has the one before it.
struct Push {
    turn: TurnInfo,
    response: Response,
    ack: Request,
    events: Vec<Event>,
}

#[derive(Clone, Debug, Default)]
struct Shelf(Arc<Mutex<Option<Publication>>>);

impl View for Shelf {
    fn load(&self) -> Option<Publication> {
        self.0.lock().unwrap().clone()
    }
}

fn request(nonce: &str) -> Request {
    let mut request = SotwRequest::default();
    request.type_url = well_known::CLUSTER.to_string();
    request.nonce = nonce.to_owned();
    request.into()
}

fn snapshot(body: u8) -> Snapshot {
    let mut builder = Snapshot::builder();
    let cluster = Resource::builder(well_known::CLUSTER, "a", vec![body]);
    builder.insert(cluster).unwrap();
    builder.build()
}

/// So many pushes, each acknowledged.
fn pushes(count: u8) -> Vec<Push> {
    let config = Arc::new(SessionConfig::default());
    let mut session = Session::new(Variant::Sotw, Scope::Aggregated, config);
    let shelf = Shelf::default();
    session.handle_request(request("")).unwrap();
    let mut publication = Publication::first(Snapshot::empty());
    let mut push = |body| {
        let previous = publication.generation();
        publication = publication.next(snapshot(body));
        *shelf.0.lock().unwrap() = Some(publication.clone());
        session.handle_change();
        let response = session.poll_response(Duration::ZERO, &shelf).unwrap();
        let ack = request(&response.nonce.to_string());
        session.handle_request(ack.clone()).unwrap();
        assert!(session.poll_response(Duration::ZERO, &shelf).is_none());
        let turn = TurnInfo {
            generation: publication.generation(),
            previous: Some(previous),
            noticed: Some(tokio::time::Instant::now()),
            outcome: TurnOutcome::Answered,
        };
        let events = std::iter::from_fn(|| session.poll_event()).collect();
        Push {
            turn,
            response,
            ack,
            events,
        }
    };
    (0..count).map(&mut push).collect()
}

/// Records a push as the driver does.
fn record(record: &StreamRecord, stream: &StreamInfo, push: &Push) {
    record.noticed();
    record.tell(|callbacks| callbacks.turn(stream, &push.turn));
    let response = ResponseInfo {
        response: &push.response,
        len: 100,
    };
    record.tell(|callbacks| callbacks.response(stream, &response));
    let ack = RequestInfo {
        type_url: push.response.type_url.as_str(),
        request: &push.ack,
        len: 100,
    };
    record.tell(|callbacks| callbacks.request(stream, &ack));
    for event in &push.events {
        record.tell(|callbacks| callbacks.event(stream, event));
    }
}

#[test]
fn recording_a_push_allocates_nothing() {
    let observatory = Observatory::new(&SessionConfig::default());
    let mut stream = StreamInfo::new("a.Service", Method::Stream, Peer::unknown(), Arc::default());
    stream.set_node(Arc::new(Node::new("n")));
    let streams = observatory.record(&stream);
    streams.tell(|callbacks| callbacks.stream_opened(&stream));
    streams.tell(|callbacks| callbacks.stream_admitted(&stream));
    let pushes = pushes(9);
    let told = |event: &Event| matches!(event, Event::Acked { .. } | Event::Settled { .. });
    assert!(pushes[1..].iter().all(|push| push.events.iter().all(told)));

    record(&streams, &stream, &pushes[0]);
    let allocated = allocation_counter::measure(|| {
        pushes[1..]
            .iter()
            .for_each(|push| record(&streams, &stream, push));
    });
    assert_eq!(allocated.count_total, 0);
    let node = observatory.status().node("n").unwrap();
    assert!(node.is_settled());
    let sent = node.streams()[0].types()[0].sent().unwrap().generation();
    assert_eq!(sent, pushes[8].turn.generation());
}
