use std::sync::{Arc, Once, OnceLock};

use metrics::{Counter, Gauge, Histogram};
use portolan_core::{ResourceType, ResourceTypes, TypeUrl};

use super::table;
use crate::Method;

/// The series of a server that are used again and again. Each is registered when it is first needed.
#[derive(Debug)]
pub(crate) struct Series {
    types: Arc<Types>,
    described: Once,
    stream: OnceLock<Arc<MethodSeries>>,
    delta: OnceLock<Arc<MethodSeries>>,
    fetch: OnceLock<Arc<MethodSeries>>,
}

impl Series {
    pub(crate) fn new(types: &ResourceTypes) -> Self {
        Self {
            types: Arc::new(Types::new(types)),
            described: Once::new(),
            stream: OnceLock::new(),
            delta: OnceLock::new(),
            fetch: OnceLock::new(),
        }
    }

    pub(super) fn of_method(&self, method: Method) -> Arc<MethodSeries> {
        let describe = || table::ALL.iter().for_each(|metric| metric.describe());
        self.described.call_once(describe);
        let (series, method) = match method {
            Method::Stream => (&self.stream, "stream"),
            Method::Delta => (&self.delta, "delta"),
            Method::Fetch => (&self.fetch, "fetch"),
        };
        let new = || Arc::new(MethodSeries::new(method, Arc::clone(&self.types)));
        Arc::clone(series.get_or_init(new))
    }
}

/// The series of one method.
#[derive(Debug)]
pub(super) struct MethodSeries {
    pub(super) method: &'static str,
    pub(super) rejecting: Gauge,
    pub(super) suppressed: Counter,
    pub(super) superseded: Counter,
    pub(super) notice_to_response: Histogram,
    pub(super) notice_to_accepted: Histogram,
    pub(super) notice_to_rejecting: Histogram,
    types: Arc<Types>,
    of_types: Box<[OnceLock<TypeSeries>]>,
}

impl MethodSeries {
    fn new(method: &'static str, types: Arc<Types>) -> Self {
        Self {
            method,
            rejecting: table::REJECTING.gauge_of(&[method]),
            suppressed: table::SUPPRESSED.counter_of(&[method]),
            superseded: table::SUPERSEDED.counter_of(&[method]),
            notice_to_response: table::NOTICE_TO_RESPONSE.histogram_of(&[method]),
            notice_to_accepted: table::NOTICE_TO_SETTLED.histogram_of(&[method, "accepted"]),
            notice_to_rejecting: table::NOTICE_TO_SETTLED.histogram_of(&[method, "rejecting"]),
            of_types: (0..types.len()).map(|_| OnceLock::new()).collect(),
            types,
        }
    }

    pub(super) fn of_type(&self, url: &str) -> &TypeSeries {
        let place = self.types.place(url);
        let new = || TypeSeries::new(self.types.label(place), self.method);
        self.of_types[place].get_or_init(new)
    }
}

/// The series of one type in one method.
#[derive(Debug)]
pub(super) struct TypeSeries {
    pub(super) subscriptions: Gauge,
    pub(super) names: Gauge,
    pub(super) requests: Counter,
    pub(super) request_bytes: Counter,
    pub(super) changed: Counter,
    pub(super) owed: Counter,
    pub(super) refresh: Counter,
    pub(super) response_bytes: Counter,
    pub(super) acks: Counter,
    pub(super) nacks: Counter,
    pub(super) held: Counter,
    pub(super) withheld: Counter,
    pub(super) withheld_expired: Counter,
    pub(super) retained: Counter,
    pub(super) abandoned: Counter,
    pub(super) empty: Counter,
}

impl TypeSeries {
    fn new(label: &str, method: &str) -> Self {
        let labels = &[label, method];
        Self {
            subscriptions: table::SUBSCRIPTIONS.gauge_of(labels),
            names: table::NAMES.gauge_of(labels),
            requests: table::REQUESTS.counter_of(labels),
            request_bytes: table::REQUEST_BYTES.counter_of(labels),
            changed: table::RESPONSES.counter_of(&[label, method, "changed"]),
            owed: table::RESPONSES.counter_of(&[label, method, "owed"]),
            refresh: table::RESPONSES.counter_of(&[label, method, "refresh"]),
            response_bytes: table::RESPONSE_BYTES.counter_of(labels),
            acks: table::ACKS.counter_of(labels),
            nacks: table::NACKS.counter_of(labels),
            held: table::HELD.counter_of(labels),
            withheld: table::WITHHELD.counter_of(labels),
            withheld_expired: table::WITHHELD_EXPIRED.counter_of(labels),
            retained: table::RETAINED.counter_of(labels),
            abandoned: table::ABANDONED.counter_of(labels),
            empty: table::EMPTY.counter_of(labels),
        }
    }
}

/// The registered types, sorted by URL, with what they are called in labels. All others share one place behind them:
/// a client can name as many as it likes.
#[derive(Debug)]
struct Types(Box<[(TypeUrl, Box<str>)]>);

impl Types {
    const OTHER: &'static str = "other";

    fn new(types: &ResourceTypes) -> Self {
        let labelled = |ty: &ResourceType| (ty.url().clone(), ty.short_name().into());
        let mut types: Box<[_]> = types.iter().map(labelled).collect();
        types.sort_unstable();
        Self(types)
    }

    /// Number of places.
    fn len(&self) -> usize {
        self.0.len() + 1
    }

    fn place(&self, url: &str) -> usize {
        let at = self
            .0
            .binary_search_by(|(known, _)| known.as_str().cmp(url));
        at.unwrap_or(self.0.len())
    }

    fn label(&self, place: usize) -> &str {
        self.0.get(place).map_or(Self::OTHER, |(_, label)| label)
    }
}
