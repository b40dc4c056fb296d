use std::fmt;

use super::Rule;
use crate::Policy;

/// A value that the schema does not allow.
///
/// Shown, it is the place and what would be right there. It never tells what a text holds, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub(super) path: String,
    pub(super) rule: Rule,
    pub(super) message: &'static str,
    pub(super) field: &'static str,
    pub(super) says: String,
    pub(super) policy: Option<Policy>,
}

impl Violation {
    /// The place, as in [`Reference::path`](portolan_core::Reference::path):
    /// `load_assignment.endpoints[0].lb_endpoints[1].load_balancing_weight`. What is in an `Any` is named by its type:
    /// `transport_socket.upstream_tls_context.sni`. Empty where it is the message itself.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kind of rule that does not hold.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The field or oneof that has the rule, with its message: `envoy.config.cluster.v3.Cluster.name`. Empty where it is
    /// the message that was validated.
    #[must_use]
    pub fn field(&self) -> String {
        match self.message {
            "" => String::new(),
            message => format!("{message}.{}", self.field),
        }
    }

    /// What would be right.
    #[must_use]
    pub fn says(&self) -> &str {
        &self.says
    }

    /// What the validator says becomes of it, if it says so.
    #[must_use]
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.says);
        }
        write!(f, "{}: {}", self.path, self.says)
    }
}
