//! One session per stream: the hub that joins the parts of the protocol, and holds none of it itself.

mod acknowledge;
mod bounds;
mod plan;
mod refresh;
mod request;
mod turn;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::{DynamicParameters, Generation, ResourceType, View};

pub(crate) use self::request::resolve;
use self::turn::Turn;
use crate::rendering::Rendering;
use crate::transition::Plan;
use crate::type_state::TypeState;
use crate::{
    ClientFeatures, Event, Nonce, ProtocolError, Request, Response, Scope, SessionConfig,
    Unsettled, Variant,
};

/// The protocol on one stream.
///
/// Synchronous and without clocks: time is passed in, as the time since any fixed moment of the driver's choice.
/// After each call of `handle_*` the answers of `poll_event`, `poll_response` and `poll_timeout` may have changed;
/// after `poll_response` those of `poll_event` and `poll_timeout`. A driver needs no state of its own:
///
/// 1. one of: a request came ([`handle_request`](Self::handle_request)), the view was woken
///    ([`handle_change`](Self::handle_change)), time is up ([`handle_timeout`](Self::handle_timeout));
/// 2. [`poll_event`](Self::poll_event) until `None`;
/// 3. while the stream can be written: [`poll_response`](Self::poll_response), and `poll_event` again;
/// 4. set a timer for [`poll_timeout`](Self::poll_timeout).
///
/// A response is computed when it is asked for, from the newest publication: a slow client skips what lies between.
///
/// ```
/// use core::time::Duration;
/// use std::sync::Arc;
///
/// use portolan_core::{Publication, Resource, Snapshot, View, well_known::CLUSTER};
/// use portolan_engine::{Request, Scope, Session, SessionConfig, SotwRequest, Variant};
///
/// #[derive(Debug)]
/// struct Fixed(Publication);
///
/// impl View for Fixed {
///     fn load(&self) -> Option<Publication> {
///         Some(self.0.clone())
///     }
/// }
///
/// let mut builder = Snapshot::builder();
/// builder.insert(Resource::builder(CLUSTER, "a", &b"\x0a\x01a"[..]))?;
/// let view = Fixed(Publication::first(builder.build()));
///
/// let mut session = Session::new(Variant::Sotw, Scope::Aggregated, Arc::new(SessionConfig::default()));
/// let mut request = SotwRequest::default();
/// request.type_url = CLUSTER.to_string();
/// session.handle_request(request.into())?;
///
/// let response = session.poll_response(Duration::ZERO, &view).expect("a first request is answered");
/// assert_eq!(response.resources.len(), 1);
/// assert!(session.poll_response(Duration::ZERO, &view).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    variant: Variant,
    scope: Scope,
    config: Arc<SessionConfig>,
    features: ClientFeatures,
    parameters: Arc<DynamicParameters>,
    /// Whether the client has sent locators: then it can read what has constraints (C-327).
    locates: bool,
    /// Sorted by [`TypeState::place`]: the order in which types are answered.
    types: Vec<TypeState>,
    events: VecDeque<Event>,
    /// Number of the newest response.
    sent: u64,
    /// The newest response that the client is known to have read.
    read: Option<Nonce>,
    /// Whether there may be something to say that the current turn does not cover.
    dirty: bool,
    turn: Option<Turn>,
    plan: Plan,
    /// The publication that was last told to be settled, and whether it is rejected in part.
    settled: Option<(Generation, bool)>,
    /// What the client says it has and is not believed; until it was sent again.
    distrusted: Vec<Unsettled>,
    failed: Option<ProtocolError>,
}

impl Session {
    /// A session for a stream that was just opened.
    #[must_use]
    pub fn new(variant: Variant, scope: Scope, config: Arc<SessionConfig>) -> Self {
        Self {
            variant,
            scope,
            config,
            features: ClientFeatures::default(),
            parameters: Arc::default(),
            locates: false,
            types: Vec::new(),
            events: VecDeque::new(),
            sent: 0,
            read: None,
            dirty: false,
            turn: None,
            plan: Plan::default(),
            settled: None,
            distrusted: Vec::new(),
            failed: None,
        }
    }

    /// Says what the client can do. Default: nothing that is not common to all. Call it before the first response.
    pub fn set_features(&mut self, features: ClientFeatures) {
        self.features = features;
    }

    /// Says what names stand for that the client subscribes without parameters: what is meant for clients with these (C-328).
    /// Default: none. Call it before the first request.
    pub fn set_parameters(&mut self, parameters: DynamicParameters) {
        self.parameters = Arc::new(parameters);
    }

