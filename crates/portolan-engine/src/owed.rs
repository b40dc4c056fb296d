use alloc::collections::BTreeMap;
use alloc::string::String;

use portolan_core::Name;

/// What must be answered on a stream whatever changed (C-259).
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Everything that a wildcard covers, and be it nothing.
    pub(crate) wildcard: bool,
    /// Every subscribed name.
    pub(crate) all_names: bool,
    /// Every subscribed name, and be it that none exists: a client that brings a version has something.
    pub(crate) even_nothing: bool,
    /// These names.
    pub(crate) names: BTreeMap<Name, Why>,
    /// Length of these names together.
    bytes: usize,
    /// Everything that is subscribed of a type whose answers hold everything, for the client to keep it.
    pub(crate) refresh: bool,
    /// Nothing, where the client has this version already: a pure wildcard that reconnects (C-086).
    pub(crate) unless_at: Option<String>,
    /// Not what the client has in that version already: a reconnect with versions (C-170).
    pub(crate) unless_claimed: bool,
}

/// Why a name is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was named, or subscribed again.
    Asked,
    /// It was given up while a wildcard is on (C-167).
    GivenUp,
    /// It was given up, and no wildcard is on, or one ended since: nothing is said of it but what is wanted by another
    /// identifier.
    Elsewhere,
    /// A resource that refers to it was sent (C-260). A name that does not exist is not owed for this.
    Reanswer,
}

impl Owed {
    pub(crate) fn is_empty(&self) -> bool {
        !self.wildcard && !self.all_names && self.names.is_empty() && !self.refresh
    }

    /// Owes everything that is subscribed, as after a first request.
    pub(crate) fn everything(&mut self, wildcard: bool) {
        self.wildcard = wildcard;
        self.all_names = true;
        self.names.clear();
        self.bytes = 0;
    }

    /// Length of all owed names together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn ask(&mut self, name: Name) {
        self.owe(name, Why::Asked);
    }

    /// Whether the client named it, and was not answered yet.
    pub(crate) fn is_asked(&self, name: &str) -> bool {
        self.names.get(name) == Some(&Why::Asked)
    }

    pub(crate) fn give_up(&mut self, name: Name) {
        self.owe(name, Why::GivenUp);
    }

    pub(crate) fn seek_elsewhere(&mut self, name: Name) {
        self.owe(name, Why::Elsewhere);
    }

    pub(crate) fn reanswer(&mut self, name: Name) {
        if !self.names.contains_key(&name) {
            self.owe(name, Why::Reanswer);
        }
    }

    fn owe(&mut self, name: Name, why: Why) {
        let len = name.len();
        if self.names.insert(name, why).is_none() {
            self.bytes += len;
        }
    }

    /// The name is not subscribed any more.
    pub(crate) fn forget(&mut self, name: &Name) {
        if self.names.remove(name).is_some() {
            self.bytes -= name.len();
        }
    }

    /// A wildcard ended, and only these are wanted still. Of what was given up under it something may be.
    pub(crate) fn keep_only(&mut self, wanted: impl Fn(&Name) -> bool) {
        let bytes = &mut self.bytes;
        self.names.retain(|name, why| {
            if *why == Why::GivenUp {
                *why = Why::Elsewhere;
            }
            let kept = *why == Why::Elsewhere || wanted(name);
            *bytes -= if kept { 0 } else { name.len() };
            kept
        });
    }

    /// The client has all that it asked for; what must be said again is left.
    pub(crate) fn keep_names_only(&mut self) {
        self.wildcard = false;
        self.all_names = false;
        self.even_nothing = false;
        self.unless_at = None;
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_what_is_owed_is_counted_as_long_as_it_is_owed() {
        let mut owed = Owed::default();
        owed.ask("abc".into());
        owed.ask("abc".into());
        owed.ask("de".into());
        owed.reanswer("fgh".into());
        owed.give_up("i".into());
        assert_eq!(owed.bytes(), 9);
        owed.keep_only(|name| !["de", "i"].contains(&name.as_str()));
        assert_eq!(owed.names[&Name::from("i")], Why::Elsewhere);
        assert_eq!(owed.bytes(), 7);
        owed.forget(&"abc".into());
        owed.forget(&"abc".into());
        assert_eq!(owed.bytes(), 4);
        owed.everything(false);
        assert_eq!(owed.bytes(), 0);
    }

    #[test]
    fn what_was_asked_for_is_not_taken_for_a_second_answer() {
        let mut owed = Owed::default();
        owed.ask("a".into());
        owed.reanswer("a".into());
        assert_eq!(owed.names[&Name::from("a")], Why::Asked);
    }
}
