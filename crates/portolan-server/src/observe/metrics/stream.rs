use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::Gauge;
use portolan_core::{Generation, TypeUrl};
use portolan_engine::{Event, Reason, Release};
use tokio::time::Instant;

use super::series::{MethodSeries, Series};
use super::table;
use crate::{Callbacks, CloseReason, RequestInfo, ResponseInfo, StreamInfo, TurnInfo, TurnOutcome};

/// Measures one stream. What it has added to gauges it takes away when the stream is closed.
#[derive(Debug)]
pub(crate) struct StreamMetrics {
    series: Arc<MethodSeries>,
    streams: Gauge,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The types of which the stream wants something, and how many names. The session bounds them.
    wanted: Vec<(TypeUrl, usize)>,
    rejecting: bool,
    /// The first publication of which the stream is still to be sent something.
    unanswered: Option<Unanswered>,
    /// The first publication of which it was sent something since it was last at rest, and its notice.
    unsettled: Option<(Generation, Instant)>,
}

#[derive(Debug)]
struct Unanswered {
    noticed: Instant,
    /// Whether all that there is to say of it waits, so that answers to requests are not about it.
    held: bool,
}

impl StreamMetrics {
    pub(crate) fn new(series: &Series, stream: &StreamInfo) -> Self {
        let series = series.of_method(stream.method());
        Self {
            streams: table::STREAMS.gauge_of(&[stream.service(), series.method]),
            series,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interest(&self, url: &TypeUrl, added: usize, removed: usize, wildcard: bool) {
        let series = self.series.of_type(url.as_str());
        let mut state = self.state();
        let place = state.wanted.iter().position(|(wanted, _)| wanted == url);
        let before = place.map_or(0, |place| state.wanted[place].1);
        let names = (before + added).saturating_sub(removed);
        match (place, names > 0 || wildcard) {
            (None, true) => {
                state.wanted.push((url.clone(), names));
                series.subscriptions.increment(1.0);
            }
            (Some(place), false) => {
                state.wanted.swap_remove(place);
                series.subscriptions.decrement(1.0);
            }
            (Some(place), true) => state.wanted[place].1 = names,
            (None, false) => {}
        }
        drop(state);
        series.names.increment(names as f64 - before as f64);
    }

    fn set_rejecting(&self, rejecting: bool) {
        let before = std::mem::replace(&mut self.state().rejecting, rejecting);
        match (before, rejecting) {
            (false, true) => self.series.rejecting.increment(1.0),
            (true, false) => self.series.rejecting.decrement(1.0),
            _ => {}
        }
    }

    fn settled(&self, generation: Generation, rejecting: bool) {
        self.set_rejecting(rejecting);
        // A response may have been sent of the next publication by the time that this one is told to be settled.
        let is_settled = |(sent, _): &mut (Generation, Instant)| *sent <= generation;
        let unsettled = self.state().unsettled.take_if(is_settled);
        if let Some((_, noticed)) = unsettled {
            let histogram = match rejecting {
                false => &self.series.notice_to_accepted,
                true => &self.series.notice_to_rejecting,
            };
            histogram.record(noticed.elapsed());
        }
    }
}

impl Callbacks for StreamMetrics {
    fn stream_opened(&self, stream: &StreamInfo) {
        self.streams.increment(1.0);
        let opened = table::OPENED.counter_of(&[stream.service(), self.series.method]);
        opened.increment(1);
    }

    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        self.streams.decrement(1.0);
        let labels = [stream.service(), self.series.method, reason.name()];
        table::CLOSED.counter_of(&labels).increment(1);
        self.set_rejecting(false);
        for (url, names) in std::mem::take(&mut self.state().wanted) {
            let series = self.series.of_type(url.as_str());
            series.subscriptions.decrement(1.0);
            series.names.decrement(names as f64);
        }
    }

    fn request(&self, _: &StreamInfo, request: &RequestInfo<'_>) {
        let series = self.series.of_type(request.type_url());
        series.requests.increment(1);
        series.request_bytes.increment(request.message_len() as u64);
    }

    fn turn(&self, _: &StreamInfo, turn: &TurnInfo) {
        self.series.superseded.increment(turn.superseded());
        let mut state = self.state();
        match turn.outcome() {
            TurnOutcome::Quiet => {
                state.unanswered = None;
                drop(state);
                let suppressed = u64::from(turn.is_first_look());
                self.series.suppressed.increment(suppressed);
            }
            outcome if turn.is_first_look() => {
                let held = outcome == TurnOutcome::Held;
                let unanswered = turn.noticed.map(|noticed| Unanswered { noticed, held });
                state.unanswered = state.unanswered.take().or(unanswered);
            }
            _ => {}
        }
    }

    fn response(&self, _: &StreamInfo, response: &ResponseInfo<'_>) {
        let series = self.series.of_type(response.type_url().as_str());
        let responses = match response.reason() {
            Reason::Changed => &series.changed,
            Reason::Refresh => &series.refresh,
            _ => &series.owed,
        };
        responses.increment(1);
        series
            .response_bytes
            .increment(response.message_len() as u64);
        let mut state = self.state();
        let changed = response.reason() == Reason::Changed;
        let refresh = response.reason() == Reason::Refresh;
        let answered = state
            .unanswered
            .take_if(|u| !refresh && (changed || !u.held));
        if let Some(Unanswered { noticed, .. }) = answered {
            let sent = (response.generation(), noticed);
            state.unsettled.get_or_insert(sent);
            drop(state);
            self.series.notice_to_response.record(noticed.elapsed());
        }
    }

    fn event(&self, _: &StreamInfo, event: &Event) {
        let of_type = |url: &TypeUrl| self.series.of_type(url.as_str());
        match event {
            Event::Interest {
                type_url,
                added,
                removed,
                wildcard,
            } => self.interest(type_url, added.len(), removed.len(), *wildcard),
            Event::Acked { type_url, .. } => of_type(type_url).acks.increment(1),
            Event::Nacked { type_url, .. } => {
                of_type(type_url).nacks.increment(1);
                self.set_rejecting(true);
            }
            Event::Held { type_url } => of_type(type_url).held.increment(1),
            Event::Withheld { type_url, .. } => of_type(type_url).withheld.increment(1),
            Event::Permitted {
                type_url,
                ready: false,
                ..
            } => of_type(type_url).withheld_expired.increment(1),
            Event::Retained {
                type_url, names, ..
            } => of_type(type_url).retained.increment(names.len() as u64),
            Event::Released {
                type_url,
                names,
                because: Release::Silence,
            } => of_type(type_url).abandoned.increment(names.len() as u64),
            Event::Empty {
                type_url, names, ..
            } => of_type(type_url).empty.increment(names.len() as u64),
            Event::Settled {
                generation,
                rejecting,
            } => self.settled(*generation, *rejecting),
            _ => {}
        }
    }
}
