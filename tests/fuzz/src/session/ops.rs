use std::time::Duration;

use bytes::Bytes;
use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, RUNTIME, SCOPED_ROUTE, SECRET,
    VIRTUAL_HOST,
};
use portolan_core::{Constraints, Name, Resource, ResourceBuilder, Snapshot, TypeUrl};
use portolan_engine::{DeltaRequest, ErrorDetail, Locator, Request, SotwRequest, Variant};
use portolan_testkit::PlainClient;

use super::World;
use super::store::Store;
use crate::input::Input;

/// What a byte of an input begins.
pub(crate) mod op {
    pub(crate) const REQUEST: u8 = 0;
    pub(crate) const PUBLISH: u8 = 1;
    pub(crate) const ADVANCE: u8 = 2;
    pub(crate) const DRIVE: u8 = 3;
    pub(crate) const ACK: u8 = 4;
    pub(crate) const NACK: u8 = 5;
    pub(crate) const ACKS: u8 = 6;
    pub(crate) const READING: u8 = 7;
    pub(crate) const SENDING: u8 = 8;
    pub(crate) const WINDOW: u8 = 9;
    pub(crate) const RECONNECT: u8 = 10;
    pub(crate) const RESTART: u8 = 11;
    pub(crate) const CLEAR: u8 = 12;
    pub(crate) const OTHER_VARIANT: u8 = 13;
    pub(crate) const RESUME: u8 = 14;
    pub(crate) const COUNT: usize = 15;
}

/// Types, with the names that traces have for them.
pub(crate) const TYPES: [(&str, TypeUrl); 12] = [
    ("CDS", CLUSTER),
    ("EDS", ENDPOINT),
    ("LDS", LISTENER),
    ("RDS", ROUTE),
    ("SDS", SECRET),
    ("VHDS", VIRTUAL_HOST),
    ("SRDS", SCOPED_ROUTE),
    ("RTDS", RUNTIME),
    ("ECDS", EXTENSION_CONFIG),
    ("", TypeUrl::from_static("")),
    (
        "?",
        TypeUrl::from_static("type.googleapis.com/unknown.v1.Thing"),
    ),
    ("UNKNOWN", TypeUrl::from_static("unknown")),
];

/// From here to [`URL`] numbers stand for names of which there are alternatives, and for what clients say of themselves with
/// them.
pub(crate) const LOCATED: u8 = 0x60;

/// A name that is none.
pub(crate) const EMPTY: u8 = 0xff;
/// The name that means everything.
pub(crate) const STAR: u8 = 0xfe;
const NOT_TEXT: u8 = 0xfd;
const LONG: u8 = 0xfc;

/// Names that resources can have, plain ones and, from [`URL`] on, as many in URL form.
const NAMES: u8 = 40;

/// From here on numbers stand for names in URL form, for their other spelling, and for their globs.
pub(crate) const URL: u8 = 0x80;
pub(crate) const OTHER_SPELLING: u8 = 0xc0;
pub(crate) const GLOB: u8 = 0xe0;

/// Lets one thing happen.
pub(super) fn apply(world: &mut World, input: &mut Input<'_>) {
    let op = u8::try_from(input.below(op::COUNT)).expect("there are few");
    match op {
        op::REQUEST => {
            let request = request(world.variant, &mut world.pair.client, input);
            world.pair.client.send(request);
        }
        op::OTHER_VARIANT => {
            let other = match world.variant {
                Variant::Sotw => Variant::Delta,
                _ => Variant::Sotw,
            };
            let request = request(other, &mut world.pair.client, input);
            world.pair.client.send(request);
        }
        op::PUBLISH => publish(&mut world.store, input),
        op::ADVANCE => world.pair.advance(time(input)),
        op::DRIVE => world.pair.drive(),
        op::ACK => world.pair.client.ack(&type_url(input)),
        op::NACK => world.pair.client.nack(&type_url(input)),
        op::ACKS => world.pair.client.set_acks(input.byte() & 1 == 1),
        op::READING => world.pair.set_reading(input.byte() & 1 == 1),
        op::SENDING => world.pair.set_sending(input.byte() & 1 == 1),
        op::WINDOW => world.pair.set_window(input.below(4)),
        op::RECONNECT => world.pair.connect(),
        op::RESTART => {
            world.store = world.store.restarted();
            world.pair.connect_to(world.store.source());
        }
        op::CLEAR => world.store.clear(),
        op::RESUME => resume(&mut world.pair.client, input),
        _ => {}
    }
}

