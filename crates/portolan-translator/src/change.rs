use std::collections::BTreeSet;

use portolan_core::GroupKey;

use crate::debounce::Lane;

/// What is to be known of a change besides the model that shows it: how soon it is wanted, whom it concerns, what
/// about it an [`IncrementalTranslator`](crate::IncrementalTranslator) needs to be told.
///
/// The less a change concerns, the less is translated for it:
///
/// | change | is translated |
/// |---|---|
/// | [`config()`](Self::config) | everything, for every group |
/// | [`endpoints()`](Self::endpoints) | the endpoints alone, where there is a translator for them |
/// | [`with_detail(..)`](Self::with_detail) | what the detail speaks of, where the translator is incremental |
/// | [`in_groups(..)`](Self::in_groups) | as above, for these groups alone |
///
/// What a change says is taken at its word: groups and resources that it leaves out are not looked at.
///
/// ```
/// use portolan_translator::Change;
///
/// let scaled = Change::<String>::endpoints().in_groups(["edge".to_owned()]);
/// let decommissioned = Change::<String>::config().allow_mass_deletion();
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Change<G, D = ()> {
    pub(crate) lane: Lane,
    pub(crate) groups: Option<BTreeSet<G>>,
    pub(crate) detail: Option<D>,
    pub(crate) mass_deletion: bool,
}

impl<G: GroupKey, D> Change<G, D> {
    /// Anything may have changed, for every group.
    pub const fn config() -> Self {
        Self::in_lane(Lane::Config)
    }

    /// Endpoints alone changed, since the model before. It waits less, see
    /// [`DebounceConfig`](crate::DebounceConfig), and changes that were waiting are taken along.
    ///
    /// For a group that waits for nothing else, endpoints alone are translated, if the loop was given
    /// [a translator for them](crate::PublishLoopBuilder::with_endpoint_translator). Otherwise everything is.
    pub const fn endpoints() -> Self {
        Self::in_lane(Lane::Endpoints)
    }

    const fn in_lane(lane: Lane) -> Self {
        Self {
            lane,
            groups: None,
            detail: None,
            mass_deletion: false,
        }
    }

    /// The change concerns these groups alone; the others are not translated for it. Default: it concerns all.
    ///
    /// A group that the loop does not know is passed over: it is given the newest model when it comes.
    pub fn in_groups(mut self, groups: impl IntoIterator<Item = G>) -> Self {
        self.groups.get_or_insert_default().extend(groups);
        self
    }

    /// What changed, for an [`IncrementalTranslator`](crate::IncrementalTranslator). Default: nothing is said, and
    /// everything is translated.
    pub fn with_detail(mut self, detail: D) -> Self {
        self.detail = Some(detail);
        self
    }

    /// The change may delete most of what a group has: the [guard](crate::MassDeletionGuard) is not asked. Other
    /// gates are.
    ///
    /// It holds, for each group that the change concerns, until the change is published: also when a newer model takes
    /// its place before it is translated, and when the translation fails at first.
    pub const fn allow_mass_deletion(mut self) -> Self {
        self.mass_deletion = true;
        self
    }
}

impl<G: GroupKey, D> Default for Change<G, D> {
    fn default() -> Self {
        Self::config()
    }
}
