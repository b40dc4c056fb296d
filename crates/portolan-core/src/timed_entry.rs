//! Entries of responses to clients that are told of times to live, or in state of the world of constraints. Few resources
//! have either, so these entries are made for each response, and what all streams share stays without.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use crate::resource::put_name;
use crate::wire::{field_len, put_field, put_head, put_varint, varint_len};
use crate::{Constraints, EntryForm, Name, Resource, Version};

/// The message around a resource of state of the world that has more than a body (C-287).
const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

mod field {
    /// `resources` in both discovery responses.
    pub(super) const RESOURCES: u8 = 2;
    pub(super) const VERSION: u8 = 1;
    pub(super) const TTL: u8 = 6;
    pub(super) const ANY_TYPE_URL: u8 = 1;
    pub(super) const ANY_VALUE: u8 = 2;
    /// Keys of the numbers of `google.protobuf.Duration`.
    pub(super) const SECONDS: u8 = 1 << 3;
    pub(super) const NANOS: u8 = 2 << 3;
}

/// The entry of a resource with its time to live: in delta with its `ttl`, in state of the world within a wrapper that
/// has `version`, which is that of the response, and the name without constraints. Without a time to live it is the entry
/// that all streams share.
#[must_use]
pub fn timed_entry(resource: &Resource, form: EntryForm, version: &Version) -> Bytes {
    let Some(ttl) = resource.ttl() else {
        return resource.entry(form);
    };
    let shared = resource.entry(form);
    match form {
        EntryForm::Delta => {
            let mut inner = BytesMut::from(content(&shared));
            put_field(field::TTL, &duration(ttl), &mut inner);
            entry_of(&inner, form)
        }
        EntryForm::Sotw => wrapped(resource, None, version, Some(ttl)),
    }
}

/// The state-of-the-world entry of a resource within a wrapper, which has its name, its constraints if there are any (C-313),
/// `version`, which is that of the response, and a time to live if that is told.
#[must_use]
pub fn wrapped_entry(resource: &Resource, version: &Version, ttl: Option<Duration>) -> Bytes {
    wrapped(resource, resource.constraints(), version, ttl)
}

fn wrapped(
    resource: &Resource,
    constraints: Option<&Constraints>,
    version: &Version,
    ttl: Option<Duration>,
) -> Bytes {
    let shared = resource.entry(EntryForm::Sotw);
    let mut inner = BytesMut::with_capacity(wrapped_len(resource, version.as_str().len(), ttl));
    put_field(field::VERSION, version.as_str().as_bytes(), &mut inner);
    put_name(resource.name(), constraints, &mut inner);
    // `resources` of a response and `resource` of the wrapper have one number.
    inner.extend_from_slice(&shared);
    if let Some(ttl) = ttl {
        put_field(field::TTL, &duration(ttl), &mut inner);
    }
    entry_of(&inner, EntryForm::Sotw)
}

/// Length of what is wrapped.
fn wrapped_len(resource: &Resource, version_len: usize, ttl: Option<Duration>) -> usize {
    let name_len = match resource.constraints() {
        None => field_len(resource.name().len()),
        constraints => {
            let mut name = BytesMut::new();
            put_name(resource.name(), constraints, &mut name);
            name.len()
        }
    };
    let ttl_len = ttl.map_or(0, |ttl| field_len(duration(ttl).len()));
    field_len(version_len) + name_len + resource.entry_len(EntryForm::Sotw) + ttl_len
}

/// Length of [`wrapped_entry`] in bytes, with a version of `version_len` bytes; [`timed_entry`] has at most as many.
#[must_use]
pub fn wrapped_entry_len(resource: &Resource, version_len: usize, ttl: Option<Duration>) -> usize {
    let inner = wrapped_len(resource, version_len, ttl);
    field_len(field_len(WRAPPER.len()) + field_len(inner))
}

/// Length of [`timed_entry`] in bytes, with a version of `version_len` bytes.
#[must_use]
pub fn timed_entry_len(resource: &Resource, form: EntryForm, version_len: usize) -> usize {
    let shared = resource.entry_len(form);
    let Some(ttl) = resource.ttl() else {
        return shared;
    };
    match form {
        // The length of the shared entry's own length may grow by a byte; rounded up.
        EntryForm::Delta => shared + field_len(duration(ttl).len()) + 1,
        EntryForm::Sotw => wrapped_entry_len(resource, version_len, Some(ttl)),
    }
}

/// The entry that tells that a resource lives on: its name, the version that the client was sent last, and its time to
/// live, but no body (C-292).
#[must_use]
pub fn heartbeat_entry(name: &Name, version: &Version, ttl: Duration, form: EntryForm) -> Bytes {
    let mut inner = BytesMut::new();
    put_field(field::VERSION, version.as_str().as_bytes(), &mut inner);
    put_name(name, name.constraints().as_ref(), &mut inner);
    put_field(field::TTL, &duration(ttl), &mut inner);
    entry_of(&inner, form)
}

