//! Every metric that there is: the table of `docs/metrics.md`.

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Unit, with_recorder};

const METADATA: Metadata<'static> = Metadata::new("portolan", Level::INFO, None);

const SERVICE: &str = "service";
const METHOD: &str = "method";
const TYPE: &str = "type";
const REASON: &str = "reason";
const OUTCOME: &str = "outcome";

pub(super) const STREAMS: Metric = Metric::gauge(
    "portolan_streams",
    &[SERVICE, METHOD],
    "open streams, admitted or about to be",
);
pub(super) const OPENED: Metric = Metric::counter(
    "portolan_streams_opened_total",
    &[SERVICE, METHOD],
    "streams that were opened",
);
pub(super) const CLOSED: Metric = Metric::counter(
    "portolan_streams_closed_total",
    &[SERVICE, METHOD, REASON],
    "streams that ended, by why they did",
);
pub(super) const REJECTING: Metric = Metric::gauge(
    "portolan_rejecting_streams",
    &[METHOD],
    "streams whose client rejects something and has accepted nothing better since",
);
pub(super) const SUBSCRIPTIONS: Metric = Metric::gauge(
    "portolan_subscriptions",
    &[TYPE, METHOD],
    "pairs of a stream and a type of which it wants something",
);
pub(super) const NAMES: Metric = Metric::gauge(
    "portolan_subscribed_names",
    &[TYPE, METHOD],
    "names that streams subscribe, each counted once per stream",
);
pub(super) const REQUESTS: Metric = Metric::counter(
    "portolan_requests_total",
    &[TYPE, METHOD],
    "requests, acknowledgements included",
);
pub(super) const REQUEST_BYTES: Metric = Metric::counter(
    "portolan_request_bytes_total",
    &[TYPE, METHOD],
    "bytes of request messages",
);
pub(super) const RESPONSES: Metric = Metric::counter(
    "portolan_responses_total",
    &[TYPE, METHOD, REASON],
    "responses that were handed to the transport: `changed`, `owed` whatever changed, or a `refresh` of what has a TTL",
);
pub(super) const RESPONSE_BYTES: Metric = Metric::counter(
    "portolan_response_bytes_total",
    &[TYPE, METHOD],
    "bytes of response messages",
);
pub(super) const ACKS: Metric = Metric::counter(
    "portolan_acks_total",
    &[TYPE, METHOD],
    "responses that clients accepted",
);
pub(super) const NACKS: Metric = Metric::counter(
    "portolan_nacks_total",
    &[TYPE, METHOD],
    "responses that clients rejected, in whole or in part",
);
pub(super) const HELD: Metric = Metric::counter(
    "portolan_held_total",
    &[TYPE, METHOD],
    "times that changes had to wait until the client had read the previous ones of their type",
);
pub(super) const WITHHELD: Metric = Metric::counter(
    "portolan_withheld_total",
    &[TYPE, METHOD],
    "resources that had to wait until a cluster was ready",
);
pub(super) const WITHHELD_EXPIRED: Metric = Metric::counter(
    "portolan_withheld_expired_total",
    &[TYPE, METHOD],
    "resources that were sent though the cluster was not ready, because they had waited the longest they may",
);
pub(super) const RETAINED: Metric = Metric::counter(
    "portolan_retained_total",
    &[TYPE, METHOD],
    "resources that were gone and had to stay for a client",
);
pub(super) const ABANDONED: Metric = Metric::counter(
    "portolan_abandoned_total",
    &[TYPE, METHOD],
    "resources that were removed although the client had not left them, because it said nothing for the longest it may",
);
pub(super) const EMPTY: Metric = Metric::counter(
    "portolan_empty_total",
    &[TYPE, METHOD],
    "clusters that were left without endpoints, or newly led to while they had none",
);
pub(super) const SUPPRESSED: Metric = Metric::counter(
    "portolan_suppressed_total",
    &[METHOD],
    "publications that a stream looked at and of which it had nothing to be told",
);
pub(super) const SUPERSEDED: Metric = Metric::counter(
    "portolan_superseded_total",
    &[METHOD],
    "publications that a stream never looked at, because a newer one came first",
);
pub(super) const NOTICE_TO_RESPONSE: Metric = Metric::histogram(
    "portolan_notice_to_response_seconds",
    &[METHOD],
    "from the source's notice of a publication until its first response on a stream was handed to the transport",
);
pub(super) const NOTICE_TO_SETTLED: Metric = Metric::histogram(
    "portolan_notice_to_settled_seconds",
    &[METHOD, OUTCOME],
    "from the source's notice of a publication until the last acknowledgement on a stream: `accepted`, or `rejecting` some of it",
);

