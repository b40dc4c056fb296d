use std::collections::BTreeSet;

use portolan_core::{Name, Resource, ResourceSet, ResourceTypes, Snapshot, TypeUrl};

/// A resource that is there, was there, or both.
pub(crate) struct Change {
    pub(crate) type_url: TypeUrl,
    pub(crate) name: Name,
    pub(crate) old: Option<Resource>,
    pub(crate) new: Option<Resource>,
}

impl Change {
    /// What there is now and what there was before.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Resource> {
        [&self.old, &self.new].into_iter().flatten()
    }

    /// The names by which another resource may be found now than before, or none: its own, if it came or went, and
    /// aliases that it was given or lost.
    pub(crate) fn names_that_moved(&self) -> BTreeSet<Name> {
        let names = |side: &'_ Option<Resource>| -> BTreeSet<Name> {
            let aliases = side
                .iter()
                .flat_map(|resource| resource.aliases().iter().cloned());
            let own = side.iter().map(|resource| resource.name().to_stem());
            aliases.chain(own).collect()
        };
        let (old, new) = (names(&self.old), names(&self.new));
        old.symmetric_difference(&new).cloned().collect()
    }
}

/// How a snapshot differs from the one before; of a first one, all that it holds.
pub(crate) fn changes(before: Option<&Snapshot>, now: &Snapshot) -> Vec<Change> {
    let nothing = ResourceSet::empty();
    let set = |snapshot: Option<&Snapshot>, url: &TypeUrl| {
        let set = snapshot.and_then(|snapshot| snapshot.set(url));
        set.unwrap_or(&nothing).clone()
    };
    let mut changes = Vec::new();
    for url in types(before, now) {
        let (old, new) = (set(before, &url), set(Some(now), &url));
        let change = |name: &Name| Change {
            type_url: url.clone(),
            name: name.clone(),
            old: old.get(name).cloned(),
            new: new.get(name).cloned(),
        };
        if old.entries_len() == 0 {
            // As a difference it would be remembered, and is all there is.
            changes.extend(new.iter().map(|resource| change(resource.name())));
        } else {
            changes.extend(new.diff_from(&old).names().map(change));
        }
    }
    changes
}

/// Whether both speak for the same types. Where they do not, what refers to a type may be judged otherwise though it did
/// not change.
pub(crate) fn speak_alike(before: &Snapshot, now: &Snapshot) -> bool {
    let known = ResourceTypes::well_known();
    let known = known.iter().map(|known| known.url().clone());
    let mut all = types(Some(before), now).into_iter().chain(known);
    all.all(|url| before.set(&url).is_some() == now.set(&url).is_some())
}

fn types(before: Option<&Snapshot>, now: &Snapshot) -> BTreeSet<TypeUrl> {
    let both = before.into_iter().chain([now]);
    both.flat_map(|snapshot| snapshot.sets().map(|(url, _)| url.clone()))
        .collect()
}
