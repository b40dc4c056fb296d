//! Bodies that are no protobuf messages.

use portolan_core::{Name, Resource, TypeUrl};

use crate::{GateRefusal, Proposal};

/// A resource whose body is no message of any type, so that no client could read it: the [reason](GateRefusal::reason)
/// of the refusal of whatever holds it.
///
/// Every new or changed body is looked at as far as that can be done without its schema: it has to be a sequence of
/// fields, to its last byte. Whether it is a message of the right type, and whether its values make sense, is for
/// [gates](crate::Gate) of your own to say.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the body of {} {name:?} is no protobuf message: it makes no sense from byte {at} of {len} on",
    type_url.message_name()
)]
pub struct MalformedResource {
    type_url: TypeUrl,
    name: Name,
    at: usize,
    len: usize,
}

impl MalformedResource {
    /// The type of the resource.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }
}

/// Refuses the first malformed body there is.
pub(crate) fn check<G>(proposal: &Proposal<'_, G>) -> Result<(), GateRefusal> {
    let first = proposal.upserts().find_map(malformed);
    first.map_or(Ok(()), |found| Err(GateRefusal::new(found)))
}

fn malformed(resource: &Resource) -> Option<MalformedResource> {
    let body = resource.body();
    let at = first_error(&body)?;
    Some(MalformedResource {
        type_url: resource.type_url().clone(),
        name: resource.name().clone(),
        at,
        len: body.len(),
    })
}

/// Where the first field starts that is none.
fn first_error(body: &[u8]) -> Option<usize> {
    let mut rest = body;
    // The groups that are open, by number, and where they started.
    let mut groups = Vec::new();
    while !rest.is_empty() {
        let at = body.len() - rest.len();
        let Some((number, field, next)) = field(rest) else {
            return Some(at);
        };
        match field {
            Field::GroupStart => groups.push((number, at)),
            Field::GroupEnd if groups.pop().is_none_or(|(open, _)| open != number) => {
                return Some(at);
            }
            Field::GroupEnd | Field::Value => {}
        }
        rest = next;
    }
    groups.first().map(|(_, at)| *at)
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Value,
    GroupStart,
    GroupEnd,
}

/// The number and kind of the first field, and what follows it.
fn field(bytes: &[u8]) -> Option<(u64, Field, &[u8])> {
    let (key, rest) = varint(bytes)?;
    // The highest number of a field has 29 bits.
    let number = Some(key >> 3).filter(|number| (1..1 << 29).contains(number))?;
    let (field, rest) = match key & 7 {
        0 => (Field::Value, varint(rest)?.1),
        1 => (Field::Value, rest.get(8..)?),
        2 => {
            let (len, rest) = varint(rest)?;
            (Field::Value, rest.get(usize::try_from(len).ok()?..)?)
        }
        3 => (Field::GroupStart, rest),
        4 => (Field::GroupEnd, rest),
        5 => (Field::Value, rest.get(4..)?),
        _ => return None,
    };
    Some((number, field, rest))
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use portolan_core::Snapshot;
    use portolan_core::well_known::CLUSTER;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_of_every_kind_are_a_message() {
        let message = [
            &b"\x08\x96\x01"[..],                    // 1: varint
            b"\x11\x01\x02\x03\x04\x05\x06\x07\x08", // 2: 64 bits
            b"\x1a\x03abc",                          // 3: bytes
            b"\x23\x08\x01\x24",                     // 4: a group
            b"\x2d\x01\x02\x03\x04",                 // 5: 32 bits
            b"\x32\x00",                             // 6: no bytes
        ];
        assert_eq!(first_error(&message.concat()), None);
        assert_eq!(first_error(b""), None);
    }

    #[test]
    fn what_is_cut_off_or_no_field_is_found() {
        for (body, at) in [
            (&b"\x0a\x05abc"[..], 0),  // shorter than it says
            (b"\x0a\x01a\x11\x01", 3), // seven bytes are missing
            (b"\x00\x01", 0),          // field 0
            (b"\x0f", 0),              // no such wire type
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0), // eleven bytes for a number
            (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0), // longer than memory
            (b"\x08\x01\x24", 2),      // a group ends that is not open
            (b"\x23\x08\x01", 0),      // a group that stays open
            (b"\x23\x2c", 1),          // another group ends
            (b"<html>", 0),
            (b"{\"name\":\"a\"}", 1),
        ] {
            assert_eq!(first_error(body), Some(at), "{body:x?}");
        }
    }

    /// An encoded field with its number, and what fills it.
    fn any_field() -> impl Strategy<Value = Vec<u8>> {
        let content = prop_oneof![
            prop::collection::vec(0x80..=0xff_u8, 0..9)
                .prop_map(|high| (0, [high, vec![1]].concat())),
            any::<[u8; 8]>().prop_map(|bytes| (1, bytes.to_vec())),
            any::<[u8; 4]>().prop_map(|bytes| (5, bytes.to_vec())),
            prop::collection::vec(any::<u8>(), 0..100).prop_map(|bytes| {
                let len = u8::try_from(bytes.len()).unwrap();
                (2, [vec![len], bytes].concat())
            }),
        ];
        (1..16_u8, content)
            .prop_map(|(number, (kind, content))| [vec![number << 3 | kind], content].concat())
    }

    proptest! {
        #[test]
        fn a_message_that_is_cut_off_is_found_unless_between_two_fields(
            fields in prop::collection::vec(any_field(), 0..6),
            cut: prop::sample::Index,
        ) {
            let message = fields.concat();
            prop_assert_eq!(first_error(&message), None);
            let cut = cut.index(message.len() + 1);
            let mut boundary = 0;
            let boundaries = fields.iter().map(|field| {
                boundary += field.len();
                boundary
            });
            let last = boundaries.filter(|end| *end <= cut).last().unwrap_or(0);
            prop_assert_eq!(first_error(&message[..cut]), (last < cut).then_some(last));
        }

        #[test]
        fn bytes_of_any_kind_are_looked_at_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(first_error(&body).is_none_or(|at| at < body.len()));
        }
    }

    #[test]
    fn the_refusal_names_the_resource() {
        let mut builder = Snapshot::builder();
        for (name, body) in [("good", "\u{a}\u{1}a"), ("torn", "\u{a}\u{9}a")] {
            let resource = Resource::builder(CLUSTER, name, body.as_bytes());
            builder.insert(resource).unwrap();
        }
        let next = builder.build();
        let refusal = check(&Proposal::new(&"edge", None, &next)).unwrap_err();
        let found: &MalformedResource = refusal.reason().downcast_ref().unwrap();
        assert_eq!(
            (found.type_url(), found.name().as_str()),
            (&CLUSTER, "torn")
        );
        assert_eq!(
            refusal.to_string(),
            "the body of envoy.config.cluster.v3.Cluster \"torn\" is no protobuf message: it makes no sense from byte 0 \
             of 3 on"
        );
        assert!(
            check(&Proposal::new(&"edge", Some(&next), &next)).is_ok(),
            "it is no news"
        );
    }
}
