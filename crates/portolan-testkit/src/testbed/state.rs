use std::collections::BTreeSet;

use bytes::Bytes;
use portolan_cache::SnapshotCacheWriter;
use portolan_core::{Resource, ResourceBuilder, Snapshot, SnapshotBuilder, TypeUrl, Version};
use portolan_types::Any;

use super::error::StateError;
use super::kind::Kind;

/// What the nodes are served, and the changes that harnesses make to it. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct State {
    writer: SnapshotCacheWriter<String>,
}

/// A resource of a node, and the label of its type once it is changed; an empty one leaves the label as it is.
#[derive(Debug)]
pub(super) struct Target {
    node: String,
    kind: Kind,
    name: String,
    version: String,
}

impl Target {
    pub(super) fn new(
        node: &str,
        type_name: &str,
        name: &str,
        version: &str,
    ) -> Result<Self, StateError> {
        let node = named(node)?;
        let kind = kind_of(&node, type_name)?;
        if name.is_empty() {
            let type_name = kind.short_name().to_owned();
            return Err(StateError::Unnamed { node, type_name });
        }
        Ok(Self {
            node,
            kind,
            name: name.to_owned(),
            version: version.to_owned(),
        })
    }
}

impl State {
    pub(super) fn new(writer: SnapshotCacheWriter<String>) -> Self {
        Self { writer }
    }

    /// Replaces what a node is served. The version is the label of every type; if it is empty, there are none.
    pub(super) fn set(
        &self,
        node: &str,
        version: &str,
        resources: impl IntoIterator<Item = Result<ResourceBuilder, StateError>>,
    ) -> Result<(), StateError> {
        let node = named(node)?;
        let mut snapshot = match self.writer.get(&node) {
            Some(previous) => Snapshot::builder_from(&previous),
            None => Snapshot::builder(),
        };
        let mut types: BTreeSet<_> = Kind::ALL.map(Kind::type_url).into();
        for (index, resource) in resources.into_iter().enumerate() {
            let inserted = resource.and_then(|resource| insert(&node, &mut snapshot, resource));
            types.insert(inserted.map_err(|source| StateError::At {
                index,
                source: Box::new(source),
            })?);
        }
        for type_url in types.into_iter().filter(|_| !version.is_empty()) {
            snapshot.label(type_url, version);
        }
        let _ = self.writer.set(&node, snapshot.build());
        Ok(())
    }

    /// Forgets what a node is served, and says whether there was anything.
    pub(super) fn clear(&self, node: &str) -> Result<bool, StateError> {
        let node = named(node)?;
        let was_set = self.writer.get(&node).is_some();
        self.writer.clear(&node);
        Ok(was_set)
    }

    /// Changes the content of a resource.
    pub(super) fn update(&self, target: &Target) -> Result<(), StateError> {
        self.change(target, |snapshot| {
            let held = snapshot.get(&target.kind.type_url(), &target.name);
            let held = held.ok_or_else(|| unknown(target))?;
            let revised = target.kind.revised(held.body());
            let revised = revised.map_err(|source| malformed(&target.node, target.kind, source))?;
            upsert(&target.node, snapshot, revised)
        })
    }

    /// Adds a minimal resource.
    pub(super) fn add(&self, target: &Target) -> Result<(), StateError> {
        self.change(target, |snapshot| {
            if snapshot
                .get(&target.kind.type_url(), &target.name)
                .is_some()
            {
                return Err(StateError::Exists {
                    node: target.node.clone(),
                    kind: target.kind,
                    name: target.name.clone(),
                });
            }
            let minimal = target.kind.minimal(&target.name);
            upsert(&target.node, snapshot, minimal)
        })
    }

    /// Takes a resource away.
    pub(super) fn remove(&self, target: &Target) -> Result<(), StateError> {
        self.change(target, |snapshot| {
            if snapshot
                .get(&target.kind.type_url(), &target.name)
                .is_none()
            {
                return Err(unknown(target));
            }
            snapshot.remove(&target.kind.type_url(), &target.name);
            Ok(())
        })
    }

