use std::collections::BTreeMap;

use bytes::Bytes;
use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_core::{
    EntryForm, Name, Resource, ResourceBuilder, ResourceError, ResourceSet, Selection, Snapshot,
    SnapshotBuilder, TypeUrl,
};
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryResponse, DiscoveryResponse};
use prost::Message;

use crate::input::Input;

/// So many that sets have several chunks, and so few that an input takes no time.
const MAX_OPS: usize = 40;
const MAX_MANY: u8 = 140;

/// What a byte of an input does to a snapshot, modulo [`COUNT`](op::COUNT).
pub(crate) mod op {
    pub(crate) const INSERT: u8 = 0;
    pub(crate) const UPSERT: u8 = 1;
    pub(crate) const REMOVE: u8 = 2;
    pub(crate) const EDIT: u8 = 3;
    pub(crate) const REPLACE: u8 = 4;
    pub(crate) const REBUILD: u8 = 5;
    pub(crate) const MANY: u8 = 6;
    pub(crate) const COUNT: usize = 7;
}

/// What there should be: a name's body and version.
type Model = BTreeMap<(TypeUrl, Name), (Bytes, Option<String>)>;

/// Snapshots out of resources of any names and bodies, one after the other: each holds what was put in, differs from the
/// one before in what differs, has the versions that it would have if it had been made at once, and is encoded as what
/// it is.
pub fn resources(data: &[u8]) {
    let mut input = Input::new(data);
    let mut model = Model::new();
    let mut last = Snapshot::empty();
    let mut builder = last.edit();
    for _ in 0..MAX_OPS {
        if input.is_empty() {
            break;
        }
        let op = u8::try_from(input.below(op::COUNT)).expect("there are few");
        match op {
            op::INSERT | op::UPSERT | op::REMOVE => one(op, &mut builder, &mut model, &mut input),
            op::MANY => many(&mut builder, &mut model, &mut input),
            _ => {
                let snapshot = builder.build();
                check(&last, &snapshot, &model);
                builder = match op {
                    op::EDIT => snapshot.edit(),
                    op::REPLACE => {
                        model.clear();
                        Snapshot::builder_from(&snapshot)
                    }
                    _ => {
                        model.retain(|(url, _), _| *url != CLUSTER);
                        snapshot.rebuild([CLUSTER])
                    }
                };
                last = snapshot;
            }
        }
    }
    check(&last, &builder.build(), &model);
}

fn one(op: u8, builder: &mut SnapshotBuilder, model: &mut Model, input: &mut Input<'_>) {
    let flags = input.byte();
    let type_url = match flags & 3 {
        0 | 1 => CLUSTER,
        2 => ENDPOINT,
        _ => TypeUrl::from(String::from_utf8_lossy(&input.short()).into_owned()),
    };
    let name = Name::from(String::from_utf8_lossy(&input.short()).into_owned());
    let key = (type_url.clone(), name.clone());
    if op == op::REMOVE {
        builder.remove(&type_url, &name);
        model.remove(&key);
        return;
    }
    let body = input.short();
    let version = (flags & 4 != 0).then(|| String::from_utf8_lossy(&input.short()).into_owned());
    let mut resource = Resource::builder(type_url, name, body.clone()).on_demand(flags & 8 != 0);
    if flags & 16 != 0 {
        resource = resource.alias(String::from_utf8_lossy(&input.short()).into_owned());
    }
    if let Some(version) = &version {
        resource = resource.version(version.as_str());
    }
    let known = model.contains_key(&key);
    let put = match op {
        op::INSERT => builder.insert(resource),
        _ => builder.upsert(resource),
    };
    match put.err() {
        None => {
            assert!(op == op::UPSERT || !known, "{key:?} is there twice");
            model.insert(key, (body, version));
        }
        Some(ResourceError::Duplicate { .. }) => assert!(op == op::INSERT && known, "{key:?}"),
        Some(ResourceError::InvalidName { name, .. }) => assert!(name.is_url(), "{name}"),
        Some(ResourceError::InvalidConstraints { name, .. }) => assert!(!name.is_stem(), "{name}"),
        Some(error) if is_of_alternatives(&error) => assert_has_alternatives(model, &key),
        Some(_) => assert!(
            key.0.as_str().is_empty() || key.1.stem().is_empty(),
            "{key:?}"
        ),
    }
}

fn is_of_alternatives(error: &ResourceError) -> bool {
    matches!(
        error,
        ResourceError::AlternativesDiffer { .. }
            | ResourceError::AlternativesOverlap { .. }
            | ResourceError::TooManyAlternatives { .. }
    )
}

/// What is refused beside others has some.
fn assert_has_alternatives(model: &Model, key: &(TypeUrl, Name)) {
    let mut others = model.keys().filter(|(url, _)| *url == key.0);
    assert!(
        others.any(|(_, name)| name.stem() == key.1.stem()),
        "{key:?}"
    );
}

/// Enough of one body for several chunks.
fn many(builder: &mut SnapshotBuilder, model: &mut Model, input: &mut Input<'_>) {
    let (from, count) = (input.byte() % MAX_MANY, input.byte() % MAX_MANY);
    let body = input.short();
    for number in 0..count {
        let name = Name::from(format!("{:03}", from.saturating_add(number) % MAX_MANY));
        let resource = Resource::builder(CLUSTER, name.clone(), body.clone());
        let key = (CLUSTER, name);
        match builder.upsert(resource) {
            Ok(_) => drop(model.insert(key, (body.clone(), None))),
            Err(_) => assert_has_alternatives(model, &key),
        }
    }
}

