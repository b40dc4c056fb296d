//! The loop around a session: a stream's task once the stream is open.
//!
//! It holds no protocol state and takes no protocol decision. What it does, and in which order, is all there is:
//!
//! 1. It waits for any of: a request, a signal (source changed, transport wants something, transport gone), the
//!    session's deadline, the drain.
//! 2. What there is goes into the session: the request, then the change, then the time.
//! 3. The session's events go to the log, the source and the observers.
//! 4. If the transport wants something, one response is computed from the newest data and handed over.
//! 5. If nothing more is to be read or the server is draining, and there is nothing left to say, it ends.
//!
//! Everything that came in is looked at in each turn, whichever of it ended the wait, so that none of it can keep
//! another waiting: a client that floods the server with requests still gets its responses and is still drained.

use std::sync::Arc;
use std::time::Duration;

use portolan_core::{Delivery, DeliveryOutcome, Node, View};
use portolan_engine::{Request, Scope, Session};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use super::events::tell;
use super::opening::Opened;
use super::signal::Flag;
use super::{LINGER, MAX_LOGGED, OpenStream};
use crate::text::cut;
use crate::wire::{Inbound, NodeWatch, Requests, frame, parse_node};
use crate::{CloseReason, RequestInfo, ResponseInfo};

/// Events told before the next look at requests and transport. A request or a response gives rise to a handful.
const EVENTS_PER_TURN: usize = 64;

#[derive(Debug)]
pub(super) struct Driver<'a> {
    stream: &'a mut OpenStream,
    requests: &'a mut Requests,
    session: Session,
    view: Box<dyn View>,
    scope: Scope,
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
        Self {
            stream,
            requests,
            session: opened.session,
            view: opened.view,
            scope: opened.scope,
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
        if self.stream.signal.take(Flag::Changed) {
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
        let Inbound { request, node, len } = inbound;
        if let Some(raw) = node.filter(|raw| self.nodes.differs(raw)) {
            let node = parse_node(raw, self.stream.server.config.max_node_size)?;
            let id = cut(node.id(), MAX_LOGGED);
            tracing::debug!(id, "another node on the stream; ignored");
            self.stream
                .observe(|callbacks, stream| callbacks.node_changed(stream, &node));
        }
        let info = RequestInfo {
            type_url: type_url(&self.scope, &request),
            request: &request,
            len,
        };
        tracing::trace!(
            type_url = cut(info.type_url, MAX_LOGGED),
            nonce = cut(info.nonce(), MAX_LOGGED),
            len,
            "request"
        );
        self.stream
            .observe(|callbacks, stream| callbacks.request(stream, &info));
        Ok(self.session.handle_request(request)?)
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
            tell(self.stream, &self.node, &mut *self.view, &event);
        }
    }

    fn respond(&mut self, now: Duration) -> Result<Turn, CloseReason> {
        if !self.stream.outlet.is_wanted() {
            return Ok(Turn::Idle);
        }
        let Some(response) = self.session.poll_response(now, &*self.view) else {
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

    /// Step 5: the transport has taken all there was to say, or had its time to.
    fn ended(&mut self) -> Option<CloseReason> {
        let ending = self
            .ending
            .take_if(|ending| self.stream.outlet.is_wanted() || ending.latest <= Instant::now())?;
        Some(match ending.reason {
            CloseReason::Drained { .. } => CloseReason::Drained {
                answered: self.answered,
            },
            reason => reason,
        })
    }

    /// Step 1.
    async fn wait(&mut self) -> Result<(), CloseReason> {
        if self.events_left {
            return Ok(());
        }
        let deadline = self.session.poll_timeout().map(|due| self.epoch + due);
        let latest = self.ending.as_ref().map(|ending| ending.latest);
        let OpenStream { signal, drain, .. } = &mut *self.stream;
        let request = tokio::select! {
            biased;
            request = self.requests.next(), if latest.is_none() => Some(request?),
            () = signal.raised() => None,
            () = sleep_until(deadline.unwrap_or(self.epoch)), if deadline.is_some() => None,
            () = sleep_until(latest.unwrap_or(self.epoch)), if latest.is_some() => None,
            () = drain.due(), if latest.is_none() => None,
        };
        if self.stream.signal.is_up(Flag::Gone) {
            return Err(CloseReason::Gone);
        }
        match request {
            Some(Some(inbound)) => self.inbound = Some(inbound),
            Some(None) => self.end(CloseReason::HalfClosed),
            None => {}
        }
        if self.stream.drain.is_due() {
            self.end(CloseReason::Drained { answered: false });
        }
        Ok(())
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

/// The type of a request, where it need not name it that of the service (C-037).
fn type_url<'a>(scope: &'a Scope, request: &'a Request) -> &'a str {
    let named = match request {
        Request::Sotw(request) => &*request.type_url,
        Request::Delta(request) => &*request.type_url,
        _ => "",
    };
    match scope {
        Scope::Single(resource_type) if named.is_empty() => resource_type.url().as_str(),
        _ => named,
    }
}
