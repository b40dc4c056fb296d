use std::fmt;

use portolan_core::{Name, TypeUrl};

use crate::Policy;

/// What is wrong with a snapshot, in one place.
///
/// Shown, it names the resource, leads to the place, and says what is wrong there:
///
/// ```text
/// Listener "ingress" › filter_chains[0] › filters[1] › http_connection_manager › rds › route_config_name "r1": there is no such RouteConfiguration
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub(crate) key: FindingKey,
    pub(crate) severity: Severity,
    pub(crate) path: String,
    pub(crate) says: String,
    pub(crate) policy: Policy,
}

/// What tells findings apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FindingKey {
    pub(crate) type_url: TypeUrl,
    pub(crate) name: Name,
    pub(crate) kind: FindingKind,
    /// What the place holds.
    pub(crate) value: String,
    /// The type of what the place refers to.
    pub(crate) target: Option<TypeUrl>,
    /// Which it is of several in a resource that hold the same.
    pub(crate) nth: usize,
}

/// A kind of [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// A resource refers to one that does not exist.
    Missing,
    /// Nothing refers to endpoints, a route table, a secret or an extension configuration.
    Unreferenced,
    /// Two resources of a type have one alias, or one has the other's name for an alias. Two of one name cannot be put
    /// into a snapshot.
    DuplicateName,
    /// A resource has another name than its body (C-379).
    InnerName,
    /// Aggregate clusters are members of each other.
    Cycle,
    /// There are resources of a type that is said to be served elsewhere.
    ServedElsewhere,
    /// Two listeners bind one address.
    AddressClash,
    /// A cluster with an xdstp name discovers its endpoints, and does not say under which name (C-354).
    NoServiceName,
    /// A field has a value that the schema does not allow. It is looked for with feature `schema`, and if there is
    /// something to [look with](crate::Checks::with_schema).
    Schema,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Missing,
        Self::Unreferenced,
        Self::DuplicateName,
        Self::InnerName,
        Self::Cycle,
        Self::ServedElsewhere,
        Self::AddressClash,
        Self::NoServiceName,
        Self::Schema,
    ];
}

/// One word by which it can be looked up, such as `missing` or `address-clash`.
impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Unreferenced => "unreferenced",
            Self::DuplicateName => "duplicate-name",
            Self::InnerName => "inner-name",
            Self::Cycle => "cycle",
            Self::ServedElsewhere => "served-elsewhere",
            Self::AddressClash => "address-clash",
            Self::NoServiceName => "no-service-name",
            Self::Schema => "schema",
        })
    }
}

/// What becomes of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Nothing that a client would notice.
    Info,
    /// Something does not work as it may be meant to.
    Warning,
    /// Clients reject it, wait for it, or fail requests.
    Error,
}

/// `info`, `warning`, or `error`.
impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl Finding {
    /// The kind.
    #[must_use]
    pub fn kind(&self) -> FindingKind {
        self.key.kind
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Type of the resource that is at fault.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.key.type_url
    }

    /// Name of the resource that is at fault; empty where it is the type.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.key.name
    }

    /// The place in the resource, as in [`Reference::path`](portolan_core::Reference::path); empty where it is all of it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the place holds: the name that is missing, the address that clashes. Empty where there is no place.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.key.value
    }

    /// What becomes of it.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The type of what is missing.
    #[must_use]
    pub fn target(&self) -> Option<&TypeUrl> {
        self.key.target.as_ref()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FindingKey {
            type_url,
            name,
            value,
            ..
        } = &self.key;
        f.write_str(short(type_url))?;
        if !name.is_empty() {
            write!(f, " {name:?}")?;
        }
        for step in steps(&self.path) {
            write!(f, " › {step}")?;
        }
        if !value.is_empty() {
            write!(f, " {value:?}")?;
        }
        write!(f, ": {}", self.says)
    }
}

/// The name of a message without its package.
pub(crate) fn short(type_url: &TypeUrl) -> &str {
    let name = type_url.message_name();
    name.rsplit_once('.').map_or(name, |(_, short)| short)
}

/// The steps of a path. The keys of maps, in quotes, are no steps whatever they hold.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let ends = move |c: char| {
        let ends = c == '.' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        ends
    };
    path.split(ends).filter(|step| !step.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_maps_are_no_steps() {
        let path = r#"a[0].per["x.\".y"].b.c"#;
        let shown: Vec<_> = steps(path).collect();
        assert_eq!(shown, ["a[0]", r#"per["x.\".y"]"#, "b", "c"]);
        assert_eq!(steps("").count(), 0);
    }
}
