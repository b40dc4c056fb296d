//! The table against the schema that the messages are generated from.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use super::*;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(portolan_types::FILE_DESCRIPTOR_SET).expect("the committed set decodes")
});

const ANY_MESSAGE: &str = "google.protobuf.Any";

/// Every message of the table, by its full name.
fn table() -> BTreeMap<&'static str, &'static Message> {
    let roots = ROOTS.iter().map(|(_, message)| *message);
    let in_any = IN_ANY.iter().flat_map(|family| family.iter().copied());
    let mut ahead: Vec<_> = roots.chain(in_any).collect();
    let mut table = BTreeMap::new();
    while let Some(message) = ahead.pop() {
        if table.insert(message.name, message).is_none() {
            ahead.extend(
                message
                    .fields
                    .iter()
                    .filter_map(|field| inner(&field.holds)),
            );
        }
    }
    table
}

fn inner(holds: &'static Holds) -> Option<&'static Message> {
    match holds {
        Holds::Message(message) => Some(message),
        Holds::Entry(holds) => inner(holds),
        Holds::Name(..) | Holds::Any => None,
    }
}

fn described(name: &str) -> MessageDescriptor {
    let message = POOL.get_message_by_name(name);
    message.unwrap_or_else(|| panic!("{name} is not in the schema"))
}

/// The field there, where the schema calls it so.
fn field_at(message: &MessageDescriptor, name: &str, number: u64) -> FieldDescriptor {
    let field = message.get_field(u32::try_from(number).unwrap());
    let field = field.unwrap_or_else(|| panic!("{}.{name}", message.full_name()));
    assert_eq!(field.name(), name, "{}", message.full_name());
    field
}

fn holds(kind: &Kind, holds: &Holds) -> bool {
    match (holds, kind) {
        (Holds::Name(..), Kind::String) => true,
        (Holds::Message(message), Kind::Message(described)) => {
            message.name == described.full_name()
        }
        (Holds::Any, Kind::Message(described)) => described.full_name() == ANY_MESSAGE,
        (Holds::Entry(value), Kind::Message(entry)) => {
            entry.is_map_entry()
                && entry.map_entry_key_field().kind() == Kind::String
                && self::holds(&entry.map_entry_value_field().kind(), value)
        }
        _ => false,
    }
}

fn at_end(message: &MessageDescriptor, way: &[At]) -> Kind {
    let mut kind = Kind::Message(message.clone());
    for At(name, number) in way {
        let Kind::Message(message) = kind else {
            panic!("{name} is in no message");
        };
        let field = field_at(&message, name, *number);
        assert_ne!(field.cardinality(), Cardinality::Repeated, "{name}");
        kind = field.kind();
    }
    kind
}

fn is_message(kind: &Kind, name: &str) -> bool {
    kind.as_message()
        .is_some_and(|message| message.full_name() == name)
}

#[test]
fn every_line_is_what_the_schema_says() {
    for (name, message) in table() {
        let described = described(name);
        for field in message.fields {
            let theirs = field_at(&described, field.name, field.number);
            let repeated = theirs.cardinality() == Cardinality::Repeated;
            assert_eq!(field.repeated, repeated, "{name}.{}", field.name);
            assert!(holds(&theirs.kind(), &field.holds), "{name}.{}", field.name);
        }
    }
}

#[test]
fn what_is_discovered_has_a_source_and_a_name() {
    for (name, message) in table() {
        let Some(discovers) = &message.discovers else {
            continue;
        };
        let described = described(name);
        let source = at_end(&described, discovers.source);
        assert!(
            is_message(&source, "envoy.config.core.v3.ConfigSource"),
            "{name}"
        );
        assert_eq!(at_end(&described, discovers.named), Kind::String, "{name}");
        if let Unnamed::Namesake(at) = discovers.unnamed {
            assert_eq!(at_end(&described, &[at]), Kind::String, "{name}");
        }
        if let Some((at, value)) = discovers.only_if {
            let kind = at_end(&described, &[at]);
            let choices = kind.as_enum().expect("a choice").clone();
            assert!(
                choices.get_value(i32::try_from(value).unwrap()).is_some(),
                "{name}"
            );
        }
        if !discovers.softened_by.is_empty() {
            at_end(&described, discovers.softened_by);
        }
    }
}

#[test]
fn every_specifier_of_a_source_is_known() {
    let source = described("envoy.config.core.v3.ConfigSource");
    let specifier = source
        .oneofs()
        .find(|o| o.name() == "config_source_specifier");
    for field in specifier.expect("there is one").fields() {
        let known = CONFIG_SOURCE
            .iter()
            .find(|(at, _)| at.1 == u64::from(field.number()));
        assert_eq!(known.expect("it is known").0.0, field.name());
    }
    let cluster = described("envoy.config.cluster.v3.Cluster");
    field_at(&cluster, HEALTH_CHECKS.0, HEALTH_CHECKS.1);
}

/// What leads to a reference in one place does so in any other. Left out is, of a message of the table, no field that
/// holds another; but for these, and what stands in messages that are not in it at all.
#[test]
fn no_way_to_what_is_known_is_left_out() {
    const LEFT_OUT: &[&str] = &[
        // Chooses a filter chain by its name.
        "envoy.config.listener.v3.Listener.filter_chain_matcher",
        // Chooses what is passed on of a client's certificate.
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.forward_client_cert_matcher",
        // What is matched, and matchers that are extensions.
        "xds.type.matcher.v3.Matcher.MatcherTree.input",
        "xds.type.matcher.v3.Matcher.MatcherTree.custom_match",
        // Chooses a bucket.
        "envoy.extensions.filters.http.rate_limit_quota.v3.RateLimitQuotaFilterConfig.bucket_matchers",
    ];
    let table = table();
    let mut forgotten = Vec::new();
    for (name, message) in &table {
        for theirs in described(name).fields() {
            let known = message
                .fields
                .iter()
                .any(|f| f.number == u64::from(theirs.number()));
            let kind = theirs.kind();
            let leads = kind.as_message().is_some_and(|m| {
                table.contains_key(m.full_name())
                    && m.full_name() != "envoy.config.core.v3.TypedExtensionConfig"
            });
            if leads && !known && !LEFT_OUT.contains(&theirs.full_name()) {
                forgotten.push(theirs.full_name().to_owned());
            }
        }
    }
    assert_eq!(forgotten, Vec::<String>::new());
}

#[test]
fn a_message_of_each_name_is_known_once() {
    let families: Vec<_> = IN_ANY.iter().flat_map(|family| family.iter()).collect();
    for message in &families {
        assert!(in_any(message.name).is_some_and(|known| std::ptr::eq(known, **message)));
    }
    assert_eq!(in_any("acme.v1.Widget").map(|m| m.name), None);
}
