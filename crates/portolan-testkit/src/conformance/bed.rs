use std::time::Duration;

use bytes::Bytes;
use portolan_core::{DynamicParameters, Name, Node, Snapshot, TypeUrl};
use portolan_engine::{Event, Request, Response, SessionConfig, Variant};

use crate::fixture::Body;

/// What a case needs of the server that it is played against.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The node that all streams come from.
    pub node: Node,
    /// The variant that the streams speak.
    pub variant: Variant,
    /// The type of a service for one type; `None` is the aggregated service.
    pub single: Option<TypeUrl>,
    /// How the server is configured: transitions and what reads references are among it.
    pub config: SessionConfig,
    /// What names stand for that come without parameters.
    pub parameters: DynamicParameters,
}

/// A server that cases are played against: in this process or behind a network, in virtual time.
///
/// Streams are numbered by the case. All come from the one node [`NODE`](super::NODE).
pub trait Bed {
    /// Makes this what the node is served.
    fn publish(&mut self, snapshot: Snapshot);

    /// Takes back whatever was published.
    fn unpublish(&mut self);

    /// Opens a stream, in place of the one that there may be under this number.
    fn open(&mut self, stream: usize);

    /// Ends all streams, and puts another server in place of this one, which was given `snapshot`.
    fn restart(&mut self, snapshot: Option<Snapshot>);

    /// Sends a request. Nothing need happen before [`settle`](Self::settle).
    fn send(&mut self, stream: usize, request: Request);

    /// Lets the client of a stream cease to read, or read again, and says whether it can be told to. Default: it
    /// cannot, and runs that [need it](super::Run::has_slow_reader) fail.
    fn set_reading(&mut self, _stream: usize, _on: bool) -> bool {
        false
    }

    /// Lets this time pass, and everything that is said for it be said.
    fn settle(&mut self, time: Duration);

    /// The responses that came since the last call of this.
    fn received(&mut self, stream: usize) -> Vec<Answer>;

    /// Why a stream ended by the client's fault: the name of a gRPC code in small letters, such as `invalid_argument`.
    fn ended(&mut self, stream: usize) -> Option<String>;

    /// What the embedder was told since the last call of this; `None` where that cannot be known.
    fn told(&mut self, stream: usize) -> Option<Vec<Event>>;
}

/// A response as a client reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// `type_url`
    pub type_url: TypeUrl,
    /// `version_info` or `system_version_info`
    pub version: String,
    /// `nonce`
    pub nonce: String,
    /// The resources that have a body.
    pub resources: Vec<AnswerResource>,
    /// Resources without a body that live on.
    pub heartbeats: Vec<AnswerHeartbeat>,
    /// Names of resources without a body.
    pub bodyless: Vec<Name>,
    /// `removed_resources`
    pub removed: Vec<Name>,
    /// `resource_errors`
    pub errors: Vec<AnswerError>,
}

/// An error of an [`Answer`], in the place of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerError {
    /// The name of the resource.
    pub name: Name,
    /// The gRPC code.
    pub code: i32,
    /// The text.
    pub message: String,
}

impl AnswerError {
    /// An error.
    #[must_use]
    pub fn new(name: impl Into<Name>, code: i32, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            code,
            message: message.into(),
        }
    }
}

/// A resource of an [`Answer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerResource {
    /// Its name.
    pub name: Name,
    /// Its version; in state of the world there is none.
    pub version: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
    /// Its time to live.
    pub ttl: Option<Duration>,
    /// Its aliases; in state of the world there are none.
    pub aliases: Vec<Name>,
}

/// A resource of an [`Answer`] that has no body, and a time to live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerHeartbeat {
    /// Its name.
    pub name: Name,
    /// Its version.
    pub version: String,
    /// Its time to live.
    pub ttl: Duration,
}

impl AnswerHeartbeat {
    /// A heartbeat.
    #[must_use]
    pub fn new(name: impl Into<Name>, version: impl Into<String>, ttl: Duration) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ttl,
        }
    }
}

impl AnswerResource {
    /// A resource of state of the world, whose name is in its body only, as it is in those of real types. Resources of
    /// cases have theirs behind `name=`.
    #[must_use]
    pub fn in_sotw(body: Vec<u8>) -> Self {
        let text = Body::parse(&Bytes::copy_from_slice(&body));
        let name = text.value("name").unwrap_or_default().to_owned();
        Self::new(name, None, body)
    }

    /// A resource.
    #[must_use]
    pub fn new(name: impl Into<Name>, version: Option<String>, body: Vec<u8>) -> Self {
        let name = name.into();
        Self {
            name,
            version,
            body,
            ttl: None,
            aliases: Vec::new(),
        }
    }

    /// The same with these aliases.
    #[must_use]
    pub fn with_aliases(mut self, aliases: Vec<Name>) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same with a time to live, if there is one.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Option<Duration>) -> Self {
        self.ttl = ttl;
        self
    }
}

impl Answer {
    /// A response with nothing in it.
    #[must_use]
    pub fn new(
        type_url: impl Into<TypeUrl>,
        version: impl Into<String>,
        nonce: impl Into<String>,
    ) -> Self {
        Self {
            type_url: type_url.into(),
            version: version.into(),
            nonce: nonce.into(),
            resources: Vec::new(),
            heartbeats: Vec::new(),
            bodyless: Vec::new(),
            removed: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl From<&Response> for Answer {
    fn from(response: &Response) -> Self {
        let version = response.version.as_str();
        let mut answer = Self::new(
            response.type_url.clone(),
            version,
            response.nonce.to_string(),
        );
        let resources = response.resources.iter().map(|resource| {
            let version = resource.version().as_str().to_owned();
            let version = (response.variant == Variant::Delta).then_some(version);
            let body = resource.body().to_vec();
            let ttl = resource.ttl().filter(|_| response.timed);
            let aliases = match response.variant {
                Variant::Delta => resource.aliases().to_vec(),
                _ => Vec::new(),
            };
            let name = match response.variant {
                Variant::Sotw if !response.wrapped => resource.name().to_stem(),
                _ => resource.name().clone(),
            };
            AnswerResource::new(name, version, body)
                .with_ttl(ttl)
                .with_aliases(aliases)
        });
        answer.resources = resources.collect();
        let heartbeats = response.heartbeats.iter();
        let heartbeats =
            heartbeats.map(|h| AnswerHeartbeat::new(h.name.clone(), h.version.as_str(), h.ttl));
        answer.heartbeats = heartbeats.collect();
        answer.bodyless.clone_from(&response.bodyless);
        answer.removed.clone_from(&response.removed);
        let errors = response.errors.iter().filter_map(|entry| {
            let (name, failure) = (entry.name().clone(), entry.failure()?);
            let code = i32::from(failure.code().number());
            Some(AnswerError::new(name, code, failure.message()))
        });
        answer.errors = errors.collect();
        answer
    }
}
