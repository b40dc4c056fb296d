use std::time::Instant;

use super::{LONG, SLOW};
use crate::world::{LOCAL_REPLY, RETRY};

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Paced, over a connection that is kept.
    Kept,
    /// Paced, with a connection of its own.
    New,
    /// The upstream answers late.
    LateHead,
    /// The upstream sends half of the body late.
    LateBody,
    /// The same, much later.
    LongBody,
    /// A filter of Envoy's holds it, after its route was chosen and before the cluster is looked up.
    Held,
    /// The first attempt fails late, and Envoy makes another.
    Retried,
}

/// What is asked: a path with its query, and headers.
pub(super) type Ask = (String, Vec<(&'static str, String)>);

impl Kind {
    pub(crate) fn is_paced(self) -> bool {
        matches!(self, Self::Kept | Self::New)
    }

    pub(super) fn ask(self, path: &str) -> Ask {
        let (slow, long) = (SLOW.as_millis(), LONG.as_millis());
        match self {
            Self::Kept | Self::New => (path.to_owned(), Vec::new()),
            Self::LateHead => (format!("{path}?late_head={slow}"), Vec::new()),
            Self::LateBody => (format!("{path}?late_body={slow}"), Vec::new()),
            Self::LongBody => (format!("{path}?late_body={long}"), Vec::new()),
            Self::Held => {
                let delay = ("x-envoy-fault-delay-request", slow.to_string());
                (path.to_owned(), vec![delay])
            }
            Self::Retried => (
                format!("{path}?late_failure={slow}"),
                vec![(RETRY, "yes".to_owned())],
            ),
        }
    }
}

/// A request that was made.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) answer: Answer,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A response, and its body.
    Response(u16, String),
    /// The connection was refused, ended, or broke.
    Transport(String),
    /// Nothing for longer than this program waits, which may be this machine's fault.
    None,
}

impl Answer {
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Response(status, _) => *status >= 500,
            Self::Transport(_) => true,
            Self::None => false,
        }
    }

    /// A short name for the kind of failure: Envoy's response flags if it answered by itself.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Self::Response(status, body) if *status >= 500 => {
                let flags = body.strip_prefix(LOCAL_REPLY);
                let flags = flags.and_then(|rest| rest.split_whitespace().next());
                // That it was held before says nothing about why it failed.
                let flags = flags.map(|flags| flags.split(',').filter(|f| *f != "DI").collect());
                let flags: Vec<_> = flags.unwrap_or_default();
                Some(match flags.is_empty() {
                    true => format!("{status}"),
                    false => flags.join(","),
                })
            }
            Self::Transport(what) => Some(what.clone()),
            Self::Response(..) | Self::None => None,
        }
    }
}
