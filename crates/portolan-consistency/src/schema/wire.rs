//! Encoded messages, read without copying; and put in order, where parts of one field lie apart.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::plan::{Field, Members, Message, Oneof, Wire};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// Bytes that are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// The fields of a message with their numbers. After an error it ends.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a>(&'a [u8]);

pub(super) fn fields(message: &[u8]) -> Fields<'_> {
    Fields(message)
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    #[inline(always)]
    fn field(&mut self) -> Result<(u32, Value<'a>), Malformed> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).unwrap_or_default();
        if number == 0 || number >= 1 << 29 {
            return Err(Malformed("it has a field of an impossible number"));
        }
        Ok((number, self.value(key & 7)?))
    }

    #[inline(always)]
    fn value(&mut self, wire: u64) -> Result<Value<'a>, Malformed> {
        match wire {
            0 => self.varint().map(Value::Varint),
            1 => self.array().map(u64::from_le_bytes).map(Value::Fixed64),
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_| TOO_SHORT)?;
                self.take(len).map(Value::Bytes)
            }
            5 => self.array().map(u32::from_le_bytes).map(Value::Fixed32),
            3 | 4 => Err(Malformed("it has a group, which no xDS message has")),
            _ => Err(Malformed("it has a field of an unknown wire type")),
        }
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Malformed> {
        if let [byte @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*byte));
        }
        let (value, rest) = long_varint(self.0)?;
        self.0 = rest;
        Ok(value)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// A number of more than seven bits, and what is behind it.
#[inline(never)]
fn long_varint(mut bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(TOO_SHORT)?;
        bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 && (shift < 63 || *byte < 2) {
            return Ok((value, bytes));
        }
    }
    Err(Malformed("it has a number of more than 64 bits"))
}

const TOO_SHORT: Malformed = Malformed("it ends too early");

/// The numbers that lie one behind the other in one value.
pub(super) fn packed(
    values: &[u8],
    wire: Wire,
) -> impl Iterator<Item = Result<Value<'_>, Malformed>> {
    let mut rest = Fields(values);
    std::iter::from_fn(move || {
        if rest.0.is_empty() {
            return None;
        }
        let value = rest.value(match wire {
            Wire::Varint => 0,
            Wire::Fixed64 => 1,
            Wire::Bytes => 2,
            Wire::Fixed32 => 5,
        });
        if value.is_err() {
            rest.0 = &[];
        }
        Some(value)
    })
}

impl<'a> Value<'a> {
    /// What a reader has where there is nothing.
    pub(super) fn default(wire: Wire) -> Self {
        match wire {
            Wire::Varint => Self::Varint(0),
            Wire::Fixed64 => Self::Fixed64(0),
            Wire::Bytes => Self::Bytes(b""),
            Wire::Fixed32 => Self::Fixed32(0),
        }
    }

    fn wire(&self) -> Wire {
        match self {
            Self::Varint(_) => Wire::Varint,
            Self::Fixed64(_) => Wire::Fixed64,
            Self::Bytes(_) => Wire::Bytes,
            Self::Fixed32(_) => Wire::Fixed32,
        }
    }

    /// Whether a reader takes it for this field. What it does not take it passes over, as it does unknown fields.
    #[inline]
    pub(super) fn fits(&self, field: &Field) -> bool {
        self.wire() == field.wire || self.is_packed(field)
    }

    /// Whether it is several numbers.
    #[inline]
    pub(super) fn is_packed(&self, field: &Field) -> bool {
        field.wire != Wire::Bytes && self.wire() == Wire::Bytes && field.is_repeated()
    }

    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// The value that counts of a field that holds no message: the last.
pub(super) fn last(
    message: &[u8],
    number: u32,
    wire: Wire,
) -> Result<Option<Value<'_>>, Malformed> {
    let mut found = None;
    for field in fields(message) {
        let (at, value) = field?;
        if at == number && value.wire() == wire {
            found = Some(value);
        }
    }
    Ok(found)
}

/// The key of an entry of a map; of a malformed one there is none.
pub(super) fn key<'a>(entry: &Message, bytes: &'a [u8]) -> Option<Value<'a>> {
    // Of numbers as keys nothing is asked, so they are not in the plan.
    let key = entry.fields.first().filter(|field| field.number == 1);
    let wire = key.map_or(Wire::Varint, |key| key.holds.wire());
    let key = last(bytes, 1, wire).ok()?;
    Some(key.unwrap_or_else(|| Value::default(wire)))
}

