use alloc::vec::Vec;

use portolan_core::Name;

/// Most names that are remembered one by one. A client asks for both types in one go, so there is seldom more than
/// one answer in between; and answering all names is never wrong.
const MAX_NAMES: usize = 64;

/// Names of a child type that must be answered when a client asks for that type, because what refers to them was
/// sent before.
///
/// A reconnecting delta client says what it has of clusters and of endpoints at once. When it is sent a changed
/// cluster in between, it warms that until the endpoints come, though it has them in the current version.
#[derive(Debug)]
pub(crate) enum Early {
    Names(Vec<Name>),
    Everything,
}

impl Default for Early {
    fn default() -> Self {
        Self::Names(Vec::new())
    }
}

impl Early {
    /// Notes a name, as long as there are not too many.
    pub(crate) fn note(&mut self, name: &Name) {
        match self {
            Self::Names(noted) if noted.len() < MAX_NAMES => noted.push(name.clone()),
            Self::Names(_) => *self = Self::Everything,
            Self::Everything => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn too_many_names_are_everything() {
        let names: Vec<_> = (0..=MAX_NAMES)
            .map(|i| Name::from(format!("{i}")))
            .collect();
        let mut early = Early::default();
        names[..MAX_NAMES].iter().for_each(|name| early.note(name));
        assert!(matches!(&early, Early::Names(noted) if noted.len() == MAX_NAMES));
        early.note(&names[MAX_NAMES]);
        assert!(matches!(early, Early::Everything));
    }
}
