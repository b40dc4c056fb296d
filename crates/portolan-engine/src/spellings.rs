use alloc::collections::BTreeMap;

use portolan_core::{Name, Resource, Selection};

use crate::Response;

/// The names that a client writes otherwise than in their canonical form, and how. Clients that keep the protocol sort the
/// parameters of a name, so there are seldom any.
///
/// A client looks up what it is sent by what it wrote (C-332). What it has from a wildcard or a glob it did not write, and
/// gets in the canonical form.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    written: BTreeMap<Name, Name>,
    /// Length of what was written.
    bytes: usize,
}

impl Spellings {
    /// The client writes the name like this. Of several ways the last counts.
    pub(crate) fn note(&mut self, name: &Name, written: &str) {
        self.forget(name);
        if name.as_str() != written {
            self.bytes += written.len();
            let written = Name::verbatim(written);
            self.written.insert(name.clone(), written);
        }
    }

    pub(crate) fn forget(&mut self, name: &Name) {
        if let Some(written) = self.written.remove(name) {
            self.bytes -= written.len();
        }
    }

    /// Length of what was written.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How the client writes a name, which it does without constraints.
    fn of(&self, name: &Name) -> Option<Name> {
        let written = self.written.get(name.stem())?;
        Some(match name.constraints() {
            Some(constraints) => written.with_constraints(&constraints),
            None => written.clone(),
        })
    }

    /// Makes a response one that speaks of names as the client does.
    pub(crate) fn respell(&self, response: &mut Response) {
        if self.written.is_empty() {
            return;
        }
        let heartbeats = response.heartbeats.iter_mut().map(|h| &mut h.name);
        let (removed, bodyless) = (response.removed.iter_mut(), response.bodyless.iter_mut());
        for name in removed.chain(bodyless).chain(heartbeats) {
            if let Some(written) = self.of(name) {
                *name = written;
            }
        }
        let respelled = |resource: &Resource| resource.respelled(|name| self.of(name));
        for error in &mut response.errors {
            if let Some(respelled) = respelled(error) {
                *error = respelled;
            }
        }
        if response.resources.iter().any(|r| respelled(r).is_some()) {
            let resources = response.resources.iter();
            let resources = resources.map(|r| respelled(r).unwrap_or_else(|| r.clone()));
            response.resources = Selection::of(resources);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_counted_as_long_as_it_is_held() {
        let (mut spellings, name) = (Spellings::default(), Name::from("xdstp://a/T/x?a=1&b=2"));
        spellings.note(&name, "xdstp://a/T/x?b=2&a=1");
        spellings.note(&name, "xdstp://a/T/x?a=0&b=2&a=1");
        assert_eq!(spellings.bytes(), 25);
        spellings.note(&name, name.as_str());
        assert_eq!((spellings.bytes(), spellings.written.len()), (0, 0));
        spellings.note(&name, "xdstp://a/T/x?b=2&a=1");
        spellings.forget(&name);
        spellings.forget(&name);
        assert_eq!((spellings.bytes(), spellings.written.len()), (0, 0));
    }
}