/// Whether the fields of a message lie as encoders write them: no field is there twice that may be there once, no two
/// members of a oneof are there, no two entries of a map have one key, and the elements of a field lie together. The keys
/// of maps must be in order too, so that those before the last need not be remembered.
#[derive(Default)]
pub(super) struct Order<'a> {
    seen: Members,
    near: usize,
    key_before: Option<Value<'a>>,
    is_broken: bool,
}

impl<'a> Order<'a> {
    /// Takes note of the next field, by its place in the plan.
    #[inline]
    pub(super) fn see(&mut self, plan: &Message, at: usize, value: Value<'a>) {
        let field = &plan.fields[at];
        let bit = 1 << at;
        let is_again = self.seen & bit != 0;
        let goes_on = at == self.near && field.is_repeated();
        self.is_broken |= is_again && !goes_on;
        if let (Some(entry), Value::Bytes(bytes)) = (field.entry(), value) {
            let key = key(entry, bytes);
            self.is_broken |= is_again && key <= self.key_before;
            self.key_before = key;
        }
        self.seen |= bit;
        self.near = at;
    }

    /// The fields that were seen.
    pub(super) fn seen(&self) -> Members {
        self.seen
    }

    /// Whether all that was seen lies so.
    #[inline]
    pub(super) fn is_kept(&self, plan: &Message) -> bool {
        let is_one = |oneof: &Oneof| {
            let there = self.seen & oneof.members;
            there & there.wrapping_sub(1) == 0
        };
        !self.is_broken && plan.oneofs.iter().all(is_one)
    }
}

/// The bytes of a message in [order](Order): as they are, or else what a reader makes of them, for whom later values win
/// and messages are merged.
pub(super) fn settled<'a>(plan: &Message, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, Malformed> {
    let mut order = Order::default();
    for field in fields(bytes) {
        let (number, value) = field?;
        if let Some(at) = plan.find(number, order.near)
            && value.fits(&plan.fields[at])
        {
            order.see(plan, at, value);
        }
    }
    match order.is_kept(plan) {
        true => Ok(Cow::Borrowed(bytes)),
        false => merged(plan, bytes).map(Cow::Owned),
    }
}

/// What a reader makes of a message, without what the plan does not speak of.
fn merged(plan: &Message, bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut found: Vec<Vec<Value<'_>>> = vec![Vec::new(); plan.fields.len()];
    let mut entries = BTreeMap::new();
    for field in fields(bytes) {
        let (number, value) = field?;
        let Some(at) = plan.find(number, 0) else {
            continue;
        };
        let field = &plan.fields[at];
        if !value.fits(field) {
            continue;
        }
        for oneof in plan.oneofs.iter().filter(|o| o.members & (1 << at) != 0) {
            let members = (0..found.len()).filter(|other| oneof.members & (1 << other) != 0);
            members
                .filter(|other| *other != at)
                .for_each(|other| found[other].clear());
        }
        if !field.is_repeated() && !field.holds.is_message() {
            found[at].clear();
        }
        let end = found[at].len();
        let place = match (field.entry(), value) {
            // It takes the place of the one with its key.
            (Some(entry), Value::Bytes(bytes)) => {
                *entries.entry((at, key(entry, bytes))).or_insert(end)
            }
            _ => end,
        };
        match found[at].get_mut(place) {
            Some(earlier) => *earlier = value,
            None => found[at].push(value),
        }
    }
    let mut out = Vec::with_capacity(bytes.len());
    for (field, values) in plan.fields.iter().zip(&found) {
        match &values[..] {
            [Value::Bytes(_), _, ..] if !field.is_repeated() => {
                let parts: Vec<_> = values.iter().filter_map(Value::bytes).collect();
                put(&mut out, field.number, Value::Bytes(&parts.concat()));
            }
            values => values
                .iter()
                .for_each(|value| put(&mut out, field.number, *value)),
        }
    }
    Ok(out)
}

fn put(out: &mut Vec<u8>, number: u32, value: Value<'_>) {
    let key = |wire: u32| u64::from(number << 3 | wire);
    match value {
        Value::Varint(value) => {
            put_varint(out, key(0));
            put_varint(out, value);
        }
        Value::Fixed64(value) => {
            put_varint(out, key(1));
            out.extend(value.to_le_bytes());
        }
        Value::Bytes(bytes) => {
            put_varint(out, key(2));
            put_varint(out, bytes.len() as u64);
            out.extend(bytes);
        }
        Value::Fixed32(value) => {
            put_varint(out, key(5));
            out.extend(value.to_le_bytes());
        }
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
