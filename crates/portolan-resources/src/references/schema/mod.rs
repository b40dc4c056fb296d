//! Envoy's messages as far as they lead to references: a table, one line per field.
//!
//! `tests.rs` compares every line with the schema that the messages of `portolan-types` are generated from.

mod cluster;
mod filters;
mod listener;
mod matching;
mod route;
mod services;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::HashMap;
use std::sync::LazyLock;

use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, SCOPED_ROUTE, VIRTUAL_HOST,
};
use portolan_core::{Strength, TypeUrl};

/// A message, as far as it leads to references.
pub(super) struct Message {
    /// Full name.
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    /// What the message itself asks a management server for.
    pub(super) discovers: Option<Discovers>,
}

/// A field that names a resource, or leads to one that does.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) number: u64,
    pub(super) repeated: bool,
    pub(super) holds: Holds,
}

pub(super) enum Holds {
    /// The name of a resource.
    Name(TypeUrl, Strength),
    /// A message.
    Message(&'static Message),
    /// A message whose URL says which.
    Any,
    /// The value of a map entry whose key is text.
    Entry(&'static Self),
}

/// A field on the way to something.
#[derive(Clone, Copy)]
pub(super) struct At(pub(super) &'static str, pub(super) u64);

/// A resource that the message asks for by name, where a `ConfigSource` says of whom.
pub(super) struct Discovers {
    pub(super) target: TypeUrl,
    /// The way to the source.
    pub(super) source: &'static [At],
    /// The way to the name.
    pub(super) named: &'static [At],
    /// What the path of a reference with this name ends with.
    pub(super) path: &'static str,
    /// What is asked for without a name.
    pub(super) unnamed: Unnamed,
    /// What follows the name.
    pub(super) suffix: &'static str,
    /// Only if this field has this value.
    pub(super) only_if: Option<(At, u64)>,
    /// Softly, if there is something here.
    pub(super) softened_by: &'static [At],
}

pub(super) enum Unnamed {
    /// Nothing: a message that lacks its name is in error, which clients report.
    Nothing,
    /// What is named like the message itself.
    Namesake(At),
    /// Everything of the type, by the wildcard.
    Everything,
}

impl Discovers {
    const fn new(
        target: TypeUrl,
        source: &'static [At],
        named: &'static [At],
        path: &'static str,
    ) -> Self {
        Self {
            target,
            source,
            named,
            path,
            unnamed: Unnamed::Nothing,
            suffix: "",
            only_if: None,
            softened_by: &[],
        }
    }

    /// The configuration of an extension, which has the name of what it is for. With a default that can do without.
    const fn extension(source: &'static [At], default: &'static [At]) -> Self {
        let name = &[At("name", 1)];
        let mut discovers = Self::new(EXTENSION_CONFIG, source, name, "config_discovery");
        discovers.softened_by = default;
        discovers
    }

    const fn or(mut self, unnamed: Unnamed) -> Self {
        self.unnamed = unnamed;
        self
    }

    const fn only_if(mut self, field: At, value: u64) -> Self {
        self.only_if = Some((field, value));
        self
    }

    const fn with_suffix(mut self, suffix: &'static str) -> Self {
        self.suffix = suffix;
        self
    }
}

/// Who supplies what a `ConfigSource` is about.
#[derive(Clone, Copy)]
pub(super) enum Supplier {
    /// The management server that sent the message.
    Sender,
    /// A management server that the source names.
    Named,
    /// No management server.
    Elsewhere,
}

/// The specifiers of `ConfigSource`. Without one, which is an error that clients report, nobody supplies anything.
pub(super) const CONFIG_SOURCE: &[(At, Supplier)] = &[
    (At("ads", 3), Supplier::Sender),
    (At("self", 5), Supplier::Sender),
    (At("api_config_source", 2), Supplier::Named),
    (At("path", 1), Supplier::Elsewhere),
    (At("path_config_source", 8), Supplier::Elsewhere),
];

/// `Cluster.health_checks`: clusters that have some warm until they have passed.
pub(super) const HEALTH_CHECKS: At = At("health_checks", 8);

/// Of an assignment, its localities; of these, what holds endpoints or says where to discover them: `lb_endpoints`,
/// `load_balancer_endpoints` and `leds_cluster_locality_config`.
pub(super) const LOCALITIES: u64 = 2;
pub(super) const LOCALITY_MEMBERS: [u64; 3] = [2, 7, 8];

/// What resources are, by type; of other types they refer to nothing.
const ROOTS: &[(TypeUrl, &Message)] = &[
    (CLUSTER, &cluster::CLUSTER),
    (ENDPOINT, &cluster::CLUSTER_LOAD_ASSIGNMENT),
    (LISTENER, &listener::LISTENER),
    (ROUTE, &route::ROUTE_CONFIGURATION),
    (SCOPED_ROUTE, &route::SCOPED_ROUTE_CONFIGURATION),
    (VIRTUAL_HOST, &route::VIRTUAL_HOST),
    (EXTENSION_CONFIG, &matching::TYPED_EXTENSION_CONFIG),
];

/// What else may stand in an `Any`.
const IN_ANY: &[&[&Message]] = &[
    cluster::IN_ANY,
    filters::IN_ANY,
    listener::IN_ANY,
    matching::IN_ANY,
    route::IN_ANY,
    services::IN_ANY,
    tls::IN_ANY,
];

/// The message that a resource of this type is.
pub(super) fn of_type(type_url: &TypeUrl) -> Option<&'static Message> {
    let root = ROOTS.iter().find(|(url, _)| url == type_url);
    root.map(|(_, message)| *message)
}

/// The message of this full name that may stand in an `Any`.
pub(super) fn in_any(name: &str) -> Option<&'static Message> {
    static BY_NAME: LazyLock<HashMap<&str, &Message>> = LazyLock::new(|| {
        let all = IN_ANY.iter().flat_map(|family| family.iter());
        all.map(|message| (message.name, *message)).collect()
    });
    BY_NAME.get(name).copied()
}

const fn field(name: &'static str, number: u64, holds: Holds) -> Field {
    Field {
        name,
        number,
        repeated: false,
        holds,
    }
}

/// The name of a cluster without which the message does not do its work.
const fn needs_cluster(name: &'static str, number: u64) -> Field {
    field(name, number, Holds::Name(CLUSTER, Strength::Hard))
}

/// The name of a cluster without which the message does most of its work.
const fn uses_cluster(name: &'static str, number: u64) -> Field {
    field(name, number, Holds::Name(CLUSTER, Strength::Soft))
}

const fn one(name: &'static str, number: u64, message: &'static Message) -> Field {
    field(name, number, Holds::Message(message))
}

const fn any(name: &'static str, number: u64) -> Field {
    field(name, number, Holds::Any)
}

const fn many(name: &'static str, number: u64, message: &'static Message) -> Field {
    repeated(field(name, number, Holds::Message(message)))
}

/// A map from text to messages whose URL says which.
const fn any_by_key(name: &'static str, number: u64) -> Field {
    repeated(field(name, number, Holds::Entry(&Holds::Any)))
}

const fn repeated(mut field: Field) -> Field {
    field.repeated = true;
    field
}