    /// The nodes that have a state, sorted.
    pub(super) fn nodes(&self) -> Vec<String> {
        let mut nodes = self.writer.groups();
        nodes.retain(|node| self.writer.get(node).is_some());
        nodes
    }

    /// What the types of a node are at.
    pub(super) fn versions(&self, node: &str) -> Option<Vec<(Kind, Version)>> {
        let snapshot = self.writer.get(&node.to_owned())?;
        let version = |kind: Kind| (kind, snapshot.version_info(&kind.type_url()));
        Some(Kind::ALL.into_iter().map(version).collect())
    }

    fn change(
        &self,
        target: &Target,
        edit: impl Fn(&mut SnapshotBuilder) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let published = self.writer.update(&target.node, |snapshot| {
            edit(snapshot)?;
            if !target.version.is_empty() {
                snapshot.label(target.kind.type_url(), target.version.as_str());
            }
            Ok(())
        })?;
        match published {
            Some(_) => Ok(()),
            None => Err(StateError::UnknownNode {
                node: target.node.clone(),
            }),
        }
    }
}

/// The resource that a harness gives, with its bytes as they are.
pub(super) fn given(node: &str, any: Any) -> Result<ResourceBuilder, StateError> {
    let kind = kind_of(node, &any.type_url)?;
    let resource = kind.encoded(any.value);
    resource.map_err(|source| malformed(node, kind, source))
}

/// A resource of any type, by its encoded message. What is of a type that the testbed makes must decode.
pub(super) fn named_and_given(
    node: &str,
    type_name: &str,
    name: &str,
    body: Vec<u8>,
) -> Result<ResourceBuilder, StateError> {
    let body = Bytes::from(body);
    let Some(kind) = Kind::named(type_name) else {
        return Ok(Resource::builder(type_name, name, body));
    };
    if let Err(source) = kind.encoded(body.clone()) {
        return Err(malformed(node, kind, source));
    }
    Ok(Resource::builder(kind.type_url(), name, body))
}

/// The type of this URL, or whose discovery service has this name.
pub(super) fn kind_of(node: &str, type_name: &str) -> Result<Kind, StateError> {
    Kind::named(type_name).ok_or_else(|| StateError::UnknownType {
        node: node.to_owned(),
        found: type_name.to_owned(),
    })
}

fn named(node: &str) -> Result<String, StateError> {
    match node {
        "" => Err(StateError::NoNode),
        node => Ok(node.to_owned()),
    }
}

/// Adds what must be new, and gives its type.
fn insert(
    node: &str,
    snapshot: &mut SnapshotBuilder,
    resource: ResourceBuilder,
) -> Result<TypeUrl, StateError> {
    let type_url = resource.type_url().clone();
    let type_name = || Kind::name_of(type_url.as_str()).to_owned();
    let name = resource.name().as_str();
    if name.is_empty() {
        return Err(StateError::Unnamed {
            node: node.to_owned(),
            type_name: type_name(),
        });
    }
    if snapshot.get(&type_url, name).is_some() {
        return Err(StateError::Duplicate {
            node: node.to_owned(),
            type_name: type_name(),
            name: name.to_owned(),
        });
    }
    upsert(node, snapshot, resource)?;
    Ok(type_url)
}

fn upsert(
    node: &str,
    snapshot: &mut SnapshotBuilder,
    resource: ResourceBuilder,
) -> Result<(), StateError> {
    let upserted = snapshot.upsert(resource).map(drop);
    upserted.map_err(|source| StateError::Invalid {
        node: node.to_owned(),
        source,
    })
}

fn unknown(target: &Target) -> StateError {
    StateError::UnknownResource {
        node: target.node.clone(),
        kind: target.kind,
        name: target.name.clone(),
    }
}

fn malformed(node: &str, kind: Kind, source: prost::DecodeError) -> StateError {
    StateError::Malformed {
        node: node.to_owned(),
        kind,
        source,
    }
}