fn check(last: &Snapshot, snapshot: &Snapshot, model: &Model) {
    assert_eq!(snapshot.len(), model.len());
    for ((type_url, name), (body, version)) in model {
        let resource = snapshot.lookup(type_url, name).present();
        let resource = resource.unwrap_or_else(|| panic!("{name:?} is not there"));
        assert_eq!(resource.body(), body);
        if let Some(version) = version {
            assert_eq!(resource.version().as_str(), version);
        }
    }
    for (type_url, set) in snapshot.sets() {
        check_encoding(type_url, set);
        check_anew(set);
        check_identifiers(set);
        if let Some(before) = last.set(type_url) {
            check_difference(before, set);
        }
    }
}

/// A set is the same, whatever the way to it.
fn check_anew(set: &ResourceSet) {
    let anew: Result<Vec<_>, _> = set.iter().map(copy).map(ResourceBuilder::build).collect();
    let anew = ResourceSet::new(anew.expect("copies of resources")).expect("names are distinct");
    assert!(anew.same_content(set));
    assert_eq!(anew.version(), set.version());
    assert_eq!(anew.len(), set.len());
    assert_eq!(anew.wildcard_len(), set.wildcard_len());
    assert!(set.diff_from(&anew).is_empty());
}

/// A resource is found by each of its identifiers, and whatever is found by one has it.
fn check_identifiers(set: &ResourceSet) {
    let has = |resource: &Resource, identifier: &Name| {
        let mut others = resource.other_identifiers();
        resource.name() == identifier || others.any(|other| other == identifier)
    };
    for resource in set.iter() {
        for identifier in resource.other_identifiers().chain([resource.name()]) {
            let found: Vec<_> = set.identified_by(identifier).collect();
            assert!(found.iter().all(|found| has(found, identifier)));
            assert!(found.iter().any(|found| found.name() == resource.name()));
        }
    }
}

/// The same resource, made anew.
pub(crate) fn copy(resource: &Resource) -> ResourceBuilder {
    let (type_url, name) = (resource.type_url(), resource.name());
    let copy = Resource::builder(type_url, name, resource.body().to_vec());
    let aliases = resource.aliases().iter();
    let copy = aliases.fold(copy, |copy, alias| copy.alias(alias.clone()));
    let copy = copy.on_demand(resource.on_demand());
    // A hash of the content comes out the same.
    match copy.clone().build() {
        Ok(hashed) if hashed.version() == resource.version() => copy,
        _ => copy.version(resource.version().clone()),
    }
}

/// The difference takes the old set to the new.
fn check_difference(before: &ResourceSet, after: &ResourceSet) {
    let diff = after.diff_from(before);
    let mut edit = before.edit();
    for resource in diff.upserts() {
        let old = before.get(resource.name());
        assert!(old.is_none_or(|old| !old.same_content(resource)));
        edit.upsert(resource.clone());
    }
    for name in diff.removals() {
        assert!(before.contains(name));
        edit.remove(name.clone());
    }
    let edited = edit.finish().expect("it is a set that there is");
    assert!(edited.same_content(after));
    assert_eq!(diff.is_empty(), before.same_content(after));
}

fn check_encoding(type_url: &TypeUrl, set: &ResourceSet) {
    let is_covered = |r: &&Resource| !r.on_demand() && r.constraints().is_none();
    let expected: Vec<_> = set.iter().filter(is_covered).collect();
    let whole = Selection::wildcard(set);
    let sotw = Selection::wildcard(set)
        .split(EntryForm::Sotw, 1000)
        .into_iter();
    let resources: Vec<_> = sotw.flat_map(|part| decode_sotw(&part)).collect();
    assert_eq!(resources.len(), expected.len());
    for (any, resource) in resources.iter().zip(&expected) {
        assert_eq!(any.type_url, type_url.as_str());
        assert_eq!(any.value, resource.body());
    }
    let bytes = whole.parts(EntryForm::Delta).concat();
    assert_eq!(bytes.len(), whole.encoded_len(EntryForm::Delta));
    let delta = DeltaDiscoveryResponse::decode(&bytes[..]).expect("the encoding is one");
    assert_eq!(delta.resources.len(), expected.len());
    for (entry, resource) in delta.resources.iter().zip(&expected) {
        let any = entry.resource.as_ref().expect("it has a body");
        assert_eq!(entry.name, resource.name().as_str());
        assert_eq!(entry.version, resource.version().as_str());
        assert_eq!(any.value, resource.body());
        let aliases = entry.aliases.iter().map(String::as_str);
        assert!(aliases.eq(resource.aliases().iter().map(|alias| alias.as_str())));
    }
}

fn decode_sotw(part: &Selection) -> Vec<portolan_types::Any> {
    let bytes = part.parts(EntryForm::Sotw).concat();
    assert_eq!(bytes.len(), part.encoded_len(EntryForm::Sotw));
    let response = DiscoveryResponse::decode(&bytes[..]).expect("the encoding is one");
    assert_eq!(response.resources.len(), part.len());
    response.resources
}
