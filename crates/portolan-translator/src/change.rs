use crate::debounce::Lane;

/// What is to be known of a change besides the model that shows it.
///
/// ```
/// use portolan_translator::Change;
///
/// let scaled = Change::endpoints();
/// let decommissioned = Change::config().allow_mass_deletion();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Change {
    pub(crate) lane: Lane,
    pub(crate) mass_deletion: bool,
}

impl Change {
    /// Anything may have changed.
    pub const fn config() -> Self {
        Self {
            lane: Lane::Config,
            mass_deletion: false,
        }
    }

    /// Endpoints alone changed, since the model before: it waits less, see
    /// [`DebounceConfig`](crate::DebounceConfig). Everything is translated all the same, and changes that were
    /// waiting are taken along.
    pub const fn endpoints() -> Self {
        Self {
            lane: Lane::Endpoints,
            mass_deletion: false,
        }
    }

    /// The change may delete most of what a group has: the [guard](crate::MassDeletionGuard) is not asked. Other
    /// gates are.
    ///
    /// It holds, for each group, until the change is published: also when a newer model takes its place before it is
    /// translated, and when the translation fails at first.
    pub const fn allow_mass_deletion(mut self) -> Self {
        self.mass_deletion = true;
        self
    }
}

impl Default for Change {
    fn default() -> Self {
        Self::config()
    }
}
