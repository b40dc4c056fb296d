use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::{DynamicParameters, Node, Peer, Source};
use portolan_engine::{ClientFeatures, SessionConfig, Transitions, Variant};

use crate::callbacks::Observers;
use crate::of_node::OfNode;
use crate::peer::PeerExtractor;
use crate::transitions_for::TransitionsFor;
use crate::{Admission, Callbacks, XdsServer};

/// What a server was built with, besides its source and what concerns sessions alone.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) observers: Observers,
    pub(crate) admission: Option<Arc<dyn Admission>>,
    pub(crate) admission_per_request: bool,
    pub(crate) peer: PeerExtractor,
    pub(crate) features: OfNode<ClientFeatures>,
    pub(crate) parameters: OfNode<DynamicParameters>,
    pub(crate) transitions: TransitionsFor,
    pub(crate) control_plane: Box<str>,
    pub(crate) disabled: Option<Variant>,
    pub(crate) node_required: bool,
    pub(crate) max_request_size: usize,
    pub(crate) max_node_size: usize,
    pub(crate) max_streams: usize,
    pub(crate) max_stream_age: Option<RangeInclusive<Duration>>,
    pub(crate) stall_after: Duration,
    pub(crate) fetch_hold: Duration,
    pub(crate) drain_window: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            observers: Observers::default(),
            admission: None,
            admission_per_request: false,
            peer: PeerExtractor::default(),
            features: OfNode::default(),
            parameters: OfNode::default(),
            transitions: TransitionsFor::default(),
            control_plane: Box::default(),
            disabled: None,
            node_required: true,
            max_request_size: 32 << 20,
            max_node_size: 1 << 20,
            max_streams: usize::MAX,
            max_stream_age: None,
            stall_after: Duration::from_secs(120),
            fetch_hold: Duration::from_millis(800),
            drain_window: Duration::ZERO,
        }
    }
}

/// An [`XdsServer`] under construction.
///
/// ```
/// use std::sync::Arc;
///
/// use portolan_core::Source;
/// use portolan_server::{Limits, SessionConfig, Variant, XdsServer};
///
/// fn server(source: Arc<dyn Source>) -> XdsServer {
///     let session = SessionConfig::default().with_limits(Limits::default().with_names(50_000));
///     XdsServer::builder(source)
///         .with_session(session)
///         .with_max_streams(20_000)
///         .without_variant(Variant::Sotw)
///         .build()
/// }
/// ```
#[derive(Debug)]
#[must_use]
pub struct XdsServerBuilder {
    source: Arc<dyn Source>,
    session: SessionConfig,
    config: Config,
    ready: bool,
}

