use std::collections::BTreeSet;

use portolan_core::GroupKey;

/// Whom a [wait](crate::Publisher::wait) is for: of these, the nodes that have streams when it begins.
#[derive(Clone, Debug)]
pub struct WaitScope<G>(Whom<G>);

#[derive(Clone, Debug)]
enum Whom<G> {
    All,
    Groups(BTreeSet<G>),
    Nodes(BTreeSet<String>),
}

impl<G: GroupKey> WaitScope<G> {
    /// Every node.
    #[must_use]
    pub const fn all() -> Self {
        Self(Whom::All)
    }

    /// Every node of these groups.
    #[must_use]
    pub fn groups(groups: impl IntoIterator<Item = G>) -> Self {
        Self(Whom::Groups(groups.into_iter().collect()))
    }

    /// The nodes with these ids, in whichever group.
    #[must_use]
    pub fn nodes(ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Whom::Nodes(ids.into_iter().map(Into::into).collect()))
    }

    /// The groups that it is limited to.
    pub(super) fn group_names(&self) -> Option<&BTreeSet<G>> {
        match &self.0 {
            Whom::Groups(groups) => Some(groups),
            Whom::All | Whom::Nodes(_) => None,
        }
    }

    /// The nodes that it is limited to.
    pub(super) fn node_ids(&self) -> Option<&BTreeSet<String>> {
        match &self.0 {
            Whom::Nodes(ids) => Some(ids),
            Whom::All | Whom::Groups(_) => None,
        }
    }
}
