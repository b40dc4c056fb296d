//! The loop around a session: a stream's task once the stream is open.
//!
//! It holds no protocol state and takes no protocol decision. What it does, and in which order, is all there is:
//!
//! 1. It waits for any of: a request, a signal (source changed, transport wants something, transport gone), a deadline
//!    (the session's, the client's to read, the stream's maximum age), the drain.
//! 2. What there is goes into the session: the request, then the change, then the time.
//! 3. The session's events go to the log, the source and the observers.
//! 4. If the transport wants something, one response is computed from the newest data and handed over.
//! 5. If nothing more is to be read or the stream is to end, and there is nothing left to say, it ends.
//!
//! Everything that came in is looked at in each turn, whichever of it ended the wait, so that none of it can keep
//! another waiting: a client that floods the server with requests still gets its responses and is still drained.

use std::sync::Arc;
use std::time::Duration;

use portolan_core::{Delivery, DeliveryOutcome, Node, View as _};
use portolan_engine::{Scope, Session};
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use super::events::tell;
use super::opening::{Opened, admit};
use super::signal::Flag;
use super::watched::WatchedView;
use super::{Call, LINGER, MAX_LOGGED, OpenStream, reached};
use crate::text::cut;
use crate::wire::{Inbound, NodeWatch, Requests, frame, parse_node};
use crate::{CloseReason, RequestInfo, ResponseInfo, TurnOutcome};

/// Events told before the next look at requests and transport. A request or a response gives rise to a handful.
const EVENTS_PER_TURN: usize = 64;

#[derive(Debug)]
pub(super) struct Driver<'a> {
    stream: &'a mut OpenStream,
    requests: &'a mut Requests,
    session: Session,
    view: WatchedView,
    scope: Scope,
    /// What further requests are admitted by, where they have to be.
    call: Option<Box<Call>>,
    node: Arc<Node>,
    nodes: NodeWatch,
    inbound: Option<Inbound>,
    /// The session's clock starts with the stream.
    epoch: Instant,
    ending: Option<Ending>,
    answered: bool,
    events_left: bool,
}

