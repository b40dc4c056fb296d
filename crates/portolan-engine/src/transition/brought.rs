use alloc::string::String;
use core::time::Duration;

/// What the first request of a type says of what its client has from an earlier stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Brought {
    /// It was looked at, or there was no request.
    #[default]
    Settled,
    Nothing,
    /// Names and versions, which are among what is known of the client.
    Versions,
    /// The version of all that it was last sent.
    Version(String),
}

/// Whether what leads to clusters waits until those are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClustersFirst {
    #[default]
    No,
    /// The client will ask for them: it asked for what they refer to, as one does whose clusters warm.
    Asked,
    /// Something waits, until then.
    Until(Duration),
}

impl ClustersFirst {
    pub(crate) fn deadline(self) -> Option<Duration> {
        match self {
            Self::Until(at) => Some(at),
            _ => None,
        }
    }
}