/// The entry that holds an encoded `envoy.service.discovery.v3.Resource`.
fn entry_of(resource: &[u8], form: EntryForm) -> Bytes {
    let mut entry = BytesMut::new();
    match form {
        EntryForm::Delta => put_field(field::RESOURCES, resource, &mut entry),
        EntryForm::Sotw => {
            let any_len = field_len(WRAPPER.len()) + field_len(resource.len());
            put_head(field::RESOURCES, any_len, &mut entry);
            put_field(field::ANY_TYPE_URL, WRAPPER.as_bytes(), &mut entry);
            put_field(field::ANY_VALUE, resource, &mut entry);
        }
    }
    entry.freeze()
}

/// What an entry has behind its key and length.
fn content(entry: &[u8]) -> &[u8] {
    let head = (1..entry.len()).find(|len| 1 + varint_len(entry.len() - len) == *len);
    &entry[head.expect("an entry has a key and a length")..]
}

/// An encoded `google.protobuf.Duration`.
fn duration(ttl: Duration) -> BytesMut {
    let mut out = BytesMut::new();
    let numbers = [
        (field::SECONDS, ttl.as_secs()),
        (field::NANOS, u64::from(ttl.subsec_nanos())),
    ];
    for (key, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
        out.put_u8(key);
        put_varint(number, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::RUNTIME;

    fn living(body: Vec<u8>, ttl: Duration) -> Resource {
        let builder = Resource::builder(RUNTIME, "a", body).version("7");
        builder.ttl(ttl).build().unwrap()
    }

    const TTL: Duration = Duration::from_millis(2_500);

    #[test]
    fn in_delta_the_time_to_live_follows_what_all_streams_share() {
        for len in [0, 40, 126, 127, 200, 16_383, 70_000] {
            let resource = living(vec![7; len], TTL);
            let shared = resource.entry(EntryForm::Delta);
            let timed = timed_entry(&resource, EntryForm::Delta, resource.version());
            let ttl = b"\x32\x08\x08\x02\x10\x80\xca\xb5\xee\x01";
            assert!(timed.ends_with(ttl), "{timed:?}");
            assert_eq!(content(&timed).len(), content(&shared).len() + ttl.len());
            assert!(content(&timed).starts_with(content(&shared)));
            let most = timed_entry_len(&resource, EntryForm::Delta, 1);
            assert!((timed.len()..=timed.len() + 1).contains(&most));
        }
    }

    #[test]
    fn in_state_of_the_world_it_is_wrapped() {
        for len in [0, 100, 20_000] {
            let resource = living(vec![7; len], Duration::from_secs(2));
            let version = Version::from("of the response");
            let entry = timed_entry(&resource, EntryForm::Sotw, &version);
            let len = timed_entry_len(&resource, EntryForm::Sotw, version.as_str().len());
            assert_eq!(entry.len(), len);
            let any = content(&entry);
            assert_eq!(&any[2..][..WRAPPER.len()], WRAPPER.as_bytes());
            let inner = content(&any[2 + WRAPPER.len()..]);
            let shared = resource.entry(EntryForm::Sotw);
            let expected = [
                &b"\x0a\x0fof the response\x1a\x01a"[..],
                &shared,
                b"\x32\x02\x08\x02",
            ];
            assert_eq!(inner, expected.concat());
        }
    }

    #[test]
    fn c313_constraints_are_in_the_wrapper() {
        let builder = Resource::builder(RUNTIME, "a", &b"x"[..]);
        let resource = builder
            .constraints(Constraints::exists("k"))
            .build()
            .unwrap();
        let version = Version::from("of the response");
        for ttl in [None, Some(Duration::from_secs(2))] {
            let entry = wrapped_entry(&resource, &version, ttl);
            assert_eq!(
                entry.len(),
                wrapped_entry_len(&resource, version.as_str().len(), ttl)
            );
            let any = content(&entry);
            let inner = content(&any[2 + WRAPPER.len()..]);
            let shared = resource.entry(EntryForm::Sotw);
            let name = b"\x42\x0c\x0a\x01a\x12\x07\x0a\x05\x0a\x01k\x1a\x00";
            let ttl = ttl.map_or(&b""[..], |_| b"\x32\x02\x08\x02");
            let expected = [&b"\x0a\x0fof the response"[..], name, &shared, ttl];
            assert_eq!(inner, expected.concat());
        }
    }

    #[test]
    fn a_heartbeat_has_no_body() {
        let entry = heartbeat_entry(
            &"a".into(),
            &"7".into(),
            Duration::from_secs(300),
            EntryForm::Delta,
        );
        assert_eq!(
            entry,
            &b"\x12\x0b\x0a\x017\x1a\x01a\x32\x03\x08\xac\x02"[..]
        );
    }

    #[test]
    fn without_a_time_to_live_the_entry_is_the_shared_one() {
        let resource = Resource::builder(RUNTIME, "a", &b"x"[..]).build().unwrap();
        for form in [EntryForm::Sotw, EntryForm::Delta] {
            let entry = timed_entry(&resource, form, resource.version());
            assert_eq!(entry.as_ptr(), resource.entry(form).as_ptr());
            assert_eq!(entry.len(), timed_entry_len(&resource, form, 9));
        }
    }
}