/// Why a stream is about to end, and when it does at the latest, whether the transport has asked for the rest or not.
#[derive(Debug)]
struct Ending {
    reason: CloseReason,
    latest: Instant,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        stream: &'a mut OpenStream,
        requests: &'a mut Requests,
        opened: Opened,
    ) -> Self {
        let server = &stream.server;
        let (method, scope) = (opened.call.method, opened.call.scope.clone());
        let (config, node) = (&server.config, &opened.node);
        let session = &server.session;
        let session = config.transitions.session(session, node, &opened.call.peer);
        let mut session = Session::new(method.variant(), scope.clone(), session);
        session.set_features(config.features.of(node));
        session.set_parameters(config.parameters.of(node));
        session.distrust(server.unsettled.take(opened.node.id(), &scope));
        let view = WatchedView::new(opened.view, server.announcer.notices());
        let again = server.config.admission_per_request;
        Self {
            stream,
            requests,
            session,
            view,
            scope,
            call: again.then_some(opened.call),
            node: opened.node,
            nodes: opened.nodes,
            inbound: Some(opened.first),
            epoch: Instant::now(),
            ending: None,
            answered: false,
            events_left: false,
        }
    }

    /// Serves the stream until it ends, and says why it did.
    pub(super) async fn run(&mut self) -> CloseReason {
        let reason = self.serve().await;
        let unsettled = self.session.unsettled();
        let nodes = &self.stream.server.unsettled;
        nodes.remember(self.node.id(), unsettled);
        reason
    }

    async fn serve(&mut self) -> CloseReason {
        loop {
            match self.turn() {
                Ok(Turn::Sent) => {}
                Ok(Turn::Idle) => {
                    if let Some(reason) = self.ended() {
                        return reason;
                    }
                }
                Err(reason) => return reason,
            }
            // Keeps a stream that always has something to do from holding its thread.
            consume_budget().await;
            if let Err(reason) = self.wait().await {
                return reason;
            }
        }
    }

    /// Steps 2 to 4.
    fn turn(&mut self) -> Result<Turn, CloseReason> {
        let now = self.epoch.elapsed();
        if let Some(inbound) = self.inbound.take() {
            self.request(inbound)?;
        }
        if let Some(moment) = self.stream.signal.take_changed() {
            self.view.notice(moment);
            self.stream.record.noticed();
            self.session.handle_change();
        }
        if self.session.poll_timeout().is_some_and(|due| due <= now) {
            self.session.handle_timeout(now);
        }
        self.tell_events();
        let sent = self.respond(now)?;
        self.tell_events();
        Ok(sent)
    }

    fn request(&mut self, inbound: Inbound) -> Result<(), CloseReason> {
        if let Some(raw) = inbound.node.clone().filter(|raw| self.nodes.differs(raw)) {
            let node = parse_node(raw, self.stream.server.config.max_node_size)?;
            let id = cut(node.id(), MAX_LOGGED);
            tracing::debug!(id, "another node on the stream; ignored");
            self.stream
                .observe(|callbacks, stream| callbacks.node_changed(stream, &node));
        }
        let info = RequestInfo::of(&self.scope, &inbound);
        tracing::trace!(
            type_url = cut(info.type_url, MAX_LOGGED),
            nonce = cut(info.nonce(), MAX_LOGGED),
            len = info.message_len(),
            "request"
        );
        self.stream
            .observe(|callbacks, stream| callbacks.request(stream, &info));
        Ok(self.session.handle_request(inbound.request)?)
    }

    fn tell_events(&mut self) {
        self.events_left = false;
        for told in 0.. {
            if told == EVENTS_PER_TURN {
                self.events_left = true;
                return;
            }
            let Some(event) = self.session.poll_event() else {
                return;
            };
            tell(self.stream, &self.node, &mut self.view, &event);
        }
    }

    fn respond(&mut self, now: Duration) -> Result<Turn, CloseReason> {
        if !self.stream.outlet.is_wanted() {
            return Ok(Turn::Idle);
        }
        let response = self.session.poll_response(now, &self.view);
        self.tell_turn(response.is_some());
        let Some(response) = response else {
            return Ok(Turn::Idle);
        };
        let framed = frame(&response, &self.stream.server.config.control_plane)?;
        let info = ResponseInfo {
            response: &response,
            len: framed.len,
        };
        tracing::debug!(
            type_url = info.type_url().as_str(),
            version = %info.version(),
            nonce = %info.nonce(),
            resources = info.resources(),
            removed = info.removed(),
            len = info.message_len(),
            reason = ?info.reason(),
            "response"
        );
        self.stream.outlet.send(framed);
        self.answered = true;
        self.view.delivered(&Delivery::new(
            self.stream.info.id(),
            &self.node,
            info.type_url(),
            info.version(),
            info.generation(),
            DeliveryOutcome::Sent,
        ));
        self.stream
            .observe(|callbacks, stream| callbacks.response(stream, &info));
        Ok(Turn::Sent)
    }

    fn tell_turn(&mut self, answered: bool) {
        let outcome = match answered {
            true => TurnOutcome::Answered,
            false if self.session.is_holding() => TurnOutcome::Held,
            false => TurnOutcome::Quiet,
        };
        if let Some(turn) = self.view.take_turn(outcome) {
            self.stream
                .observe(|callbacks, stream| callbacks.turn(stream, &turn));
        }
    }

    /// Step 5: the transport has taken all there was to say, or had its time to.
    fn ended(&mut self) -> Option<CloseReason> {
        let ending = self
            .ending
            .take_if(|ending| self.stream.outlet.is_wanted() || ending.latest <= Instant::now())?;
        Some(self.whether_answered(ending.reason))
    }

    fn whether_answered(&self, reason: CloseReason) -> CloseReason {
        let answered = self.answered;
        match reason {
            CloseReason::Drained { .. } => CloseReason::Drained { answered },
            CloseReason::Expired { .. } => CloseReason::Expired { answered },
            reason => reason,
        }
    }

    /// Step 1.
    async fn wait(&mut self) -> Result<(), CloseReason> {
        if self.events_left {
            return Ok(());
        }
        let (goes_on, deadline) = (self.ending.is_none(), self.deadline());
        let OpenStream { signal, drain, .. } = &mut *self.stream;
        let request = tokio::select! {
            biased;
            request = self.requests.next(), if goes_on => Some(request?),
            () = signal.raised() => None,
            () = reached(deadline) => None,
            () = drain.due(), if goes_on => None,
        };
        if self.stream.signal.is_up(Flag::Gone) {
            return Err(CloseReason::Gone);
        }
        if self.stream.is_stalled() {
            return Err(CloseReason::Stalled);
        }
        match request {
            Some(Some(inbound)) => {
                self.admit(&inbound).await?;
                self.inbound = Some(inbound);
            }
            Some(None) => self.end(CloseReason::HalfClosed),
            None => {}
        }
        if self.stream.drain.is_due() {
            self.end(CloseReason::Drained { answered: false });
        }
        if self.stream.has_expired() {
            self.end(CloseReason::Expired { answered: false });
        }
        Ok(())
    }

    /// When there is something to do though nothing comes in.
    fn deadline(&self) -> Option<Instant> {
        let session = self.session.poll_timeout().map(|due| self.epoch + due);
        let end = match &self.ending {
            Some(ending) => Some(ending.latest),
            None => self.stream.expires,
        };
        let deadlines = [session, end, self.stream.stalls_at()];
        deadlines.into_iter().flatten().min()
    }

    /// Asks whether a further request is admitted, where the server is to ask each time. Nothing is sent meanwhile.
    async fn admit(&mut self, inbound: &Inbound) -> Result<(), CloseReason> {
        let Some(call) = &self.call else {
            return Ok(());
        };
        let request = RequestInfo::of(&self.scope, inbound);
        let admitted = admit(self.stream, call, &self.node, request).await;
        admitted.map_err(|reason| self.whether_answered(reason))
    }

    /// Nothing more is read; what there is left to say is still said.
    fn end(&mut self, reason: CloseReason) {
        let latest = Instant::now() + LINGER;
        self.ending.get_or_insert(Ending { reason, latest });
    }
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// A response was handed to the transport.
    Sent,
    /// There was nothing to say, or nobody to say it to.
    Idle,
}
