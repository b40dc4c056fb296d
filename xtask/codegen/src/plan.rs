//! The validation rules of all messages, as tables for `portolan-consistency`.
//!
//! A field is left out where it can break no rule: a number, a truth or bytes of which nothing is asked, outside of a oneof.

mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use self::values::Values;
use crate::rules::{Annotations, Rules};
use crate::rust::{Files, HEADER};

/// Fields of a message that the tables have room for: the bits of `Members`.
const MOST_FIELDS: usize = 64;

/// The tables, one module.
pub(crate) fn generate(pool: &DescriptorPool) -> Result<Files> {
    let mut plan = Plan {
        annotations: Annotations::of(pool)?,
        values: Values::default(),
        messages: BTreeMap::new(),
    };
    let all: Vec<_> = pool.all_messages().filter(is_resource_or_part).collect();
    let idents: BTreeSet<_> = all.iter().map(ident).collect();
    ensure!(
        idents.len() == all.len(),
        "two messages have one identifier"
    );
    for message in &all {
        plan.message(message)?;
    }
    let mut names: Vec<_> = all
        .iter()
        .map(|message| (message.full_name(), ident(message)))
        .collect();
    names.sort_unstable();

    let mut text = HEADER.to_owned();
    text.push_str(
        "\nuse super::plan::{\n    Bound, Enum, Form, Holds as H, Integer as I, Items, Message, Octets, Oneof, Pattern, Range, Real as R, Text,\n    \
         Times as T, Wire as W, field,\n};\n\n",
    );
    writeln!(
        text,
        "/// By name.\npub(super) static MESSAGES: [&Message; {}] = [",
        names.len()
    )?;
    for (_, ident) in &names {
        writeln!(text, "    &{ident},")?;
    }
    text.push_str("];\n\n");
    plan.values.render(&mut text);
    for message in plan.messages.values() {
        text.push_str(message);
    }
    Ok(Files::from([("mod.rs".to_owned(), text.into_bytes())]))
}

/// What describes schemas is no part of a resource. Entries of maps are written where the maps are.
fn is_resource_or_part(message: &MessageDescriptor) -> bool {
    let (file, package) = (message.parent_file(), message.package_name());
    let describes = ["google.protobuf.compiler", "validate"].contains(&package)
        || file.name() == "google/protobuf/descriptor.proto";
    !describes && !message.is_map_entry()
}

fn ident(message: &MessageDescriptor) -> String {
    message.full_name().replace('.', "_")
}

struct Plan {
    annotations: Annotations,
    values: Values,
    /// By identifier.
    messages: BTreeMap<String, String>,
}

/// A field as it is written.
struct Line {
    number: u32,
    text: String,
    /// Whether it may be wrong by not being there.
    asked: bool,
    oneof: Option<String>,
}

impl Plan {
    fn message(&mut self, message: &MessageDescriptor) -> Result<()> {
        self.annotations.check(message)?;
        let mut lines = Vec::new();
        for field in message.fields() {
            let place = field.full_name().to_owned();
            lines.extend(self.field(&field).with_context(|| place)?);
        }
        lines.sort_by_key(|line| line.number);
        let mut oneofs = Vec::new();
        for oneof in message.oneofs() {
            let members = lines
                .iter()
                .map(|line| line.oneof.as_deref() == Some(oneof.name()));
            let required = self.annotations.is_required(&oneof);
            oneofs.push(format!(
                "Oneof {{ name: {:?}, required: {required}, members: {} }}",
                oneof.name(),
                members_of(members)
            ));
        }
        self.put(message, &lines, &oneofs, false)
    }

    fn put(
        &mut self,
        message: &MessageDescriptor,
        lines: &[Line],
        oneofs: &[String],
        entry: bool,
    ) -> Result<()> {
        let (name, ident) = (message.full_name(), ident(message));
        ensure!(lines.len() <= MOST_FIELDS, "{name} has too many fields");
        let mut text = format!("static {ident}: Message = Message {{\n    name: {name:?},\n");
        let fields: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
        let oneofs: Vec<_> = oneofs.iter().map(String::as_str).collect();
        for (what, entries) in [("fields", fields), ("oneofs", oneofs)] {
            if !entries.is_empty() {
                let entries = entries.join(",\n        ");
                writeln!(text, "    {what}: &[\n        {entries},\n    ],")?;
            }
        }
        if lines.iter().any(|line| line.asked) {
            let asked = members_of(lines.iter().map(|line| line.asked));
            writeln!(text, "    asked: {asked},")?;
        }
        if entry {
            writeln!(text, "    entry: true,")?;
        }
        writeln!(text, "    ..Message::FREE\n}};")?;
        self.messages.insert(ident, text);
        Ok(())
    }

    fn field(&mut self, field: &FieldDescriptor) -> Result<Option<Line>> {
        let mut rules = self.annotations.of_field(field);
        let line = if field.is_map() {
            self.map(field, &mut rules)?
        } else if field.is_list() {
            let min = rules.take_count("repeated.min_items").unwrap_or(0);
            let max = rules.take_count("repeated.max_items");
            let unique = rules.take_bool("repeated.unique");
            let mut items = rules.take_all("repeated.items.");
            let holds = self.holds(&field.kind(), &mut items)?;
            items.finish("each element")?;
            let is_free = min == 0 && max.is_none() && !unique;
            let times = self.values.items(min, max, unique);
            (!is_free || !holds.starts_with(OPAQUE)).then(|| line(field, &times, &holds, min > 0))
        } else {
            self.single(field, &mut rules)?
        };
        rules.finish("the field")?;
        Ok(line)
    }

