use std::collections::BTreeMap;

use super::resolutions::Ticket;

/// Tickets in the order in which they came, each once. One leaves from anywhere at the cost of a search: a stream that ends
/// gives up as many names as it had, and others wait for the lock meanwhile.
#[derive(Debug, Default)]
pub(super) struct Queue {
    by_place: BTreeMap<u64, Ticket>,
    places: BTreeMap<Ticket, u64>,
    given: u64,
}

impl Queue {
    /// Puts a ticket last, wherever it was.
    pub(super) fn push(&mut self, ticket: Ticket) {
        self.remove(ticket);
        self.given += 1;
        self.by_place.insert(self.given, ticket);
        self.places.insert(ticket, self.given);
    }

    pub(super) fn pop(&mut self) -> Option<Ticket> {
        let (_, ticket) = self.by_place.pop_first()?;
        self.places.remove(&ticket);
        Some(ticket)
    }

    pub(super) fn remove(&mut self, ticket: Ticket) {
        if let Some(place) = self.places.remove(&ticket) {
            self.by_place.remove(&place);
        }
    }

    pub(super) fn first(&self) -> Option<Ticket> {
        self.by_place.values().next().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.by_place.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_leave_in_the_order_in_which_they_came_last() {
        let mut queue = Queue::default();
        for ticket in [1, 2, 3, 1] {
            queue.push(Ticket(ticket));
        }
        assert_eq!((queue.len(), queue.first()), (3, Some(Ticket(2))));
        queue.remove(Ticket(3));
        queue.remove(Ticket(9));
        assert_eq!(queue.pop(), Some(Ticket(2)));
        assert_eq!(queue.pop(), Some(Ticket(1)));
        assert_eq!(queue.pop(), None);
        assert!(queue.is_empty() && queue.places.is_empty());
    }
}
