use alloc::collections::VecDeque;

use portolan_core::Name;

use crate::Nonce;

/// Most names that are remembered. A client asks for all new names at once, so a few of the newest prove as much as
/// all of them.
const MAX_NAMES: usize = 64;

/// Names of a child type that a response mentioned and that the client did not subscribe: when it asks for one, it has
/// read the response.
///
/// A client that waits for a child withholds the acknowledgement of its parent. What it asks for is then the only
/// sign that it reads.
#[derive(Debug, Default)]
pub(crate) struct Introduced(VecDeque<(Name, Nonce)>);

impl Introduced {
    pub(crate) fn note(&mut self, name: &Name, by: Nonce) {
        if self.0.len() == MAX_NAMES {
            self.0.pop_front();
        }
        self.0.push_back((name.clone(), by));
    }

    /// The newest response that a client has read that now asks for these names, which are sorted.
    pub(crate) fn read_by(&mut self, asked: &[Name]) -> Option<Nonce> {
        let is_asked =
            |(name, nonce): &(Name, Nonce)| asked.binary_search(name).ok().map(|_| *nonce);
        let read = self.0.iter().filter_map(is_asked).max()?;
        self.0.retain(|(_, nonce)| *nonce > read);
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn who_asks_for_a_name_has_read_what_introduced_it_and_what_came_before() {
        let mut introduced = Introduced::default();
        for (name, nonce) in [("a", 1), ("b", 2), ("c", 3)] {
            introduced.note(&name.into(), Nonce::new(nonce));
        }
        assert_eq!(introduced.read_by(&["x".into()]), None);
        assert_eq!(introduced.read_by(&["b".into()]), Some(Nonce::new(2)));
        assert_eq!(introduced.read_by(&["a".into()]), None);
        assert_eq!(introduced.read_by(&["b".into()]), None);
        assert_eq!(introduced.read_by(&["c".into()]), Some(Nonce::new(3)));
    }

    #[test]
    fn it_is_bounded() {
        let mut introduced = Introduced::default();
        for i in 0..=MAX_NAMES {
            introduced.note(&format!("{i}").into(), Nonce::new(1 + i as u64));
        }
        assert_eq!(introduced.0.len(), MAX_NAMES);
        assert_eq!(introduced.read_by(&["0".into()]), None);
    }
}