    /// Does not believe what the client says it has of this from an earlier stream. Call it before the first request,
    /// with what [`unsettled`](Self::unsettled) gave when the client's last stream ended: a client names what it last
    /// accepted, though it may have applied half of what came after.
    pub fn distrust(&mut self, unsettled: impl IntoIterator<Item = Unsettled>) {
        self.distrusted.extend(unsettled);
    }

    /// What is not known of the client, should its stream end now: of each type at most one entry. What was distrusted
    /// and has not been sent since is still in it.
    #[must_use]
    pub fn unsettled(&self) -> Vec<Unsettled> {
        let mut all: Vec<_> = self.types.iter().filter_map(Unsettled::of).collect();
        for distrusted in &self.distrusted {
            let mut fresh = all.iter_mut();
            match fresh.find(|fresh| fresh.type_url() == distrusted.type_url()) {
                Some(fresh) => fresh.add(distrusted),
                None => all.push(distrusted.clone()),
            }
        }
        all
    }

    /// A request came.
    ///
    /// # Errors
    /// The client broke the protocol and its stream must end. Every later call gives the same error.
    pub fn handle_request(&mut self, request: Request) -> Result<(), ProtocolError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.dirty = true;
        let result = request::handle(self, request);
        if let Err(error) = &result {
            self.failed = Some(error.clone());
            self.turn = None;
        }
        result
    }

    /// The view may have something new.
    pub fn handle_change(&mut self) {
        self.dirty = true;
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.dirty |= self.plan.ring(now);
        for state in &mut self.types {
            self.dirty |= state.lives.ring(now);
            if let Some(nonce) = state.pace.expire(now, self.config.unread_after()) {
                self.dirty = true;
                self.events.push_back(Event::UnreadTooLong {
                    type_url: state.url().clone(),
                    nonce,
                });
            }
        }
    }

    /// What happened, in order. Take events after each other call, or they pile up.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next response; `None` while there is nothing to say. It counts as sent.
    ///
    /// Responses of one publication come in rank order: clusters, endpoints, listeners, routes. What the view gives
    /// anew is looked at when all types have been, so that one turn speaks of one publication.
    pub fn poll_response(&mut self, now: Duration, view: &dyn View) -> Option<Response> {
        if self.failed.is_some() {
            return None;
        }
        turn::next(self, now, view)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let wait = self.config.unread_after();
        let deadlines = |state: &TypeState| [state.pace.deadline(wait), state.lives.deadline()];
        let deadlines = self.types.iter().flat_map(deadlines);
        deadlines.flatten().chain(self.plan.deadline()).min()
    }

    /// Whether there is a change that waits for an earlier response to be read.
    #[must_use]
    pub fn is_holding(&self) -> bool {
        self.types.iter().any(|state| state.pace.is_waiting())
    }

    /// Number of names subscribed over all types.
    #[must_use]
    pub fn subscribed_names(&self) -> usize {
        self.types
            .iter()
            .map(|state| state.subscription.len())
            .sum()
    }

    /// How resources are written.
    fn rendering(&self) -> Rendering {
        Rendering {
            form: self.variant.entry_form(),
            timed: self.features.is_told_ttls(self.config.ttl(), self.variant),
            wrapped: self.locates,
        }
    }

    /// The state of a type, made if it is new to the stream.
    fn type_index(&mut self, resource_type: ResourceType) -> Result<usize, ProtocolError> {
        let place = (resource_type.rank(), resource_type.url());
        match self
            .types
            .binary_search_by(|state| state.place().cmp(&place))
        {
            Ok(at) => Ok(at),
            Err(_) if self.types.len() >= self.config.limits().types() => {
                let max = self.config.limits().types();
                Err(ProtocolError::TooManyTypes { max })
            }
            Err(at) => {
                let unacked = self.config.limits().unacked();
                let held = self.plan.unasked.remove(resource_type.url());
                let parameters = Arc::clone(&self.parameters);
                let mut state = TypeState::new(resource_type, self.variant, parameters, unacked);
                state.plan.held = held.unwrap_or_default();
                // They are large and few: room for more than there are would be most of what a stream keeps.
                self.types.reserve_exact(1);
                self.types.insert(at, state);
                Ok(at)
            }
        }
    }

    fn note_read(&mut self, nonce: Nonce) {
        self.read = self.read.max(Some(nonce));
    }
}
