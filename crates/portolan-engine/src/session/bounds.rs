//! Refuses what a client may not make a stream hold, before anything of it is kept.

use bytes::Bytes;

use super::Session;
use crate::{Locator, ProtocolError};

/// Longest type URL. Those of the xDS API have less than 100 bytes.
const MAX_TYPE_URL: usize = 1024;

pub(super) fn check_type_url(type_url: &str) -> Result<(), ProtocolError> {
    let len = type_url.len();
    match len > MAX_TYPE_URL {
        true => Err(ProtocolError::TypeUrlTooLong {
            len,
            max: MAX_TYPE_URL,
        }),
        false => Ok(()),
    }
}

/// Number and length of a state-of-the-world request's names, together with those of other types.
pub(super) fn check_sotw(
    session: &Session,
    at: usize,
    names: &[Bytes],
    locators: &[Locator],
) -> Result<(), ProtocolError> {
    let mut load = Load::of(session);
    // The list replaces the type's names.
    let replaced = &session.types[at].subscription;
    load.names -= replaced.len();
    load.bytes -= replaced.bytes();
    load.add(names.iter().map(Bytes::len));
    load.add(locators.iter().map(Locator::len));
    load.check(session, at, "resource_names")
}

/// Number and length of a delta request's names and versions, together with all that the stream holds already.
pub(super) fn check_delta(
    session: &Session,
    at: usize,
    (subscribe, locators): (&[Bytes], &[Locator]),
    versions: &[(Bytes, Bytes)],
) -> Result<(), ProtocolError> {
    check_count(session, at, "initial_resource_versions", versions.len())?;
    let mut load = Load::of(session);
    let held = &session.types[at].subscription;
    let is_new =
        |name: &&Bytes| !core::str::from_utf8(name).is_ok_and(|name| held.names().contains(name));
    load.add(subscribe.iter().filter(is_new).map(Bytes::len));
    let is_new = |locator: &&Locator| !locator.read().is_ok_and(|name| held.has(&name));
    load.add(locators.iter().filter(is_new).map(Locator::len));
    for (name, version) in versions {
        load.bytes += name.len() + version.len();
    }
    load.check(session, at, "resource_names_subscribe")
}

/// What a client makes a stream hold.
struct Load {
    names: usize,
    bytes: usize,
}

impl Load {
    fn of(session: &Session) -> Self {
        let (mut names, mut bytes) = (0, 0);
        for state in &session.types {
            names += state.subscription.len();
            bytes += state.subscription.bytes();
            bytes += state.owed.bytes() + state.known.claimed_bytes();
        }
        Self { names, bytes }
    }

    fn add(&mut self, lens: impl Iterator<Item = usize>) {
        for len in lens {
            self.names += 1;
            self.bytes += len;
        }
    }

    fn check(
        &self,
        session: &Session,
        at: usize,
        field: &'static str,
    ) -> Result<(), ProtocolError> {
        let type_url = session.types[at].url();
        let limits = session.config.limits();
        if self.names > limits.names() {
            return Err(ProtocolError::TooManyNames {
                type_url: type_url.clone(),
                field,
                max: limits.names(),
            });
        }
        if self.bytes > limits.name_bytes() {
            return Err(ProtocolError::NamesTooLong {
                type_url: type_url.clone(),
                field,
                max: limits.name_bytes(),
            });
        }
        Ok(())
    }
}

/// Names that were given up and still await their answer are no longer subscribed, yet held.
pub(super) fn check_owed(session: &Session, at: usize) -> Result<(), ProtocolError> {
    let owed = session.types[at].owed.names.len();
    check_count(session, at, "resource_names_unsubscribe", owed)
}

fn check_count(
    session: &Session,
    at: usize,
    field: &'static str,
    count: usize,
) -> Result<(), ProtocolError> {
    let max = session.config.limits().names();
    match count > max {
        true => Err(ProtocolError::TooManyNames {
            type_url: session.types[at].url().clone(),
            field,
            max,
        }),
        false => Ok(()),
    }
}
