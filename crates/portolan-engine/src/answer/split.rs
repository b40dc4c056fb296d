use alloc::collections::VecDeque;
use alloc::vec::Vec;

use portolan_core::{Name, ResponseSplit, Selection};

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
        let resources = rendering.split(self.resources.clone(), max).into_iter();
        let resources = resources.filter(|part| !part.is_empty()).map(|part| Part {
            resources: part,
            ..Part::default()
        });
        let removed = cut_names(self.removed, max)
            .into_iter()
            .map(|removed| Part {
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
            _ => resources.chain(bodyless).chain(removed).collect(),
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
        match self.removed.is_empty() {
            true => Touched::Selected(self.resources.clone()),
            false => Touched::Names(self.removed.clone()),
        }
    }
}

fn cut_names(names: Vec<Name>, max: usize) -> Vec<Vec<Name>> {
    cut(names, max, |name| name.len() + NAME_OVERHEAD)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use portolan_core::EntryForm;

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
    fn a_name_without_a_body_is_told_twice() {
        assert_eq!(parts(0, 5, 10 * EACH), [(0, 5)]);
        assert_eq!(parts(0, 5, 4 * EACH), [(0, 2), (0, 2), (0, 1)]);
        assert_eq!(parts(1, 2, 4 * EACH), [(0, 2), (1, 0)]);
        assert_eq!(parts(1, 2, 5 * EACH), [(1, 2)]);
    }
}
