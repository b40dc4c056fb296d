use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portolan::core::{Node, ResourceTypes};
use portolan::server::{Callbacks, CloseReason, Event, Reason, ResponseInfo, StreamInfo};

/// Something that happened on a stream. Types are given by their short names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// A response was sent.
    #[non_exhaustive]
    Response {
        /// The stream.
        stream: u64,
        /// The type.
        kind: String,
        /// Number of resources in it.
        resources: usize,
        /// Number of resources that it says live on.
        heartbeats: usize,
        /// Number of names that it says are gone.
        removed: usize,
        /// Why it was sent.
        reason: Reason,
    },
    /// A response was accepted.
    #[non_exhaustive]
    Acked {
        /// The stream.
        stream: u64,
        /// The type.
        kind: String,
    },
    /// A response was rejected.
    #[non_exhaustive]
    Nacked {
        /// The stream.
        stream: u64,
        /// The type.
        kind: String,
        /// The client's reason.
        message: String,
    },
    /// Something waits, or waits no longer, on the way from one publication to the next.
    #[non_exhaustive]
    Transition {
        /// The stream.
        stream: u64,
        /// What the server said.
        event: String,
    },
    /// A stream was admitted.
    #[non_exhaustive]
    Opened {
        /// The stream.
        stream: u64,
        /// Id of its node.
        node: String,
    },
    /// A stream ended.
    #[non_exhaustive]
    Closed {
        /// The stream.
        stream: u64,
    },
}

/// Writes down what happens on all streams of a server.
#[derive(Debug)]
pub struct Recorder {
    types: ResourceTypes,
    started: Instant,
    log: Mutex<Vec<(Duration, Recorded)>>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            types: ResourceTypes::default(),
            started: Instant::now(),
            log: Mutex::default(),
        }
    }
}

impl Recorder {
    /// What happened since `mark` events had been recorded.
    #[must_use]
    pub fn since(&self, mark: usize) -> Vec<Recorded> {
        let log = self.log();
        let events = log.get(mark..).unwrap_or_default().iter();
        events.map(|(_, event)| event.clone()).collect()
    }

    /// What happened, a line each, with the milliseconds since the start.
    #[must_use]
    pub fn trace(&self) -> String {
        let log = self.log();
        let lines = log.iter();
        let lines = lines.map(|(at, event)| format!("{:>7} {event:?}\n", at.as_millis()));
        lines.collect()
    }

    /// How many events were recorded.
    #[must_use]
    pub fn mark(&self) -> usize {
        self.log().len()
    }

    /// Number of responses of a type since a mark.
    #[must_use]
    pub fn responses(&self, of: &str, mark: usize) -> usize {
        let is_response =
            |e: &&Recorded| matches!(e, Recorded::Response { kind, .. } if kind == of);
        self.since(mark).iter().filter(is_response).count()
    }

    /// Number of resources sent of a type since a mark.
    #[must_use]
    pub fn resources(&self, of: &str, mark: usize) -> usize {
        let count = |e: &Recorded| match e {
            Recorded::Response {
                kind, resources, ..
            } if kind == of => *resources,
            _ => 0,
        };
        self.since(mark).iter().map(count).sum()
    }

    /// Number of responses of a type since a mark that only tell a client that what it has lives on.
    #[must_use]
    pub fn refreshes(&self, of: &str, mark: usize) -> usize {
        let is_refresh = |e: &&Recorded| matches!(e, Recorded::Response { kind, reason: Reason::Refresh, .. } if kind == of);
        self.since(mark).iter().filter(is_refresh).count()
    }

    /// Number of resources of a type that were said to live on, without their bodies, since a mark.
    #[must_use]
    pub fn heartbeats(&self, of: &str, mark: usize) -> usize {
        let count = |e: &Recorded| match e {
            Recorded::Response {
                kind, heartbeats, ..
            } if kind == of => *heartbeats,
            _ => 0,
        };
        self.since(mark).iter().map(count).sum()
    }

    /// Whether there is no response that was rejected, or that nobody has answered on a stream that is still open.
    ///
    /// # Errors
    /// What there is.
    pub fn all_accepted(&self) -> Result<(), String> {
        let mut unanswered = BTreeMap::<u64, i64>::new();
        for event in self.since(0) {
            match event {
                Recorded::Response { stream, .. } => *unanswered.entry(stream).or_default() += 1,
                Recorded::Acked { stream, .. } => *unanswered.entry(stream).or_default() -= 1,
                Recorded::Closed { stream } => drop(unanswered.remove(&stream)),
                Recorded::Nacked { kind, message, .. } => {
                    return Err(format!("{kind} was rejected: {message}"));
                }
                Recorded::Opened { .. } | Recorded::Transition { .. } => {}
            }
        }
        match unanswered.values().all(|count| *count == 0) {
            true => Ok(()),
            false => Err(format!("unanswered, by stream: {unanswered:?}")),
        }
    }

    fn log(&self) -> MutexGuard<'_, Vec<(Duration, Recorded)>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: Recorded) {
        let at = self.started.elapsed();
        self.log().push((at, event));
    }

    fn kind(&self, type_url: impl AsRef<str>) -> String {
        self.types.get(type_url).short_name().to_owned()
    }
}

impl Callbacks for Recorder {
    fn stream_admitted(&self, stream: &StreamInfo) {
        let node = stream
            .node()
            .map_or_else(String::new, |n: &std::sync::Arc<Node>| n.id().to_owned());
        self.push(Recorded::Opened {
            stream: stream.id(),
            node,
        });
    }

    fn stream_closed(&self, stream: &StreamInfo, _: &CloseReason) {
        self.push(Recorded::Closed {
            stream: stream.id(),
        });
    }

    fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
        self.push(Recorded::Response {
            stream: stream.id(),
            kind: self.kind(response.type_url()),
            resources: response.resources(),
            heartbeats: response.heartbeats(),
            removed: response.removed(),
            reason: response.reason(),
        });
    }

    fn event(&self, stream: &StreamInfo, event: &Event) {
        let stream = stream.id();
        let recorded = match event {
            Event::Acked { type_url, .. } => Recorded::Acked {
                stream,
                kind: self.kind(type_url),
            },
            Event::Nacked {
                type_url, message, ..
            } => Recorded::Nacked {
                stream,
                kind: self.kind(type_url),
                message: message.clone(),
            },
            Event::Withheld { .. }
            | Event::Permitted { .. }
            | Event::Retained { .. }
            | Event::Released { .. }
            | Event::Empty { .. } => Recorded::Transition {
                stream,
                event: format!("{event:?}"),
            },
            _ => return,
        };
        self.push(recorded);
    }
}
