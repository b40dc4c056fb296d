//! A client and a session at the two ends of a connection that exists in one thread only.

mod laws;
mod link;
mod setup;

use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use portolan_core::{
    Announced, Delivery, DeliveryOutcome, Interest, Peer, Settlement, Source, TypeUrl, View,
};
use portolan_engine::{
    ClientFeatures, Event, ProtocolError, Request, Response, Scope, Session, Unsettled,
};

use self::laws::Laws;
use self::link::Link;
pub use self::setup::Setup;
use crate::{Client, Transcript};

/// How many messages and timers may follow each other at one moment. More is a livelock.
const MAX_STEPS: usize = 10_000;

/// Streams that an announcer wakes at a time.
const ANNOUNCE: usize = 256;

/// A client, a session that serves it from a [`Source`], and a clock that moves when it is told to.
///
/// Nothing happens by itself: [`drive`](Self::drive) carries messages until both sides have nothing to say, and
/// [`advance`](Self::advance) lets time pass. What was said is in the [`Transcript`], what the session reported in
/// [`events`](Self::take_events). Every response is checked against the laws that hold for all streams, such as that
/// no name occurs in it twice.
///
/// ```
/// use portolan_core::well_known::CLUSTER;
/// use portolan_testkit::{Pair, PlainClient, Shelf, fixture};
///
/// let shelf = Shelf::new();
/// shelf.put([fixture::cluster("a"), fixture::cluster("b")]);
///
/// let mut pair = Pair::new(PlainClient::sotw(), &shelf);
/// pair.client.ask(&CLUSTER, ["a"]);
/// pair.drive();
/// pair.expect(["> CDS [a] v= n=", "< CDS v1 n1 [a]", "> ACK CDS n1"]);
///
/// // A change of what the client did not ask for is none of its business.
/// shelf.put([fixture::cluster("b").revision(2)]);
/// pair.drive();
/// pair.expect([""; 0]);
///
/// shelf.put([fixture::cluster("a").revision(2)]);
/// pair.drive();
/// pair.expect(["< CDS v2 n2 [a@2]", "> ACK CDS n2"]);
/// ```
///
/// # Panics
/// The methods that carry messages panic, with the transcript, on a livelock and on a response that breaks a law.
#[derive(Debug)]
pub struct Pair<C> {
    /// The client. What it queues is sent by the next [`drive`](Self::drive).
    pub client: C,
    source: Arc<dyn Source>,
    setup: Setup,
    now: Duration,
    stream: Option<Stream>,
    streams: u64,
    /// What the server remembers of the client between its streams.
    unsettled: Vec<Unsettled>,
    up: Link<Request>,
    down: Link<Response>,
    window: usize,
    reads: bool,
    sends: bool,
    events: Vec<Event>,
    error: Option<ProtocolError>,
    transcript: Transcript,
}

/// The server's side of a connection.
#[derive(Debug)]
struct Stream {
    session: Session,
    view: Box<dyn View>,
    woken: Arc<Flag>,
    laws: Laws,
}

