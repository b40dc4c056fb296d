use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

use portolan_core::{Reference, Strength, TypeUrl};

use super::schema::{self, At, Discovers, Field, Holds, Message, Supplier, Unnamed};
use super::wire::{self, Malformed, Value};

/// How deep messages may lie in each other to be read. Configurations for people are a third as deep.
const MAX_DEPTH: usize = 64;

/// What is found on a walk through a message.
///
/// Each byte is looked at once for each message that it lies in, so the work is bounded by the message's length times
/// [`MAX_DEPTH`].
pub(super) struct Walk<'a> {
    found: Vec<Reference>,
    /// Where in `found` a name stands.
    at: HashMap<(TypeUrl, Cow<'a, str>), usize>,
    way: Vec<Step<'a>>,
}

/// A step of the way to where the walk is.
#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'static str),
    Element(&'static str, usize),
    Entry(&'static str, &'a str),
    /// A message that stands in an `Any`: named by its type instead of by the field, which has no say in it.
    Typed(&'static Message),
}

/// The references of a message, in the order in which they stand in it. What is referred to several times is there
/// once: hard if any of them is, and where that one stands.
pub(super) fn references(
    message: &'static Message,
    body: &[u8],
) -> Result<Vec<Reference>, Malformed> {
    let mut walk = Walk {
        found: Vec::new(),
        at: HashMap::new(),
        way: Vec::new(),
    };
    walk.message(message, body)?;
    Ok(walk.found)
}

impl<'a> Walk<'a> {
    fn message(&mut self, message: &'static Message, body: &'a [u8]) -> Result<(), Malformed> {
        if self.way.len() > MAX_DEPTH {
            return Ok(());
        }
        if let Some(discovers) = &message.discovers {
            self.discover(discovers, body)?;
        }
        let mut seen = vec![0; message.fields.len()];
        for field in wire::fields(body) {
            let (number, value) = field?;
            let Some(at) = message.fields.iter().position(|f| f.number == number) else {
                continue;
            };
            let Value::Bytes(value) = value else {
                return Err(Malformed);
            };
            self.field(&message.fields[at], seen[at], value)?;
            seen[at] += 1;
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &'static Field,
        at: usize,
        value: &'a [u8],
    ) -> Result<(), Malformed> {
        match &field.holds {
            Holds::Entry(held) => {
                let key = wire::get_bytes(value, 1)?.unwrap_or_default();
                let value = wire::get_bytes(value, 2)?.unwrap_or_default();
                self.holds(held, Step::Entry(field.name, wire::text(key)?), value)
            }
            holds if field.repeated => self.holds(holds, Step::Element(field.name, at), value),
            holds => self.holds(holds, Step::Field(field.name), value),
        }
    }

    fn holds(
        &mut self,
        holds: &'static Holds,
        step: Step<'a>,
        value: &'a [u8],
    ) -> Result<(), Malformed> {
        let depth = self.way.len();
        self.way.push(step);
        let walked = match holds {
            Holds::Name(target, strength) => wire::text(value).map(|name| {
                self.find(target, name.into(), *strength, false, None);
            }),
            Holds::Message(message) => self.message(message, value),
            Holds::Any | Holds::Entry(_) => self.any(value),
        };
        self.way.truncate(depth);
        walked
    }

    /// What is not known, or is not what it says it is, refers to nothing.
    fn any(&mut self, any: &'a [u8]) -> Result<(), Malformed> {
        let url = wire::text(wire::get_bytes(any, 1)?.unwrap_or_default())?;
        let value = wire::get_bytes(any, 2)?.unwrap_or_default();
        let name = url.rsplit_once('/').map_or("", |(_, name)| name);
        let Some(message) = schema::in_any(name) else {
            return Ok(());
        };
        if let Some(Step::Field(_)) = self.way.last() {
            self.way.pop();
        }
        self.way.push(Step::Typed(message));
        let before = self.found.len();
        if self.message(message, value).is_err() {
            self.found.truncate(before);
            self.at.retain(|_, at| *at < before);
        }
        Ok(())
    }

    fn discover(&mut self, discovers: &'static Discovers, body: &'a [u8]) -> Result<(), Malformed> {
        if let Some((field, value)) = discovers.only_if
            && wire::get(body, field.1)? != Some(Value::Varint(value))
        {
            return Ok(());
        }
        let own_stream = match supplier(descend(body, discovers.source)?)? {
            Supplier::Sender => false,
            Supplier::Named => true,
            Supplier::Elsewhere => return Ok(()),
        };
        let given = wire::text(descend(body, discovers.named)?.unwrap_or_default())?;
        let (name, leaf) = match discovers.unnamed {
            _ if !given.is_empty() => (given, Some(discovers.path)),
            Unnamed::Nothing => return Ok(()),
            Unnamed::Everything => ("*", None),
            Unnamed::Namesake(At(field, number)) => {
                let name = wire::get_bytes(body, number)?.unwrap_or_default();
                (wire::text(name)?, Some(field))
            }
        };
        let name = match discovers.suffix {
            "" => Cow::Borrowed(name),
            suffix => Cow::Owned(format!("{name}{suffix}")),
        };
        let softened =
            !discovers.softened_by.is_empty() && descend(body, discovers.softened_by)?.is_some();
        let strength = if softened {
            Strength::Soft
        } else {
            Strength::Hard
        };
        self.find(&discovers.target, name, strength, own_stream, leaf);
        Ok(())
    }

    fn find(
        &mut self,
        target: &TypeUrl,
        name: Cow<'a, str>,
        strength: Strength,
        own_stream: bool,
        leaf: Option<&'static str>,
    ) {
        if name.is_empty() {
            return;
        }
        let reference = |path| {
            Reference::new(target, &*name, path)
                .with_strength(strength)
                .with_own_stream(own_stream)
        };
        match self.at.entry((target.clone(), name.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(self.found.len());
                self.found.push(reference(path(&self.way, leaf)));
            }
            Entry::Occupied(entry) => {
                let held = &mut self.found[*entry.get()];
                if strength > held.strength() || (held.is_on_own_stream() && !own_stream) {
                    *held = reference(path(&self.way, leaf));
                }
            }
        }
    }
}

fn supplier(config_source: Option<&[u8]>) -> Result<Supplier, Malformed> {
    let mut supplier = Supplier::Elsewhere;
    for field in wire::fields(config_source.unwrap_or_default()) {
        let (number, _) = field?;
        let mut specifiers = schema::CONFIG_SOURCE.iter();
        if let Some((_, specified)) = specifiers.find(|(at, _)| at.1 == number) {
            supplier = *specified;
        }
    }
    Ok(supplier)
}

fn descend<'a>(mut body: &'a [u8], way: &[At]) -> Result<Option<&'a [u8]>, Malformed> {
    for At(_, number) in way {
        match wire::get_bytes(body, *number)? {
            Some(inner) => body = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(body))
}

/// `filter_chains[0].filters[1].http_connection_manager.rds.route_config_name`
fn path(way: &[Step<'_>], leaf: Option<&'static str>) -> Cow<'static, str> {
    if let ([], Some(leaf)) = (way, leaf) {
        return Cow::Borrowed(leaf);
    }
    let mut path = String::new();
    for step in way.iter().copied().chain(leaf.map(Step::Field)) {
        if !path.is_empty() {
            path.push('.');
        }
        let written = match step {
            Step::Field(name) => write!(path, "{name}"),
            Step::Element(name, at) => write!(path, "{name}[{at}]"),
            Step::Entry(name, key) => write!(path, "{name}[{key:?}]"),
            Step::Typed(message) => snake_case(message.name, &mut path),
        };
        written.expect("a text takes all that is written to it");
    }
    path.shrink_to_fit();
    path.into()
}

/// The last part of a full name, in the style of field names.
fn snake_case(full_name: &str, out: &mut String) -> std::fmt::Result {
    let name = full_name
        .rsplit_once('.')
        .map_or(full_name, |(_, name)| name);
    let mut previous_is_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && previous_is_lower {
            out.push('_');
        }
        previous_is_lower = !c.is_ascii_uppercase();
        out.push(c.to_ascii_lowercase());
    }
    Ok(())
}
