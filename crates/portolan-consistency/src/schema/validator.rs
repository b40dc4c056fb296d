use std::collections::BTreeMap;

use super::generated::MESSAGES;
use super::plan::Message;
use super::walk::walk;
use super::{Rule, Violation};
use crate::Policy;

/// Validates encoded messages by the rules of the schema.
///
/// A rule that clients of yours do not have, or not any more, can be told apart by its kind or by the field that has it:
///
/// ```
/// use portolan_consistency::Policy;
/// use portolan_consistency::schema::{Rule, Validator};
///
/// let url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
/// let validator = Validator::new();
/// let found = validator.validate(url, b"");
/// assert_eq!(found[0].to_string(), "name: must have at least 1 character, and has 0");
/// assert_eq!(found[0].field(), "envoy.config.cluster.v3.Cluster.name");
///
/// let validator = validator.with_rule(Rule::MinLen, Policy::Ignore);
/// assert_eq!(validator.validate(url, b""), []);
/// ```
#[derive(Clone, Debug)]
pub struct Validator {
    rules: BTreeMap<Rule, Policy>,
    places: BTreeMap<String, Policy>,
    pub(super) most: usize,
}

/// No message, field or oneof of the schema has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no message of the schema has a rule at {name:?}")]
pub struct UnknownPlace {
    name: String,
}

impl Validator {
    /// By all rules but [`Rule::KnownType`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            rules: BTreeMap::from([(Rule::KnownType, Policy::Ignore)]),
            places: BTreeMap::new(),
            most: 20,
        }
    }

    /// What becomes of violations of a rule. Default: what becomes of
    /// [findings of the kind](crate::FindingKind::Schema).
    #[must_use]
    pub fn with_rule(mut self, rule: Rule, policy: Policy) -> Self {
        self.rules.insert(rule, policy);
        self
    }

    /// What becomes of violations in a place, of whatever rule: in all fields of a message
    /// (`envoy.config.cluster.v3.Cluster`), or in one of its fields or oneofs
    /// (`envoy.config.cluster.v3.Cluster.connect_timeout`), which goes before.
    ///
    /// # Errors
    /// The schema has no such message, or the message no such field that is looked at.
    pub fn with_place(mut self, name: &str, policy: Policy) -> Result<Self, UnknownPlace> {
        let is_part = |(message, part): (&str, &str)| {
            message_named(message).is_some_and(|message| {
                let mut fields = message.fields.iter().map(|field| field.name);
                let mut oneofs = message.oneofs.iter().map(|oneof| oneof.name);
                fields.any(|name| name == part) || oneofs.any(|name| name == part)
            })
        };
        if message_named(name).is_none() && !name.rsplit_once('.').is_some_and(is_part) {
            return Err(UnknownPlace { name: name.into() });
        }
        self.places.insert(name.into(), policy);
        Ok(self)
    }

    /// How many violations of one message are told at most. Default: 20.
    #[must_use]
    pub fn with_most(mut self, violations: usize) -> Self {
        self.most = violations;
        self
    }

    /// What is wrong with a message, and with the messages in it, those in an `Any` too; in the order in which it stands
    /// in it.
    ///
    /// Any bytes may be given. What is no message of its type is a violation as well.
    #[must_use]
    pub fn validate(&self, type_url: &str, bytes: &[u8]) -> Vec<Violation> {
        walk(self, type_url, bytes)
    }

    pub(super) fn policy(&self, message: &str, field: &str, rule: Rule) -> Option<Policy> {
        let of_place = || {
            let field = self.places.get(&format!("{message}.{field}"));
            field.or_else(|| self.places.get(message))
        };
        let place = (!self.places.is_empty()).then(of_place).flatten();
        place.or_else(|| self.rules.get(&rule)).copied()
    }
}

impl Default for Validator {
    fn default() -> Self {
        Self::new()
    }
}

/// The message that a type URL names.
pub(super) fn message_of(type_url: &str) -> Option<&'static Message> {
    message_named(type_url.rsplit_once('/')?.1)
}

fn message_named(name: &str) -> Option<&'static Message> {
    let at = MESSAGES.binary_search_by_key(&name, |message| message.name);
    at.ok().map(|at| MESSAGES[at])
}
