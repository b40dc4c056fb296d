use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use super::judge::Seconds;
use super::plan::{Field, Holds, Items, Members, Message, Real, Times};
use super::validator::message_of;
use super::wire::{self, Malformed, Order, Value};
use super::{Rule, Validator, Violation};

/// How deep messages may lie in each other; readers of protobuf take no more by default.
const MAX_DEPTH: usize = 100;

/// A walk through a message and what lies in it, to find what the schema does not allow.
///
/// Each byte is looked at a few times for each message that it lies in, so the work is bounded by the message's length
/// times [`MAX_DEPTH`]. Nothing is allocated where nothing is wrong, unless a reader would have to put parts together.
pub(super) struct Walk<'v> {
    validator: &'v Validator,
    pace: Pace,
    found: Vec<Violation>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Looks at everything once, as far as nothing is wrong and messages lie [in order](wire::Order).
    Quick,
    /// Something is not so: nothing was told, and one has to begin anew.
    GivenUp,
    /// Puts each message in order before it looks into it, and tells what is wrong.
    Thorough,
}

/// How one came to where the walk is, from the end.
#[derive(Clone, Copy)]
struct Way<'a> {
    before: Option<&'a Self>,
    step: Step<'a>,
    depth: usize,
    /// The field that holds what one has come to, and the message that has that field.
    field: (&'static str, &'static str),
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Start,
    Field(&'static str),
    Element(&'static str, usize),
    Entry(&'static str, Value<'a>),
    /// A message that stands in an `Any`: named by its type instead of by the field, which has no say in it.
    Typed(&'static Message),
}

pub(super) fn walk(validator: &Validator, type_url: &str, bytes: &[u8]) -> Vec<Violation> {
    let mut walk = Walk {
        validator,
        pace: Pace::Quick,
        found: Vec::new(),
    };
    let plan = message_of(type_url);
    if let Some(plan) = plan {
        walk.message(plan, bytes, &Way::START);
        if walk.pace == Pace::Quick {
            return Vec::new();
        }
    }
    walk.pace = Pace::Thorough;
    match plan {
        Some(plan) => walk.message(plan, bytes, &Way::START),
        None => walk.tell_unknown(type_url, &Way::START),
    }
    walk.found
}

impl Walk<'_> {
    fn message(&mut self, plan: &'static Message, bytes: &[u8], way: &Way<'_>) {
        if way.depth > MAX_DEPTH {
            return self.tell(
                way,
                Rule::Depth,
                format_args!("lies more than {MAX_DEPTH} messages deep"),
            );
        }
        let walked = match self.pace {
            Pace::Thorough => {
                wire::settled(plan, bytes).and_then(|bytes| self.fields(plan, &bytes, way))
            }
            _ => self.fields(plan, bytes, way),
        };
        if let Err(malformed) = walked {
            self.tell_malformed(way, malformed);
        }
    }

    /// All fields of a message whose elements lie together.
    fn fields(
        &mut self,
        plan: &'static Message,
        bytes: &[u8],
        way: &Way<'_>,
    ) -> Result<(), Malformed> {
        let mut order = Order::default();
        let (mut near, mut count) = (None, 0);
        for field in wire::fields(bytes) {
            let (number, value) = field?;
            let Some(at) = plan.find(number, near.unwrap_or(0)) else {
                continue;
            };
            let field = &plan.fields[at];
            if !value.fits(field) {
                continue;
            }
            if self.is_done() {
                return Ok(());
            }
            if near != Some(at) {
                if let Some(near) = near {
                    self.judge_count(plan, &plan.fields[near], (count, bytes), way)?;
                }
                (near, count) = (Some(at), 0);
            }
            order.see(plan, at, value);
            count = self.field(plan, field, (value, count), way)?;
        }
        if let Some(near) = near {
            self.judge_count(plan, &plan.fields[near], (count, bytes), way)?;
        }
        if self.pace == Pace::Quick && !order.is_kept(plan) {
            self.pace = Pace::GivenUp;
        }
        self.judge_absent(plan, order.seen(), way)
    }

    /// A field of which so many were there before; gives how many there are with it.
    fn field(
        &mut self,
        plan: &'static Message,
        field: &'static Field,
        (value, count): (Value<'_>, usize),
        way: &Way<'_>,
    ) -> Result<usize, Malformed> {
        let element = |count| way.at(plan, field.name, Step::Element(field.name, count));
        match (&field.holds, value) {
            _ if plan.entry => self.value(&field.holds, value, &way.at_part(field.name)),
            _ if !field.is_repeated() => {
                let way = way.at(plan, field.name, Step::Field(field.name));
                self.value(&field.holds, value, &way);
            }
            (holds, Value::Bytes(values)) if value.is_packed(field) => {
                let mut count = count;
                for value in wire::packed(values, field.wire) {
                    self.value(holds, value?, &element(count));
                    count += 1;
                }
                return Ok(count);
            }
            (Holds::Message(entry), Value::Bytes(bytes)) if entry.entry => {
                let key = wire::key(entry, bytes).unwrap_or(Value::Bytes(b"?"));
                let way = way.at(plan, field.name, Step::Entry(field.name, key));
                self.message(entry, bytes, &way);
            }
            (holds, value) => self.value(holds, value, &element(count)),
        }
        Ok(count + 1)
    }

    /// What is not there.
    fn judge_absent(
        &mut self,
        plan: &'static Message,
        seen: Members,
        way: &Way<'_>,
    ) -> Result<(), Malformed> {
        let mut unseen = plan.asked & !seen;
        while unseen != 0 && !self.is_done() {
            let at = unseen.trailing_zeros() as usize;
            unseen &= unseen - 1;
            self.absent(plan, &plan.fields[at], way)?;
        }
        for oneof in plan.oneofs.iter().filter(|oneof| oneof.required) {
            if oneof.members & seen == 0 {
                let way = way.at(plan, oneof.name, Step::Field(oneof.name));
                self.tell(
                    &way,
                    Rule::OneofRequired,
                    format_args!("one of its fields must be there"),
                );
            }
        }
        Ok(())
    }

    /// A field that is not there, and may be wrong by that.
    fn absent(
        &mut self,
        plan: &'static Message,
        field: &'static Field,
        way: &Way<'_>,
    ) -> Result<(), Malformed> {
        let to = way.at(plan, field.name, Step::Field(field.name));
        match field.times {
            Times::Optional => {}
            Times::Required => self.tell(&to, Rule::Required, format_args!("must be there")),
            Times::Always if plan.entry => {
                let to = way.at_part(field.name);
                self.value(&field.holds, Value::default(field.wire), &to);
            }
            Times::Always => self.value(&field.holds, Value::default(field.wire), &to),
            Times::Many(_) => self.judge_count(plan, field, (0, b""), way)?,
        }
        Ok(())
    }

    #[inline(always)]
    fn judge_count(
        &mut self,
        plan: &'static Message,
        field: &'static Field,
        (count, bytes): (usize, &[u8]),
        way: &Way<'_>,
    ) -> Result<(), Malformed> {
        match field.times {
            Times::Many(items) if !items.allow(count) => {
                self.judge_items(plan, field, (items, count, bytes), way)
            }
            _ => Ok(()),
        }
    }

    fn judge_items(
        &mut self,
        plan: &'static Message,
        field: &'static Field,
        (Items { min, max, unique }, count, bytes): (&Items, usize, &[u8]),
        way: &Way<'_>,
    ) -> Result<(), Malformed> {
        let way = way.at(plan, field.name, Step::Field(field.name));
        if count < *min {
            self.tell(
                &way,
                Rule::MinItems,
                format_args!("must have at least {min}, and has {count}"),
            );
        }
        if count > *max {
            self.tell(
                &way,
                Rule::MaxItems,
                format_args!("must have at most {max}, and has {count}"),
            );
        }
        if *unique
            && count > 1
            && let Some(twice) = first_twice(field, bytes)?
        {
            self.tell(
                &way,
                Rule::Unique,
                format_args!("must not have two that are equal, as [{twice}] and an earlier"),
            );
        }
        Ok(())
    }

    fn value(&mut self, holds: &'static Holds, value: Value<'_>, way: &Way<'_>) {
        if let Err(malformed) = self.judge(holds, value, way) {
            self.tell_malformed(way, malformed);
        }
    }

    fn judge(
        &mut self,
        holds: &'static Holds,
        value: Value<'_>,
        way: &Way<'_>,
    ) -> Result<(), Malformed> {
        let mut tell = |rule, says: fmt::Arguments<'_>| self.tell(way, rule, says);
        match (holds, value) {
            (Holds::Text(text), Value::Bytes(bytes)) => match std::str::from_utf8(bytes) {
                Ok(value) => text.judge(value, &mut tell),
                Err(_) => tell(Rule::Utf8, format_args!("must be UTF-8")),
            },
            (Holds::Octets(octets), Value::Bytes(bytes)) => octets.judge(bytes, &mut tell),
            (Holds::Integer(integer, range), Value::Varint(encoded)) => {
                let value = integer.read(encoded);
                if !range.allows(value) {
                    range.tell(value, |value| value, &mut tell);
                }
            }
            (Holds::Real(real, range), Value::Fixed64(_) | Value::Fixed32(_)) => {
                let value = read_real(*real, value);
                if !range.allows(value) {
                    range.tell(value, |value| value, &mut tell);
                }
            }
            (Holds::Truth(only), Value::Varint(value)) if (value != 0) != *only => {
                tell(Rule::Const, format_args!("must be {only}"));
            }
            (Holds::Enum(rules), Value::Varint(value)) => rules.judge(value as i32, &mut tell),
            (Holds::Wrapped(holds), Value::Bytes(bytes)) => {
                let value = wire::last(bytes, 1, holds.wire())?;
                self.value(
                    holds,
                    value.unwrap_or_else(|| Value::default(holds.wire())),
                    way,
                );
            }
            (Holds::Duration(range), Value::Bytes(bytes)) => {
                let value = read_duration(bytes)?;
                if !range.allows(value) {
                    range.tell(value, Seconds, &mut tell);
                }
            }
            (Holds::Message(plan), Value::Bytes(bytes)) => self.message(plan, bytes, way),
            (Holds::Any, Value::Bytes(bytes)) => self.any(bytes, way)?,
            _ => {}
        }
        Ok(())
    }

    fn any(&mut self, bytes: &[u8], way: &Way<'_>) -> Result<(), Malformed> {
        let (mut url, mut value) = (&b""[..], &b""[..]);
        for field in wire::fields(bytes) {
            match field? {
                (1, Value::Bytes(bytes)) => url = bytes,
                (2, Value::Bytes(bytes)) => value = bytes,
                _ => {}
            }
        }
        let Ok(url) = std::str::from_utf8(url) else {
            self.tell(
                way,
                Rule::Utf8,
                format_args!("must have a type URL in UTF-8"),
            );
            return Ok(());
        };
        match message_of(url) {
            Some(plan) => self.message(plan, value, &way.at_typed(plan)),
            None if url.is_empty() && value.is_empty() => {}
            None => self.tell_unknown(url, way),
        }
        Ok(())
    }

    /// Whether there is no use in looking further.
    fn is_done(&self) -> bool {
        match self.pace {
            Pace::Quick => false,
            Pace::GivenUp => true,
            Pace::Thorough => self.found.len() >= self.validator.most,
        }
    }

    #[cold]
    fn tell_unknown(&mut self, url: &str, way: &Way<'_>) {
        let url: String = url.chars().take(200).collect();
        self.tell(
            way,
            Rule::KnownType,
            format_args!("the schema has no type {url:?}"),
        );
    }

    #[cold]
    fn tell_malformed(&mut self, way: &Way<'_>, Malformed(why): Malformed) {
        self.tell(
            way,
            Rule::Encoding,
            format_args!("is not a protobuf message: {why}"),
        );
    }

    #[cold]
    fn tell(&mut self, way: &Way<'_>, rule: Rule, says: fmt::Arguments<'_>) {
        let (message, field) = way.field;
        let policy = self.validator.policy(message, field, rule);
        if policy == Some(crate::Policy::Ignore) {
            return;
        }
        if self.pace != Pace::Thorough {
            self.pace = Pace::GivenUp;
        } else if !self.is_done() {
            self.found.push(Violation {
                path: way.path(),
                rule,
                message,
                field,
                says: says.to_string(),
                policy,
            });
        }
    }
}

impl<'a> Way<'a> {
    const START: Self = Way {
        before: None,
        step: Step::Start,
        depth: 0,
        field: ("", ""),
    };

    fn at(&'a self, plan: &'static Message, field: &'static str, step: Step<'a>) -> Self {
        Way {
            before: Some(self),
            step,
            depth: self.depth + 1,
            field: (plan.name, field),
        }
    }

    /// To the value of an entry there is no step, and none to be seen to its key.
    fn at_part(&'a self, field: &'static str) -> Self {
        let step = match field {
            "key" => Step::Field(field),
            _ => self.step,
        };
        let before = match field {
            "key" => Some(self),
            _ => self.before,
        };
        Way {
            before,
            step,
            ..*self
        }
    }

    fn at_typed(&'a self, plan: &'static Message) -> Self {
        let before = match self.step {
            Step::Field(_) => self.before,
            _ => Some(self),
        };
        Way {
            before,
            step: Step::Typed(plan),
            ..*self
        }
    }

    /// `load_assignment.endpoints[0].lb_endpoints[1].load_balancing_weight`
    fn path(&self) -> String {
        let mut steps = vec![self.step];
        let mut way = self;
        while let Some(before) = way.before {
            steps.push(before.step);
            way = before;
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            if !path.is_empty() {
                path.push('.');
            }
            let written = match step {
                Step::Start => Ok(()),
                Step::Field(name) => path.write_str(name),
                Step::Element(name, at) => write!(path, "{name}[{at}]"),
                Step::Entry(name, key) => write_entry(&mut path, name, key),
                Step::Typed(message) => snake_case(message.name, &mut path),
            };
            written.expect("a text takes all that is written to it");
        }
        path
    }
}

/// The key of a map in a path, however long it is.
fn write_entry(path: &mut String, name: &str, key: Value<'_>) -> fmt::Result {
    match key {
        Value::Bytes(key) => {
            let key: String = String::from_utf8_lossy(key).chars().take(100).collect();
            write!(path, "{name}[{key:?}]")
        }
        Value::Varint(key) | Value::Fixed64(key) => write!(path, "{name}[{key}]"),
        Value::Fixed32(key) => write!(path, "{name}[{key}]"),
    }
}

/// The last part of a full name, as a field of that type would be called.
fn snake_case(full_name: &str, out: &mut String) -> fmt::Result {
    let short = full_name.rsplit('.').next().unwrap_or(full_name);
    let mut after_lower = false;
    for letter in short.chars() {
        let is_upper = letter.is_ascii_uppercase();
        if is_upper && after_lower {
            out.write_char('_')?;
        }
        out.write_char(letter.to_ascii_lowercase())?;
        after_lower = !is_upper;
    }
    Ok(())
}

fn read_real(real: Real, value: Value<'_>) -> f64 {
    match (real, value) {
        (Real::F32, Value::Fixed32(bits)) => f64::from(f32::from_bits(bits)),
        (Real::F64, Value::Fixed64(bits)) => f64::from_bits(bits),
        _ => 0.0,
    }
}

/// In nanoseconds.
fn read_duration(bytes: &[u8]) -> Result<i128, Malformed> {
    let (mut seconds, mut nanos) = (0, 0);
    for field in wire::fields(bytes) {
        match field? {
            (1, Value::Varint(value)) => seconds = i128::from(value as i64),
            (2, Value::Varint(value)) => nanos = i128::from(value as i32),
            _ => {}
        }
    }
    Ok(seconds * Seconds::NANOS + nanos)
}

/// Which of the elements of a field is the first that is equal to an earlier one.
fn first_twice(field: &Field, message: &[u8]) -> Result<Option<usize>, Malformed> {
    let (mut seen, mut count) = (BTreeSet::new(), 0);
    let mut is_new = |value: Value<'_>| {
        count += 1;
        match (field.holds, value) {
            (_, Value::Bytes(bytes)) => seen.insert((0, bytes.to_vec())),
            (Holds::Integer(integer, _), Value::Varint(encoded)) => {
                seen.insert((integer.read(encoded), Vec::new()))
            }
            (Holds::Real(real, _), value) => match read_real(real, value) {
                // No NaN is equal to another.
                real if real.is_nan() => true,
                real => seen.insert((i128::from((real + 0.0).to_bits()), Vec::new())),
            },
            (_, Value::Varint(bits) | Value::Fixed64(bits)) => {
                seen.insert((i128::from(bits), Vec::new()))
            }
            (_, Value::Fixed32(bits)) => seen.insert((i128::from(bits), Vec::new())),
        }
    };
    for found in wire::fields(message) {
        let (number, value) = found?;
        if number != field.number || !value.fits(field) {
            continue;
        }
        let all_new = match value {
            Value::Bytes(values) if value.is_packed(field) => {
                let mut all_new = true;
                for value in wire::packed(values, field.wire) {
                    all_new = is_new(value?);
                    if !all_new {
                        break;
                    }
                }
                all_new
            }
            value => is_new(value),
        };
        if !all_new {
            return Ok(Some(count - 1));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
