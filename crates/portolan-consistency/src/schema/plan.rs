//! What the schema asks of each message: the words in which `generated` is written.

use std::sync::OnceLock;

use regex::Regex;

/// A message: the fields that something is asked of, that lead to others of which something is asked, or that are
/// members of a oneof; all others may hold anything.
#[derive(Debug)]
pub(super) struct Message {
    /// With its package.
    pub(super) name: &'static str,
    /// By number. No more than there are bits in a [`Members`].
    pub(super) fields: &'static [Field],
    pub(super) oneofs: &'static [Oneof],
    /// Those fields that may be wrong by not being there.
    pub(super) asked: Members,
    /// Whether it is a key and a value of a map, of which both are always there.
    pub(super) entry: bool,
}

/// Fields of a message, a bit for each place in [`Message::fields`].
pub(super) type Members = u64;

#[derive(Debug)]
pub(super) struct Oneof {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) members: Members,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) times: Times,
    pub(super) holds: Holds,
    /// How it is encoded, an element of several by itself.
    pub(super) wire: Wire,
}

/// How often a field is there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times {
    /// Once or not at all.
    Optional,
    /// Once.
    Required,
    /// Once, if only by its default.
    Always,
    /// Any number of times. A map is that: of entries.
    Many(&'static Items),
}

