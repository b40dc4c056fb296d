use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use portolan_core::{Generation, Name, ViewId};

/// Who watches which name, and the line of names that changed and whose watchers have to be visited.
///
/// A name is here while somebody watches it, or until it left the line.
#[derive(Debug, Default)]
pub(super) struct Watched {
    names: HashMap<Name, Watchers>,
    line: VecDeque<Name>,
}

#[derive(Debug, Default)]
struct Watchers {
    views: BTreeSet<ViewId>,
    /// The publication that last changed the name.
    changed: Generation,
    /// How many are to be visited since then: once around. The name is in line while there are any.
    left: usize,
    /// Who was visited last. A round starts behind it, so that those at the end have their turn however often the name
    /// changes.
    visited: Option<ViewId>,
}

impl Watched {
    pub(super) fn add(&mut self, name: &Name, view: ViewId) {
        let watchers = match self.names.get_mut(name) {
            Some(watchers) => watchers,
            None => self.names.entry(name.clone()).or_default(),
        };
        if watchers.views.insert(view) && watchers.left > 0 {
            // Or else one who was there before would be left out of the round.
            watchers.left += 1;
        }
    }

    pub(super) fn remove(&mut self, name: &Name, view: ViewId) {
        let Some(watchers) = self.names.get_mut(name) else {
            return;
        };
        watchers.views.remove(&view);
        if watchers.views.is_empty() && watchers.left == 0 {
            self.names.remove(name);
        }
    }

    /// A publication changed this name.
    pub(super) fn change(&mut self, name: &Name, generation: Generation) {
        let watchers = self.names.get_mut(name);
        let Some(watchers) = watchers.filter(|watchers| !watchers.views.is_empty()) else {
            return;
        };
        if watchers.left == 0 {
            self.line.push_back(name.clone());
        }
        watchers.changed = generation;
        watchers.left = watchers.views.len();
    }

    pub(super) fn is_in_line(&self) -> bool {
        !self.line.is_empty()
    }

    /// One who watches the name at the head of the line, if anybody still does, and the publication that changed it.
    /// Names take turns.
    pub(super) fn visit(&mut self) -> Option<(ViewId, Generation)> {
        let name = self.line.pop_front()?;
        let watchers = self.names.get_mut(&name).expect("it is in line");
        let after = watchers.visited.map_or(Unbounded, Excluded);
        let next = watchers.views.range((after, Unbounded)).next();
        watchers.visited = next.or_else(|| watchers.views.first()).copied();
        let visit = watchers.visited.map(|view| (view, watchers.changed));
        watchers.left -= 1;
        if watchers.views.is_empty() {
            self.names.remove(&name);
        } else if watchers.left > 0 {
            self.line.push_back(name);
        }
        visit
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: u64) -> Generation {
        (0..number).fold(Generation::default(), |last, _| last.next())
    }

    fn visits(watched: &mut Watched) -> Vec<u64> {
        std::iter::from_fn(|| watched.visit())
            .map(|(view, _)| view.get())
            .collect()
    }

    #[test]
    fn a_round_visits_each_once_and_starts_where_the_last_one_was_cut_short() {
        let (mut watched, name) = (Watched::default(), Name::from("a"));
        for view in 0..4 {
            watched.add(&name, ViewId::new(view));
        }
        watched.change(&name, generation(1));
        assert_eq!(watched.visit(), Some((ViewId::new(0), generation(1))));
        watched.change(&name, generation(2));
        assert_eq!(visits(&mut watched), [1, 2, 3, 0]);
    }

    #[test]
    fn who_comes_during_a_round_takes_nobodys_place() {
        let (mut watched, name) = (Watched::default(), Name::from("a"));
        for view in [1, 9] {
            watched.add(&name, ViewId::new(view));
        }
        watched.change(&name, generation(1));
        watched.add(&name, ViewId::new(5));
        assert_eq!(visits(&mut watched), [1, 5, 9]);
    }

    #[test]
    fn names_take_turns() {
        let mut watched = Watched::default();
        let names = ["a", "b"].map(Name::from);
        for (at, name) in names.iter().enumerate() {
            for view in 0..2 {
                watched.add(name, ViewId::new(10 * at as u64 + view));
            }
            watched.change(name, generation(1));
        }
        assert_eq!(visits(&mut watched), [0, 10, 1, 11]);
    }

    #[test]
    fn a_name_is_forgotten_with_its_last_watcher_once_it_left_the_line() {
        let (mut watched, name) = (Watched::default(), Name::from("a"));
        watched.add(&name, ViewId::new(0));
        watched.remove(&name, ViewId::new(0));
        assert!(watched.is_empty());
        watched.add(&name, ViewId::new(1));
        watched.change(&name, generation(1));
        watched.remove(&name, ViewId::new(1));
        watched.add(&name, ViewId::new(2));
        watched.remove(&name, ViewId::new(2));
        watched.change(&name, generation(2));
        assert_eq!(visits(&mut watched), []);
        assert!(watched.is_empty());
    }

    #[test]
    fn a_name_that_nobody_watches_stands_in_no_line() {
        let mut watched = Watched::default();
        watched.change(&Name::from("a"), generation(1));
        assert!(!watched.is_in_line());
    }
}
