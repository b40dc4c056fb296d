use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use portolan_core::{Name, Resource, ResponseSplit, Selection};

use super::Answer;
use crate::cut::cut;
use crate::rendering::Rendering;
use crate::touched::Touched;

/// What a name costs besides its letters where it is said to be gone, or has a resource without a body.
const NAME_OVERHEAD: usize = 16;

impl Answer {
    /// Length of what the answer adds to a message, in bytes; a little more than it is.
    pub(crate) fn encoded_len(&self, rendering: Rendering) -> usize {
        let names = self
            .removed
            .iter()
            .chain(&self.bodyless)
            .chain(&self.bodyless);
        let names: usize = names.map(|name| name.len() + NAME_OVERHEAD).sum();
        rendering.len(&self.resources) + names
    }

    /// The answer in parts of at most `max` bytes, as far as that is possible. They are one answer still: nothing comes
    /// between them, and what holds one back holds all.
    pub(crate) fn split(
        self,
        rendering: Rendering,
        rule: ResponseSplit,
        max: usize,
    ) -> VecDeque<Self> {
        if rule == ResponseSplit::Never || self.encoded_len(rendering) <= max {
            return VecDeque::from([self]);
        }
        let names = self.resources.iter().map(Resource::name);
        let is_alone = names.chain(&self.removed).all(Name::is_stem);
        let stems: BTreeSet<_> = match is_alone {
            true => BTreeSet::new(),
            false => self.resources.iter().map(|r| r.name().stem()).collect(),
        };
        let is_replaced = |name: &Name| stems.contains(name.stem());
        let (replaced, removed): (Vec<_>, Vec<_>) = self.removed.into_iter().partition(is_replaced);
        let resources = match replaced.is_empty() {
            true => parts(rendering.split(self.resources.clone(), max)),
            false => replacing_parts(&self.resources, &replaced, rendering, max),
        };
        let removed = cut_names(removed, max).into_iter().map(|removed| Part {
            removed,
            ..Part::default()
        });
        let bodyless = cut_names(self.bodyless, max / 2)
            .into_iter()
            .map(|bodyless| Part {
                bodyless,
                ..Part::default()
            });
        let parts: Vec<_> = match rule {
            ResponseSplit::RemovalsFirst => removed.chain(resources).chain(bodyless).collect(),
            _ => resources
                .into_iter()
                .chain(bodyless)
                .chain(removed)
                .collect(),
        };
        let (reason, mut fresh) = (self.reason, Some(self.fresh));
        let answer = |part: Part| Self {
            touched: part.touched(),
            resources: part.resources,
            bodyless: part.bodyless,
            removed: part.removed,
            reason,
            // What new resources refer to is told once.
            fresh: fresh.take().unwrap_or_else(Selection::none),
        };
        parts.into_iter().map(answer).collect()
    }
}

struct Part {
    resources: Selection,
    bodyless: Vec<Name>,
    removed: Vec<Name>,
}

impl Default for Part {
    fn default() -> Self {
        Self {
            resources: Selection::none(),
            bodyless: Vec::new(),
            removed: Vec::new(),
        }
    }
}

impl Part {
    fn touched(&self) -> Touched {
        let resources = Touched::Selected(self.resources.clone());
        resources.and(Touched::Names(self.removed.clone()))
    }
}

fn parts(resources: Vec<Selection>) -> Vec<Part> {
    let parts = resources.into_iter().filter(|part| !part.is_empty());
    let parts = parts.map(|resources| Part {
        resources,
        ..Part::default()
    });
    parts.collect()
}