impl XdsServerBuilder {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            session: SessionConfig::default(),
            config: Config::default(),
            ready: true,
        }
    }

    /// The protocol's side: types, references, limits.
    pub fn with_session(mut self, session: SessionConfig) -> Self {
        self.session = session;
        self
    }

    /// Adds an observer. Default: none.
    pub fn with_callbacks(mut self, callbacks: Arc<dyn Callbacks>) -> Self {
        self.config.observers.add(callbacks);
        self
    }

    /// Who decides whether a stream is served. Default: every stream is.
    pub fn with_admission(mut self, admission: Arc<dyn Admission>) -> Self {
        self.config.admission = Some(admission);
        self
    }

    /// Whether each further request of a stream must be admitted as well; a refusal ends the stream. Default: no, the
    /// first one stands for all. Use it where a permission may be withdrawn, or depends on types or names. Clients
    /// send a request for each acknowledgement and each change of what they want, and wait meanwhile, so the answer
    /// must be at hand. It keeps the call's headers for as long as the stream lasts.
    pub fn with_admission_per_request(mut self, on: bool) -> Self {
        self.config.admission_per_request = on;
        self
    }

    /// How the peer is read from a request's extensions. Default: the address as tonic's transport knows it and,
    /// with feature `tls-ring` or `tls-aws-lc`, the certificates that its TLS verified. Behind a transport of your
    /// own, or for an identity such as a SPIFFE id, say here where it is found. A call for which this panics is
    /// refused.
    pub fn with_peer(
        mut self,
        extract: impl Fn(&http::Extensions) -> Peer + Send + Sync + 'static,
    ) -> Self {
        self.config.peer = PeerExtractor::new(extract);
        self
    }

    /// Which clients are brought otherwise than the rest from one publication to the next. Groups differ in it by what
    /// decides over the group: node and peer. Default, and where this gives `None`: what
    /// [`SessionConfig::with_transitions`] says. It is asked once per stream; a stream for which this panics ends.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use portolan_core::Source;
    /// use portolan_server::{Transitions, XdsServer};
    ///
    /// fn server(source: Arc<dyn Source>) -> XdsServer {
    ///     XdsServer::builder(source)
    ///         .with_transitions_for(|node, _peer| {
    ///             (!node.id().starts_with("gateway")).then_some(Transitions::Ordered)
    ///         })
    ///         .build()
    /// }
    /// ```
    pub fn with_transitions_for(
        mut self,
        choose: impl Fn(&Node, &Peer) -> Option<Transitions> + Send + Sync + 'static,
    ) -> Self {
        self.config.transitions = TransitionsFor::new(choose);
        self
    }

    /// How it is known what a client can do. Default: by what its node announces, [`ClientFeatures::of`]; what you say
    /// here of a node wins, either way (C-307). A stream for which this panics ends.
    pub fn with_client_features(
        mut self,
        of: impl Fn(&Node) -> ClientFeatures + Send + Sync + 'static,
    ) -> Self {
        self.config.features = OfNode::new(of);
        self
    }

    /// What the names stand for that a client subscribes without [dynamic parameters](DynamicParameters): what is meant
    /// for clients with the parameters that you say here of its node, by its metadata for instance, so that clients which
    /// send no locators are served alternatives (C-328). Default: none, which only what has no constraints, or asks for keys
    /// that do not exist, is meant for. A stream for which this panics ends.
    pub fn with_parameters(
        mut self,
        of: impl Fn(&Node) -> DynamicParameters + Send + Sync + 'static,
    ) -> Self {
        self.config.parameters = OfNode::new(of);
        self
    }

    /// The `control_plane.identifier` of responses, by which an operator sees which replica a client is connected to
    /// (C-419). Default: none.
    pub fn with_control_plane(mut self, identifier: impl Into<Box<str>>) -> Self {
        self.config.control_plane = identifier.into();
        self
    }

    /// Disables a variant of the protocol: its methods answer `UNIMPLEMENTED`, so that a client which is configured
    /// for it fails instead of waiting. Default: both are served. Only one can be disabled; the last call counts.
    pub fn without_variant(mut self, variant: Variant) -> Self {
        self.config.disabled = Some(variant);
        self
    }

    /// Whether a stream whose first request has no node is refused. Default: it is; otherwise it is served as the
    /// node without an id (C-007).
    pub fn with_node_required(mut self, on: bool) -> Self {
        self.config.node_required = on;
        self
    }

    /// Whether the server is ready when it is built. Default: it is. See [`XdsServer::set_ready`].
    pub fn with_ready(mut self, on: bool) -> Self {
        self.ready = on;
        self
    }

    /// Most bytes of a request. Default 32 MiB: a reconnecting delta client lists all it has (C-423).
    pub fn with_max_request_size(mut self, bytes: usize) -> Self {
        self.config.max_request_size = bytes;
        self
    }

    /// Most bytes of a node. Default 1 MiB: an Envoy's has 60 kB. Decoded, a node takes many times its size.
    pub fn with_max_node_size(mut self, bytes: usize) -> Self {
        self.config.max_node_size = bytes;
        self
    }

    /// Ends each stream at an age between these two, picked so that streams which began together do not end together
    /// (C-433). Its client comes back, and where a connection is balanced anew, perhaps to another replica: for that the
    /// connection must end too, see [`XdsServer::transport`]. Default: streams may last for ever (C-021).
    pub fn with_max_stream_age(mut self, ages: RangeInclusive<Duration>) -> Self {
        self.config.max_stream_age = Some(ages);
        self
    }

    /// How long the transport may get nowhere with what it was handed before the stream is reset, since its client has
    /// ceased to read. Default two minutes. It gets on whenever a piece is written, which is at most some
    /// 64 KiB or one larger resource, so a client that is behind but reads is not given up. What the stream held is let
    /// go of, but for the piece that HTTP/2 was writing, which stays until the connection ends.
    pub fn with_stall_after(mut self, patience: Duration) -> Self {
        self.config.stall_after = patience;
        self
    }

    /// How long a `Fetch` waits for a first publication, or for one that the client does not have. Default 800 ms:
    /// clients such as Envoy give up after a second (C-407).
    pub fn with_fetch_hold(mut self, wait: Duration) -> Self {
        self.config.fetch_hold = wait;
        self
    }

    /// Over how long [`drain_after`](XdsServer::drain_after) spreads the ends of the streams. Default: they end at
    /// once. With many clients take some seconds, and less than what your platform leaves a process that is to stop.
    pub fn with_drain_window(mut self, window: Duration) -> Self {
        self.config.drain_window = window;
        self
    }

    /// Most streams at a time; further ones are answered `RESOURCE_EXHAUSTED` (C-436). Default: no limit.
    pub fn with_max_streams(mut self, max: usize) -> Self {
        self.config.max_streams = max;
        self
    }

    /// The finished server.
    #[must_use]
    pub fn build(self) -> XdsServer {
        XdsServer::new(self.source, self.session, self.config, self.ready)
    }
}