pub(super) const ALL: [&Metric; 22] = [
    &STREAMS,
    &OPENED,
    &CLOSED,
    &REJECTING,
    &SUBSCRIPTIONS,
    &NAMES,
    &REQUESTS,
    &REQUEST_BYTES,
    &RESPONSES,
    &RESPONSE_BYTES,
    &ACKS,
    &NACKS,
    &HELD,
    &WITHHELD,
    &WITHHELD_EXPIRED,
    &RETAINED,
    &ABANDONED,
    &EMPTY,
    &SUPPRESSED,
    &SUPERSEDED,
    &NOTICE_TO_RESPONSE,
    &NOTICE_TO_SETTLED,
];

/// A metric. Its labels have few values each, and a client can add none.
#[derive(Debug)]
pub(super) struct Metric {
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Metric {
    const fn counter(
        name: &'static str,
        labels: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: Kind::Counter,
            labels,
            about,
        }
    }

    const fn gauge(
        name: &'static str,
        labels: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: Kind::Gauge,
            labels,
            about,
        }
    }

    const fn histogram(
        name: &'static str,
        labels: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: Kind::Histogram,
            labels,
            about,
        }
    }

    /// Tells the recorder what the metric is.
    pub(super) fn describe(&self) {
        let unit = match self.name {
            name if name.ends_with("_bytes_total") => Unit::Bytes,
            name if name.ends_with("_seconds") => Unit::Seconds,
            _ => Unit::Count,
        };
        let (name, about) = (self.name.into(), self.about.into());
        with_recorder(|recorder| match self.kind {
            Kind::Counter => recorder.describe_counter(name, Some(unit), about),
            Kind::Gauge => recorder.describe_gauge(name, Some(unit), about),
            Kind::Histogram => recorder.describe_histogram(name, Some(unit), about),
        });
    }

    /// The series with these values of the metric's labels.
    pub(super) fn counter_of(&self, values: &[&str]) -> Counter {
        debug_assert_eq!(self.kind, Kind::Counter);
        with_recorder(|recorder| recorder.register_counter(&self.key(values), &METADATA))
    }

    /// As [`counter_of`](Self::counter_of).
    pub(super) fn gauge_of(&self, values: &[&str]) -> Gauge {
        debug_assert_eq!(self.kind, Kind::Gauge);
        with_recorder(|recorder| recorder.register_gauge(&self.key(values), &METADATA))
    }

    /// As [`counter_of`](Self::counter_of).
    pub(super) fn histogram_of(&self, values: &[&str]) -> Histogram {
        debug_assert_eq!(self.kind, Kind::Histogram);
        with_recorder(|recorder| recorder.register_histogram(&self.key(values), &METADATA))
    }

    fn key(&self, values: &[&str]) -> Key {
        debug_assert_eq!(self.labels.len(), values.len());
        let labels = self.labels.iter().zip(values);
        let labels = labels.map(|(label, value)| Label::new(*label, (*value).to_owned()));
        Key::from_parts(self.name, labels.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use super::*;

    /// The table as it is to be in the documentation.
    fn documented() -> String {
        let mut table =
            String::from("| metric | kind | labels | counts or measures |\n|---|---|---|---|\n");
        for metric in ALL {
            let kind = format!("{:?}", metric.kind).to_lowercase();
            let labels: Vec<_> = metric
                .labels
                .iter()
                .map(|label| format!("`{label}`"))
                .collect();
            let labels = labels.join(", ");
            writeln!(
                table,
                "| `{}` | {kind} | {labels} | {} |",
                metric.name, metric.about
            )
            .unwrap();
        }
        table
    }

    #[test]
    fn the_documentation_has_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let text = fs::read_to_string(path).unwrap();
        let table = documented();
        assert!(text.contains(&table), "{path} needs this table:\n\n{table}");
    }

    #[test]
    fn a_metric_s_name_says_its_unit_and_kind() {
        for metric in ALL {
            let name = metric.name;
            assert!(name.starts_with("portolan_"), "{name}");
            assert_eq!(
                name.ends_with("_total"),
                metric.kind == Kind::Counter,
                "{name}"
            );
            assert_eq!(
                name.ends_with("_seconds"),
                metric.kind == Kind::Histogram,
                "{name}"
            );
        }
    }
}