/// Parts of which each holds all that is said of a stem: a client is not to be without what is replaced, nor to have it
/// twice (C-425).
fn replacing_parts(
    resources: &Selection,
    replaced: &[Name],
    rendering: Rendering,
    max: usize,
) -> Vec<Part> {
    let mut stems: BTreeMap<&str, (Vec<&Resource>, Vec<&Name>)> = BTreeMap::new();
    for resource in resources.iter() {
        let stem = stems.entry(resource.name().stem()).or_default();
        stem.0.push(resource);
    }
    for name in replaced {
        let stem = stems.entry(name.stem()).or_default();
        stem.1.push(name);
    }
    let len_of = |(resources, names): &(Vec<&Resource>, Vec<&Name>)| {
        let resources = resources.iter().map(|r| rendering.entry_len(r));
        let names = names.iter().map(|name| name.len() + NAME_OVERHEAD);
        resources.chain(names).sum()
    };
    let runs = cut(stems.into_values(), max, len_of).into_iter();
    let part = |run: Vec<(Vec<&Resource>, Vec<&Name>)>| {
        let (resources, removed): (Vec<_>, Vec<_>) = run.into_iter().unzip();
        Part {
            resources: Selection::of(resources.into_iter().flatten().cloned()),
            removed: removed.into_iter().flatten().cloned().collect(),
            ..Part::default()
        }
    };
    runs.map(part).collect()
}

fn cut_names(names: Vec<Name>, max: usize) -> Vec<Vec<Name>> {
    cut(names, max, |name| name.len() + NAME_OVERHEAD)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use portolan_core::well_known::CLUSTER;
    use portolan_core::{Constraints, EntryForm};

    use super::*;
    use crate::Reason;

    /// So much is reckoned for each of [`names`].
    const EACH: usize = 4 + NAME_OVERHEAD;

    fn names(count: usize) -> Vec<Name> {
        vec![Name::from("name"); count]
    }

    fn parts(removed: usize, bodyless: usize, max: usize) -> Vec<(usize, usize)> {
        let answer = Answer {
            resources: Selection::none(),
            bodyless: names(bodyless),
            removed: names(removed),
            touched: Touched::Names(Vec::new()),
            reason: Reason::Owed,
            fresh: Selection::none(),
        };
        let rendering = Rendering {
            form: EntryForm::Delta,
            timed: false,
            wrapped: false,
        };
        let parts = answer.split(rendering, ResponseSplit::RemovalsLast, max);
        let lens = |part: &Answer| (part.removed.len(), part.bodyless.len());
        parts.iter().map(lens).collect()
    }

    #[test]
    fn as_many_names_are_told_at_once_as_fit() {
        assert_eq!(parts(5, 0, 5 * EACH), [(5, 0)]);
        assert_eq!(parts(5, 0, 5 * EACH - 1), [(4, 0), (1, 0)]);
        assert_eq!(parts(7, 0, 3 * EACH), [(3, 0), (3, 0), (1, 0)]);
    }

    #[test]
    fn c425_what_is_replaced_goes_with_its_replacement_in_as_few_parts_as_may_be() {
        let value = |value: &str| Constraints::value("env", value);
        let alternative = |stem: &str| {
            let builder = Resource::builder(CLUSTER, stem, &b"x"[..]);
            builder.constraints(value("p")).build().unwrap()
        };
        let replaced = ["a", "b"].map(|stem| Name::from(stem).with_constraints(&value("t")));
        let rendering = Rendering {
            form: EntryForm::Delta,
            timed: false,
            wrapped: false,
        };
        let entry = rendering.entry_len(&alternative("a"));
        let each = entry + replaced[0].len() + NAME_OVERHEAD;
        for (max, expected) in [
            (2 * each, &[(2, 2), (0, 1)][..]),
            (2 * each - 1, &[(1, 1), (1, 1), (0, 1)]),
        ] {
            let removed = replaced.iter().cloned().chain(["c".into()]);
            let answer = Answer {
                resources: Selection::of(["a", "b"].map(alternative)),
                bodyless: Vec::new(),
                removed: removed.collect(),
                touched: Touched::Names(Vec::new()),
                reason: Reason::Changed,
                fresh: Selection::none(),
            };
            let parts = answer.split(rendering, ResponseSplit::RemovalsLast, max);
            let lens = parts.iter().map(|p| (p.resources.len(), p.removed.len()));
            assert_eq!(lens.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_name_without_a_body_is_told_twice() {
        assert_eq!(parts(0, 5, 10 * EACH), [(0, 5)]);
        assert_eq!(parts(0, 5, 4 * EACH), [(0, 2), (0, 2), (0, 1)]);
        assert_eq!(parts(1, 2, 4 * EACH), [(0, 2), (1, 0)]);
        assert_eq!(parts(1, 2, 5 * EACH), [(1, 2)]);
    }
}