#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<C: Client> Pair<C> {
    /// A client on a fresh aggregated stream.
    pub fn new<S: Source + Clone + 'static>(client: C, source: &S) -> Self {
        Self::open(client, source, Setup::default())
    }

    /// A client on a fresh stream that is set up otherwise.
    pub fn open<S: Source + Clone + 'static>(client: C, source: &S, setup: Setup) -> Self {
        let mut pair = Self {
            client,
            source: Arc::new(source.clone()),
            now: Duration::ZERO,
            stream: None,
            streams: 0,
            unsettled: Vec::new(),
            up: Link::new(setup.latency),
            down: Link::new(setup.latency),
            window: setup.window,
            reads: true,
            sends: true,
            events: Vec::new(),
            error: None,
            transcript: Transcript::new(setup.config.types().clone()),
            setup,
        };
        pair.connect();
        pair
    }

    /// The time since the pair was made.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// What was said.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The session; `None` while disconnected.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.stream.as_ref().map(|stream| &stream.session)
    }

    /// What the session reported since the last call of this.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Why the session ended the stream, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&ProtocolError> {
        self.error.as_ref()
    }

    /// Asserts that exactly these lines were added to the transcript since the last call of this.
    ///
    /// # Panics
    /// If others were, showing both.
    #[track_caller]
    pub fn expect<L: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = L>) {
        let expected: Vec<_> = lines.into_iter().map(|l| l.as_ref().to_owned()).collect();
        let said = self.transcript.take();
        assert!(
            said == expected,
            "the transcript differs\nexpected:\n  {}\nsaid:\n  {}\n",
            expected.join("\n  "),
            said.join("\n  "),
        );
    }

    /// Asserts that nothing was said since the last call of this or of [`expect`](Self::expect).
    ///
    /// # Panics
    /// If something was.
    #[track_caller]
    pub fn expect_quiet(&mut self) {
        self.expect([""; 0]);
    }

    /// Adds a line of the test's own to the transcript, behind `-- `.
    pub fn note(&mut self, text: impl Display) {
        self.transcript.note(text);
    }

    /// Forgets what was said so far, for what [`expect`](Self::expect) will compare.
    pub fn skip(&mut self) {
        self.transcript.take();
    }

    /// Ends the stream: messages under way are lost, the source hears that its view is gone. The server remembers
    /// what the client left unsettled.
    pub fn disconnect(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.unsettled = stream.session.unsettled();
        }
        self.up.clear();
        self.down.clear();
    }

    /// Opens a stream in place of the one that there may be. The client is the same.
    ///
    /// # Panics
    /// If the source refuses the node.
    pub fn connect(&mut self) {
        self.disconnect();
        self.streams += 1;
        self.error = None;
        self.transcript.new_stream();
        if self.streams > 1 {
            self.transcript.note(format!("stream {}", self.streams));
        }
        let woken = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&woken));
        let opened = self.source.open(&self.setup.node, &Peer::unknown(), waker);
        let (scope, config) = (self.setup.scope.clone(), Arc::clone(&self.setup.config));
        let mut session = Session::new(self.client.variant(), scope, config);
        session.set_features(ClientFeatures::of(&self.setup.node));
        session.set_parameters(self.setup.parameters.clone());
        session.distrust(std::mem::take(&mut self.unsettled));
        self.stream = Some(Stream {
            session,
            view: opened.expect("the source of a test serves its node"),
            woken,
            laws: Laws::default(),
        });
        self.client.handle_connected(self.now);
    }

    /// As [`connect`](Self::connect), to a server that reads from another source: a replica, or one that restarted.
    pub fn connect_to<S: Source + Clone + 'static>(&mut self, source: &S) {
        self.disconnect();
        self.unsettled.clear();
        self.source = Arc::new(source.clone());
        self.connect();
    }

    /// Whether the client takes responses. While it does not, they stay in the connection.
    pub fn set_reading(&mut self, on: bool) {
        self.reads = on;
    }

    /// Whether the client's requests leave it. While they do not, they queue up, acknowledgements among them.
    pub fn set_sending(&mut self, on: bool) {
        self.sends = on;
    }

    /// How many responses fit into the connection before the client takes them. With none, the session is not asked
    /// for any.
    pub fn set_window(&mut self, responses: usize) {
        self.window = responses;
    }

    /// Carries messages until both sides are silent. Time moves only as far as messages travel.
    pub fn drive(&mut self) {
        self.drive_now();
        while let Some(arrival) = self.next_arrival() {
            self.set_time(arrival);
            self.drive_now();
        }
    }

    /// Lets time pass, carrying messages and letting timers fire as they come due.
    pub fn advance(&mut self, time: Duration) {
        let until = self.now + time;
        self.drive_now();
        let mut steps = 0;
        while let Some(next) = self.next_deadline().filter(|at| *at <= until) {
            steps += 1;
            self.check_livelock(steps);
            self.set_time(next.max(self.now));
            self.client.handle_timeout(self.now);
            if let Some(stream) = &mut self.stream {
                stream.session.handle_timeout(self.now);
                self.take_session_events();
            }
            self.drive_now();
        }
        self.set_time(until);
        self.drive_now();
    }

    fn set_time(&mut self, now: Duration) {
        if now != self.now {
            self.now = now;
            self.transcript.set_time(now);
        }
    }

    fn next_arrival(&self) -> Option<Duration> {
        let up = self.up.due();
        let down = self.down.due().filter(|_| self.reads);
        [up, down].into_iter().flatten().min()
    }

    fn next_deadline(&self) -> Option<Duration> {
        let session = self.session().and_then(Session::poll_timeout);
        let client = self.client.poll_timeout();
        [self.next_arrival(), session, client]
            .into_iter()
            .flatten()
            .min()
    }

    fn drive_now(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            self.check_livelock(steps);
        }
    }

    #[track_caller]
    fn check_livelock(&self, steps: usize) {
        assert!(
            steps < MAX_STEPS,
            "a livelock; the last lines:\n{}",
            self.tail(40)
        );
    }

    fn tail(&self, lines: usize) -> String {
        let all = self.transcript.lines();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// Carries one message. The session speaks before it hears more, as a driver that writes while it can would have
    /// it.
    fn step(&mut self) -> bool {
        while self.source.announce(ANNOUNCE) == Announced::More {}
        self.serve() || self.deliver() || self.submit()
    }

    /// Lets the session make one response, or handle one request.
    fn serve(&mut self) -> bool {
        let Some(stream) = &mut self.stream else {
            return false;
        };
        if stream.woken.0.swap(false, Ordering::Relaxed) {
            stream.session.handle_change();
        }
        if self.error.is_none() && self.down.len() < self.window {
            let response = stream.session.poll_response(self.now, &*stream.view);
            self.take_session_events();
            if let Some(response) = response {
                self.respond(response);
                return true;
            }
        }
        let Some(request) = self.up.receive(self.now) else {
            return false;
        };
        let Some(stream) = &mut self.stream else {
            return false;
        };
        self.transcript.request(&request);
        stream.laws.asked(type_of(&request, &self.setup.scope));
        if let Err(error) = stream.session.handle_request(request) {
            self.transcript.note(&error);
            self.error.get_or_insert(error);
        }
        self.take_session_events();
        true
    }

    fn respond(&mut self, response: Response) {
        self.transcript.response(&response);
        let variant = self.client.variant();
        let types = self.setup.config.types();
        if let Some(stream) = &mut self.stream {
            if let Err(law) = stream.laws.check(variant, types, &response) {
                panic!("a response breaks a law: {law}\n{}", self.tail(40));
            }
            let (node, number) = (&self.setup.node, self.streams);
            let (url, version) = (&response.type_url, &response.version);
            let sent = DeliveryOutcome::Sent;
            let generation = response.generation;
            let delivery = Delivery::new(number, node, url, version, generation, sent);
            stream.view.delivered(&delivery);
        }
        self.down.send(self.now, response);
    }

    fn deliver(&mut self) -> bool {
        let response = match self.reads {
            true => self.down.receive(self.now),
            false => None,
        };
        let delivered = response.is_some();
        if let Some(response) = response {
            self.client.handle_response(self.now, &response);
        }
        delivered
    }

    fn submit(&mut self) -> bool {
        if self.stream.is_none() || !self.sends {
            return false;
        }
        let request = self.client.poll_request();
        let submitted = request.is_some();
        if let Some(request) = request {
            self.up.send(self.now, request);
        }
        submitted
    }

    /// Takes what the session reports, and passes on what a source wants to hear.
    fn take_session_events(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        while let Some(event) = stream.session.poll_event() {
            let node = &self.setup.node;
            if let Some(delivery) = delivery(self.streams, node, &event) {
                stream.view.delivered(&delivery);
            }
            if let Event::Settled {
                generation,
                rejecting,
            } = event
            {
                stream.view.settled(Settlement::new(generation, rejecting));
            }
            if let Event::Interest {
                type_url,
                added,
                removed,
                wildcard,
            } = &event
            {
                let interest = Interest::new(type_url, added, removed, *wildcard);
                stream.view.interest(&interest);
            }
            self.events.push(event);
        }
    }
}

fn delivery<'a>(
    stream: u64,
    node: &'a portolan_core::Node,
    event: &'a Event,
) -> Option<Delivery<'a>> {
    let (type_url, version, generation, outcome) = match event {
        Event::Acked {
            type_url,
            version,
            generation,
            ..
        } => (type_url, version, generation, DeliveryOutcome::Acked),
        Event::Nacked {
            type_url,
            version,
            generation,
            message,
            ..
        } => (
            type_url,
            version,
            generation,
            DeliveryOutcome::Nacked(message),
        ),
        _ => return None,
    };
    Some(Delivery::new(
        stream,
        node,
        type_url,
        version,
        *generation,
        outcome,
    ))
}

/// The type of a request, which on a stream of one type may go without saying.
fn type_of(request: &Request, scope: &Scope) -> TypeUrl {
    let named = match request {
        Request::Sotw(request) => request.type_url.as_str(),
        Request::Delta(request) => request.type_url.as_str(),
        _ => "",
    };
    match scope {
        Scope::Single(only) if named.is_empty() => only.url().clone(),
        _ => TypeUrl::from(named),
    }
}
