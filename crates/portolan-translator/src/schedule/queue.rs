use std::collections::BTreeMap;

/// Groups that wait for their turn, first come first served within two classes that take turns: groups that have
/// nothing yet, and groups whose model is newer than what they have. Neither class can starve the other.
#[derive(Debug)]
pub(super) struct Queue<G> {
    classes: [BTreeMap<u64, G>; 2],
    next_number: u64,
    turn: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Class {
    New,
    Stale,
}

/// A place in the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    class: Class,
    number: u64,
}

impl<G> Queue<G> {
    pub(super) fn push(&mut self, group: G, class: Class) -> Place {
        let number = self.next_number;
        self.next_number += 1;
        self.classes[class as usize].insert(number, group);
        Place { class, number }
    }

    pub(super) fn remove(&mut self, place: Place) {
        self.classes[place.class as usize].remove(&place.number);
    }

    pub(super) fn pop(&mut self) -> Option<G> {
        let turn = self.turn;
        self.turn = 1 - turn;
        let mut pop = |class: usize| self.classes[class].pop_first();
        pop(turn).or_else(|| pop(1 - turn)).map(|(_, group)| group)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.classes.iter().all(BTreeMap::is_empty)
    }
}

impl<G> Default for Queue<G> {
    fn default() -> Self {
        Self {
            classes: [BTreeMap::new(), BTreeMap::new()],
            next_number: 0,
            turn: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_take_turns() {
        let mut queue = Queue::default();
        for (group, class) in [
            ("new 1", Class::New),
            ("new 2", Class::New),
            ("new 3", Class::New),
            ("stale 1", Class::Stale),
            ("stale 2", Class::Stale),
        ] {
            queue.push(group, class);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, ["new 1", "stale 1", "new 2", "stale 2", "new 3"]);
    }

    #[test]
    fn a_place_can_be_given_up() {
        let mut queue = Queue::default();
        let place = queue.push("a", Class::New);
        queue.push("b", Class::New);
        queue.remove(place);
        assert_eq!(queue.pop(), Some("b"));
        assert!(queue.is_empty());
    }
}
