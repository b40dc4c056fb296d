use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use portolan_core::{Name, TypeUrl};

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvoyGateError {
    /// There is no Envoy.
    #[error(
        "there is no Envoy: neither does ENVOY_BIN name one, nor is there an `envoy` on the PATH"
    )]
    NotFound,
    /// The binary does not start.
    #[error("{} does not start", binary.display())]
    #[non_exhaustive]
    Start {
        /// The binary.
        binary: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The bootstrap cannot be written, or the process not be watched.
    #[error("the system does not let an Envoy be asked")]
    Io(#[from] io::Error),
    /// Envoy did not end in time, and was killed.
    #[error("{} had not ended after {deadline:?}", binary.display())]
    #[non_exhaustive]
    TimedOut {
        /// The binary.
        binary: PathBuf,
        /// The time that it had.
        deadline: Duration,
    },
    /// The process ended as Envoy does not when it has a verdict.
    #[error("{} ended with {status}: {output}", binary.display())]
    #[non_exhaustive]
    Died {
        /// The binary.
        binary: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// The last that it said.
        output: String,
    },
    /// The body of a resource is no message of its type.
    #[error("the body of {type_url} {name:?} is no such message")]
    #[non_exhaustive]
    Malformed {
        /// Type of the resource.
        type_url: TypeUrl,
        /// Its name.
        name: Name,
        /// What is wrong with it.
        source: prost::DecodeError,
    },
}
