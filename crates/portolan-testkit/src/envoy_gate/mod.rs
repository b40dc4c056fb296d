//! Judges snapshots by a real Envoy, before clients see them: `envoy --mode validate`.
//!
//! Envoy validates a bootstrap, in which everything is static. [`EnvoyGate`] folds a snapshot into one: endpoints into
//! their clusters, route tables and virtual hosts into listeners, secrets into those that are named without a source,
//! filters that are discovered into their chains. What is folded in is looked at as it would be when it is discovered,
//! and that clusters exist is asked for routes as well. What a resource refers to and the snapshot does not have stays to
//! be discovered, and Envoy is content with that, except for secrets: a static one must be there. Nothing is fetched, and
//! no connection opened.
//!
//! ```no_run
//! use portolan_core::Snapshot;
//! use portolan_resources::{AddTyped, build};
//! use portolan_testkit::envoy_gate::{EnvoyGate, Verdict};
//!
//! let mut snapshot = Snapshot::builder();
//! let routes = [build::prefix_route("/", "nowhere")];
//! snapshot.add(&build::http_listener("ingress", "0.0.0.0:80".parse()?, "routes"))?;
//! snapshot.add(&build::route_configuration("routes", [build::virtual_host("all", ["*"], routes)]))?;
//!
//! let Verdict::Rejected(rejection) = EnvoyGate::find()?.judge(&snapshot.build())? else {
//!     panic!("there is no such cluster");
//! };
//! assert_eq!(rejection.message(), "route: unknown cluster 'nowhere'");
//! assert_eq!(&**rejection.name().expect("it was found out"), "routes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//! Left as they are, and so not looked into, are runtime layers, scopes of routes, endpoints of localities, secrets of QUIC
//! and of transport sockets within others, and filters of upstreams that are discovered. A route table that no listener
//! names is looked at in a listener of its own.

mod blame;
mod error;
mod fold;
mod inline;
mod process;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portolan_core::{Name, Snapshot, TypeUrl};
use prost::Message as _;

pub use self::error::EnvoyGateError;
use self::fold::{Fold, Key, Part};
use self::process::Run;

/// A gate that asks an Envoy.
#[derive(Clone, Debug)]
pub struct EnvoyGate {
    binary: PathBuf,
    deadline: Duration,
    clusters: Vec<String>,
}

/// What Envoy says to a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It would take it.
    Accepted,
    /// It would not.
    Rejected(Rejection),
}

/// Why Envoy would not take a snapshot. It tells the first reason only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    message: String,
    at_fault: Option<Key>,
}

impl EnvoyGate {
    /// A gate that starts this binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            deadline: Duration::from_secs(30),
            clusters: Vec::new(),
        }
    }

    /// A gate with the binary that the variable `ENVOY_BIN` names, or else the `envoy` on the `PATH`.
    ///
    /// # Errors
    /// [`EnvoyGateError::NotFound`], the environment's fault.
    pub fn find() -> Result<Self, EnvoyGateError> {
        let named = std::env::var_os("ENVOY_BIN").map(PathBuf::from);
        let directories = std::env::var_os("PATH").unwrap_or_default();
        let on_path = || {
            let mut places = std::env::split_paths(&directories).map(|path| path.join("envoy"));
            places.find(|place| place.is_file())
        };
        let binary = named.or_else(on_path).ok_or(EnvoyGateError::NotFound)?;
        Ok(Self::new(binary))
    }

    /// How long a judgement may take, the search for who is at fault included. Default: 30 seconds.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Names a cluster that clients have from elsewhere, such as from their bootstrap, so that routes may lead to it.
    #[must_use]
    pub fn with_cluster(mut self, name: impl Into<String>) -> Self {
        self.clusters.push(name.into());
        self
    }

    /// The binary.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Asks Envoy whether it would take a snapshot. The calling thread waits for it.
    ///
    /// # Errors
    /// The environment's fault: the binary does not start, does not end in time, or dies. The data's: a body is no message
    /// of its type.
    pub fn judge(&self, snapshot: &Snapshot) -> Result<Verdict, EnvoyGateError> {
        let until = Instant::now() + self.deadline;
        let fold = Fold::new(snapshot, &self.clusters);
        let parts = fold.parts()?;
        match self.run(&fold, &parts, until)? {
            Run::Accepted => Ok(Verdict::Accepted),
            Run::Rejected(message) => {
                let first = blame::first(&parts, |parts| self.run(&fold, parts, until));
                let (message, at_fault) = match first {
                    Some((message, at)) => {
                        let of = |parts: &[Part]| self.run(&fold, parts, until);
                        (message, Some(blame::piece(&fold, &parts[..=at], of)))
                    }
                    None => (message, None),
                };
                Ok(Verdict::Rejected(Rejection { message, at_fault }))
            }
        }
    }

    fn run(&self, fold: &Fold<'_>, parts: &[Part], until: Instant) -> Result<Run, EnvoyGateError> {
        let bootstrap = fold.bootstrap(parts)?.encode_to_vec();
        process::run(&self.binary, &bootstrap, until, self.deadline)
    }
}

impl Rejection {
    /// What Envoy said, without what it dumped before: at most 4 KiB.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Type of the resource without which Envoy would have gone on; `None` where that was not found out in time.
    #[must_use]
    pub fn type_url(&self) -> Option<&TypeUrl> {
        self.at_fault.as_ref().map(|(type_url, _)| type_url)
    }

    /// Name of that resource.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        self.at_fault.as_ref().map(|(_, name)| name)
    }
}