    fn single(&mut self, field: &FieldDescriptor, rules: &mut Rules) -> Result<Option<Line>> {
        let kind = field.kind();
        let is_any = matches!(&kind, Kind::Message(held) if held.full_name() == ANY);
        let is_required_any = rules.take_bool("any.required");
        let is_required_message = rules.take_bool("message.required");
        let is_required =
            rules.take_bool("duration.required") || is_required_message || is_required_any;
        let oneof = field.containing_oneof();
        // What a oneof has not been set to need not be there.
        let is_required = is_required && oneof.is_none();
        let holds = match is_required_any && !is_any {
            // Clients do not look into a message that is annotated as if it were an `Any`.
            true => "H::Opaque(W::Bytes)".to_owned(),
            false => self.holds(&kind, rules)?,
        };
        let is_opaque = holds.starts_with(OPAQUE);
        let times = match (is_required, field.supports_presence()) {
            (true, _) => "T::Required",
            (false, true) => "T::Optional",
            (false, false) => "T::Always",
        };
        let is_asked = is_required || (times == "T::Always" && !is_opaque && holds != FREE_TEXT);
        let is_kept = !is_opaque || is_required || oneof.is_some();
        Ok(is_kept.then(|| line(field, times, &holds, is_asked)))
    }

    fn map(&mut self, field: &FieldDescriptor, rules: &mut Rules) -> Result<Option<Line>> {
        let Kind::Message(entry) = field.kind() else {
            bail!("a map of no entries");
        };
        let min = rules.take_count("map.min_pairs").unwrap_or(0);
        let parts = [
            (entry.map_entry_key_field(), rules.take_all("map.keys.")),
            (entry.map_entry_value_field(), rules.take_all("map.values.")),
        ];
        let mut lines = Vec::new();
        for (part, mut rules) in parts {
            let holds = self.holds(&part.kind(), &mut rules)?;
            rules.finish(part.name())?;
            if !holds.starts_with(OPAQUE) {
                let asked = holds != FREE_TEXT;
                lines.push(line(&part, "T::Always", &holds, asked));
            }
        }
        self.put(&entry, &lines, &[], true)?;
        let times = self.values.items(min, None, false);
        let holds = format!("H::Message(&{})", ident(&entry));
        Ok(Some(line(field, &times, &holds, min > 0)))
    }

    /// What a field holds, or each of its elements.
    fn holds(&mut self, kind: &Kind, rules: &mut Rules) -> Result<String> {
        Ok(match kind {
            Kind::String => format!("H::Text(&{})", self.values.text(rules)?),
            Kind::Enum(described) => match self.values.one_of_enum(rules, described)? {
                Some(value) => format!("H::Enum(&{value})"),
                None => "H::Opaque(W::Varint)".to_owned(),
            },
            Kind::Message(message) => self.message_held(message, rules)?,
            kind => self.values.scalar(kind, rules)?,
        })
    }

    fn message_held(&mut self, message: &MessageDescriptor, rules: &mut Rules) -> Result<String> {
        if rules.take_bool("message.skip") {
            return Ok("H::Opaque(W::Bytes)".to_owned());
        }
        let name = message.full_name();
        let is_wrapper = message.package_name() == "google.protobuf"
            && name.ends_with("Value")
            && message.fields().len() == 1;
        match name {
            ANY => return Ok("H::Any".to_owned()),
            "google.protobuf.Duration" if !rules.is_empty() => {
                return Ok(format!("H::Duration(&{})", self.values.duration(rules)?));
            }
            _ if is_wrapper && !rules.is_empty() => {
                let value = message.get_field(1).context("a wrapper has a value")?;
                return Ok(format!(
                    "H::Wrapped(&{})",
                    self.holds(&value.kind(), rules)?
                ));
            }
            _ => {}
        }
        ensure!(
            is_resource_or_part(message),
            "{name} is no part of a resource"
        );
        Ok(format!("H::Message(&{})", ident(message)))
    }
}

const ANY: &str = "google.protobuf.Any";

/// How what nothing is asked of begins.
const OPAQUE: &str = "H::Opaque";

/// A text of which nothing is asked but to be one.
const FREE_TEXT: &str = "H::Text(&Text::FREE)";

fn line(field: &FieldDescriptor, times: &str, holds: &str, asked: bool) -> Line {
    Line {
        number: field.number(),
        text: format!(
            "field({}, {:?}, {times}, {holds})",
            field.number(),
            field.name()
        ),
        asked,
        oneof: field
            .containing_oneof()
            .map(|oneof| oneof.name().to_owned()),
    }
}

fn members_of(bits: impl Iterator<Item = bool>) -> String {
    let members = bits.enumerate().filter(|(_, bit)| *bit);
    let members = members.fold(0_u64, |all, (at, _)| all | 1 << at);
    format!("{members:#x}")
}

#[cfg(test)]
mod tests;