/// Publishes what there is, made anew, so that nothing of it is the same value.
pub(super) fn publish_again(store: &mut Store) {
    let Some(published) = store.snapshot() else {
        return;
    };
    let mut again = Snapshot::builder();
    for (_, set) in published.sets() {
        for resource in set.iter() {
            let copy = crate::resources::copy(resource);
            again.insert(copy).expect("a copy of what is in a set");
        }
    }
    store.publish(again.build());
}

fn time(input: &mut Input<'_>) -> Duration {
    let times = [0, 1, 10, 100, 1_000, 5_000, 15_000, 60_000];
    Duration::from_millis(times[input.below(times.len())])
}

fn type_url(input: &mut Input<'_>) -> TypeUrl {
    TYPES[input.below(TYPES.len())].1.clone()
}

/// A name that a resource of this type can have.
fn name(type_url: &TypeUrl, number: u8) -> String {
    match number {
        URL.. => in_url_form(
            type_url,
            number % 2,
            &format!("n{}", number % 32),
            "a=1&b=2",
        ),
        number => format!("n{}", number % NAMES),
    }
}

fn in_url_form(type_url: &TypeUrl, directory: u8, last: &str, query: &str) -> String {
    let message = type_url.as_str().rsplit('/').next().unwrap_or_default();
    format!("xdstp://a/{message}/d{directory}/{last}?{query}")
}

/// A name as a client may send it.
fn any_name(type_url: &TypeUrl, number: u8) -> Bytes {
    match number {
        EMPTY => Bytes::new(),
        STAR => Bytes::from_static(b"*"),
        NOT_TEXT => Bytes::from_static(b"n\xff"),
        LONG => Bytes::from_static(&[b'x'; 600]),
        GLOB.. => in_url_form(type_url, number % 2, "*", "a=1&b=2").into(),
        OTHER_SPELLING.. => {
            let last = format!("n{}", number % 32);
            in_url_form(type_url, number % 2, &last, "b=2&a=%31").into()
        }
        number => name(type_url, number).into(),
    }
}

/// Names, and others with parameters.
fn any_names(type_url: &TypeUrl, input: &mut Input<'_>) -> (Vec<Bytes>, Vec<Locator>) {
    let (mut names, mut locators) = (Vec::new(), Vec::new());
    for _ in 0..input.byte() % 64 {
        match input.byte() {
            number @ LOCATED..URL => locators.push(locator(number)),
            number => names.push(any_name(type_url, number)),
        }
    }
    (names, locators)
}

/// A name of which there are alternatives, or the wildcard, with parameters or without any.
fn locator(number: u8) -> Locator {
    let stem = match number % 5 {
        4 => "*".to_owned(),
        stem => format!("m{stem}"),
    };
    let parameters = (number % 4 != 3).then(|| ("env".into(), format!("{}", number % 4).into()));
    Locator::new(stem, parameters)
}

/// Whom the alternative of a number is meant for.
fn constraints(number: u8) -> Constraints {
    Constraints::value("env", (number % 4).to_string())
}

/// A request of any content. It speaks of responses that the client got, or of none that there ever was.
fn request(variant: Variant, client: &mut PlainClient, input: &mut Input<'_>) -> Request {
    let url = type_url(input);
    let nonce = nonce(client, &url, input);
    let error = error(input);
    match variant {
        Variant::Sotw => {
            let mut request = client.sotw_request(&url, [""; 0]);
            (request.names, request.locators) = any_names(&url, input);
            request.nonce = nonce;
            request.error = error;
            version(&mut request, input);
            request.into()
        }
        _ => {
            let mut request = DeltaRequest::default();
            request.type_url = url.to_string();
            (request.subscribe, request.locators_subscribe) = any_names(&url, input);
            (request.unsubscribe, request.locators_unsubscribe) = any_names(&url, input);
            let claimed = any_names(&url, input).0.into_iter();
            request.initial_versions = claimed
                .map(|name| (name, Bytes::from_static(b"1")))
                .collect();
            request.nonce = nonce;
            request.error = error;
            request.into()
        }
    }
}

