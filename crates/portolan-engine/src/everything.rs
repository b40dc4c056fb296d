//! The version of an answer that holds everything.
//!
//! State of the world has one version per type, whoever asks. A client that was sent what it named must not be taken,
//! when it reconnects and asks for everything, for one that has everything: so the version of such an answer is marked.
//! A label of the caller's is shown as it is, and never believed.

use alloc::format;

use portolan_core::{ResourceSet, Version};

const MARK: char = '*';

pub(crate) fn version_of(set: &ResourceSet) -> Version {
    Version::from(format!("{}{MARK}", set.version()))
}

/// The version of the set that a client accepted with an answer of this version, whatever it asked for.
pub(crate) fn set_version(version: &str) -> &str {
    version.strip_suffix(MARK).unwrap_or(version)
}

/// Whether a client that accepted `version` has all of `set`.
pub(crate) fn is_version_of(version: &str, set: &ResourceSet) -> bool {
    version.strip_suffix(MARK) == Some(set.version().as_str())
}