/// What a field holds, or each of its elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holds {
    /// What nothing is asked of.
    Opaque(Wire),
    Text(&'static Text),
    Octets(&'static Octets),
    Integer(Integer, &'static Range<i128>),
    Real(Real, &'static Range<f64>),
    /// The one value that a truth may have.
    Truth(bool),
    Enum(&'static Enum),
    /// A wrapper, such as `google.protobuf.UInt32Value`, and what its value holds.
    Wrapped(&'static Self),
    Duration(&'static Range<i128>),
    Message(&'static Message),
    Any,
}

/// How the value of a field is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Fixed64,
    Bytes,
    Fixed32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Integer {
    I32,
    I64,
    U32,
    U64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Real {
    F32,
    F64,
}

/// What is asked of a number; of a duration, in nanoseconds.
///
/// A range whose upper bound is not above its lower one is meant the other way round: what it excludes lies between.
#[derive(Debug)]
pub(super) struct Range<N: 'static> {
    pub(super) lower: Bound<N>,
    pub(super) upper: Bound<N>,
    /// Whether 0 is allowed in any case.
    pub(super) or_zero: bool,
}

#[derive(Debug)]
pub(super) enum Bound<N> {
    None,
    Open(N),
    Closed(N),
}

/// What is asked of a text. Lengths are in characters.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) min_len: usize,
    pub(super) max_len: usize,
    pub(super) max_bytes: usize,
    pub(super) prefix: &'static str,
    pub(super) suffix: &'static str,
    /// What it may be; anything, if this is empty.
    pub(super) one_of: &'static [&'static str],
    pub(super) form: Form,
    /// Whether nothing at all is allowed in any case.
    pub(super) or_empty: bool,
}

impl Text {
    /// Asks nothing.
    pub(super) const FREE: Self = Self {
        min_len: 0,
        max_len: usize::MAX,
        max_bytes: usize::MAX,
        prefix: "",
        suffix: "",
        one_of: &[],
        form: Form::Free,
        or_empty: false,
    };
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Free,
    Pattern(&'static Pattern),
    /// The name of an HTTP header or pseudo-header.
    HeaderName,
    /// The value of an HTTP header.
    HeaderValue,
    /// What is allowed in names and values where that is not taken strictly: anything on one line.
    Line,
}

/// A regular expression that is compiled when it is needed.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub(super) const fn new(source: &'static str) -> Self {
        Self {
            source,
            compiled: OnceLock::new(),
        }
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let compile = || Regex::new(self.source).expect("a test compiles all that are generated");
        self.compiled.get_or_init(compile).is_match(text)
    }
}

/// What is asked of bytes.
#[derive(Debug)]
pub(super) struct Octets {
    pub(super) min_len: usize,
    pub(super) max_len: usize,
}

/// What is asked of an enum.
#[derive(Debug)]
pub(super) struct Enum {
    /// The values that have names, in order, if it may have no others.
    pub(super) defined: Option<&'static [i32]>,
    pub(super) not_in: &'static [i32],
}

/// What is asked of how often something is there.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) min: usize,
    pub(super) max: usize,
    pub(super) unique: bool,
}

impl Items {
    /// Asks nothing.
    pub(super) const FREE: Self = Self {
        min: 0,
        max: usize::MAX,
        unique: false,
    };

    /// Whether so many are right whatever they are.
    #[inline]
    pub(super) fn allow(&self, count: usize) -> bool {
        self.min <= count && count <= self.max && !(self.unique && count > 1)
    }
}

impl Holds {
    /// How it is encoded, an element of several by itself.
    pub(super) const fn wire(&self) -> Wire {
        match self {
            Self::Opaque(wire) => *wire,
            Self::Integer(..) | Self::Truth(_) | Self::Enum(_) => Wire::Varint,
            Self::Real(Real::F32, _) => Wire::Fixed32,
            Self::Real(Real::F64, _) => Wire::Fixed64,
            Self::Text(_)
            | Self::Octets(_)
            | Self::Wrapped(_)
            | Self::Duration(_)
            | Self::Message(_)
            | Self::Any => Wire::Bytes,
        }
    }

    /// Whether it is a message that is looked into.
    pub(super) fn is_message(&self) -> bool {
        matches!(
            self,
            Self::Wrapped(_) | Self::Duration(_) | Self::Message(_) | Self::Any
        )
    }
}

impl Field {
    pub(super) fn is_repeated(&self) -> bool {
        matches!(self.times, Times::Many(_))
    }

    /// The message of an entry, if it is a map.
    pub(super) fn entry(&self) -> Option<&'static Message> {
        match self.holds {
            Holds::Message(entry) if entry.entry => Some(entry),
            _ => None,
        }
    }
}

pub(super) const fn field(number: u32, name: &'static str, times: Times, holds: Holds) -> Field {
    Field {
        number,
        name,
        times,
        holds,
        wire: holds.wire(),
    }
}

impl Message {
    /// Asks nothing.
    pub(super) const FREE: Self = Self {
        name: "",
        fields: &[],
        oneofs: &[],
        asked: 0,
        entry: false,
    };

    /// The place of a field among the fields; quick where it is this one or the next.
    #[inline]
    pub(super) fn find(&self, number: u32, near: usize) -> Option<usize> {
        for at in [near, near + 1] {
            if self.fields.get(at).is_some_and(|f| f.number == number) {
                return Some(at);
            }
        }
        self.fields.binary_search_by_key(&number, |f| f.number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::generated::MESSAGES;
    use super::*;

    /// All messages, with the entries of their maps.
    fn messages() -> impl Iterator<Item = &'static Message> {
        let entries = MESSAGES.iter().flat_map(|message| {
            let mut held = message.fields.iter().map(|field| &field.holds);
            std::iter::from_fn(move || held.next()).filter_map(|holds| match holds {
                Holds::Message(entry) if entry.entry => Some(*entry),
                _ => None,
            })
        });
        MESSAGES.iter().copied().chain(entries)
    }

    #[test]
    fn tables_are_in_order() {
        assert!(MESSAGES.is_sorted_by_key(|message| message.name));
        for message in messages() {
            let name = message.name;
            assert!(message.fields.is_sorted_by_key(|f| f.number), "{name}");
            assert!(message.fields.len() <= Members::BITS as usize, "{name}");
        }
    }

    #[test]
    fn patterns_compile() {
        let mut patterns = 0;
        for field in messages().flat_map(|message| message.fields) {
            if let Holds::Text(Text {
                form: Form::Pattern(pattern),
                ..
            }) = field.holds
            {
                pattern.is_match("");
                patterns += 1;
            }
        }
        assert!(patterns >= 10, "{patterns}");
    }

    #[test]
    fn enums_are_in_order() {
        for field in messages().flat_map(|message| message.fields) {
            if let Holds::Enum(rules) = field.holds {
                assert!(rules.defined.is_none_or(<[_]>::is_sorted), "{}", field.name);
            }
        }
    }
}