fn nonce(client: &PlainClient, url: &TypeUrl, input: &mut Input<'_>) -> String {
    match input.byte() {
        0 => String::new(),
        1 => client.nonce(url),
        2 => "foreign".to_owned(),
        3 => u64::MAX.to_string(),
        number => (number - 3).to_string(),
    }
}

fn error(input: &mut Input<'_>) -> Option<ErrorDetail> {
    match input.byte() {
        0 => None,
        len => {
            let text = "\u{e9}\n no".chars().cycle().take(usize::from(len));
            Some(ErrorDetail::new(
                i32::from(len) - 1,
                text.collect::<String>(),
            ))
        }
    }
}

/// Which version a request claims: that which was received last, none, or one that never was.
fn version(request: &mut SotwRequest, input: &mut Input<'_>) {
    match input.byte() {
        0 => {}
        1 => request.version.clear(),
        _ => "foreign".clone_into(&mut request.version),
    }
}

/// A delta request that claims all that the client holds of a type, as after a reconnection.
fn resume(client: &mut PlainClient, input: &mut Input<'_>) {
    let url = type_url(input);
    let held = client.held(&url);
    let versions = held.values();
    let versions = versions.map(|r| (r.name().as_str(), r.version().as_str()));
    let names: Vec<_> = any_names(&url, input)
        .0
        .iter()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    client.resume(&url, names.iter().map(String::as_str), versions);
}

/// Changes a run of names of a type, perhaps with a label.
fn publish(store: &mut Store, input: &mut Input<'_>) {
    let url = type_url(input);
    let (from, count) = (input.byte(), input.byte() % NAMES);
    let (revision, how) = (input.byte(), input.byte());
    if url.as_str().is_empty() {
        return;
    }
    store.edit(|snapshot| {
        for number in 0..count {
            let number = from.wrapping_add(number);
            let located = (LOCATED..URL).contains(&number);
            let name = match located {
                true => Name::from(format!("m{}", number / 4 % 4))
                    .with_constraints(&constraints(number)),
                false => Name::from(name(&url, number)),
            };
            if how & how::REMOVED != 0 {
                snapshot.remove(&url, &name);
                continue;
            }
            let resource = resource(&url, &name, revision, how);
            let resource = match how & how::ALIASED != 0 {
                true => resource.alias(format!("n{}", number % 8)),
                false => resource,
            };
            snapshot.upsert(resource).expect("it has a name and a type");
        }
        if how & how::LABELLED != 0 {
            snapshot.label(&url, format!("label {revision}"));
        }
    });
}

/// What is published.
pub(crate) mod how {
    pub(crate) const REMOVED: u8 = 1;
    pub(crate) const BAD: u8 = 2;
    pub(crate) const GARBLED: u8 = 4;
    pub(crate) const ON_DEMAND: u8 = 8;
    pub(crate) const VERSIONED: u8 = 16;
    pub(crate) const LABELLED: u8 = 32;
    pub(crate) const LARGE: u8 = 64;
    pub(crate) const ALIASED: u8 = 128;
}

fn resource(url: &TypeUrl, name: &Name, revision: u8, how: u8) -> ResourceBuilder {
    let has = |flag: u8| how & flag != 0;
    let mut body = format!("rev={revision}");
    if *url == CLUSTER {
        body.push_str(&format!(" eds={}", name.stem()));
    }
    for (flag, word) in [(how::BAD, " bad"), (how::GARBLED, " garbled")] {
        body.push_str(if has(flag) { word } else { "" });
    }
    if has(how::LARGE) {
        body.push_str(&" large".repeat(50));
    }
    let resource = Resource::builder(url, name, body).on_demand(has(how::ON_DEMAND));
    match has(how::VERSIONED) {
        true => resource.version(revision.to_string()),
        false => resource,
    }
}
