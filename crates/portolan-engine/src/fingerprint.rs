use core::hash::BuildHasher;

use bytes::Bytes;
use foldhash::quality::FixedState;

/// Order-free fingerprint of the names of a state-of-the-world request.
///
/// Clients repeat all their names with every acknowledgement; equal fingerprints spare looking at them. A client that
/// crafts two lists with one fingerprint deceives only its own stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    sum: u64,
    count: usize,
}

impl Fingerprint {
    pub(crate) fn of(names: &[Bytes]) -> Self {
        let hasher = FixedState::default();
        let hashes = names.iter().map(|name| hasher.hash_one(&name[..]));
        Self {
            sum: hashes.fold(0, u64::wrapping_add),
            count: names.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn of(names: &[&str]) -> Fingerprint {
        let names: Vec<_> = names
            .iter()
            .map(|n| Bytes::copy_from_slice(n.as_bytes()))
            .collect();
        Fingerprint::of(&names)
    }

    #[test]
    fn order_does_not_count_and_repetition_does() {
        assert_eq!(of(&["a", "b"]), of(&["b", "a"]));
        assert_ne!(of(&["a"]), of(&["b"]));
        assert_ne!(of(&["a", "a"]), of(&["b", "b"]));
        assert_ne!(of(&["a", "a"]), of(&["a"]));
        assert_ne!(of(&[]), of(&[""]));
    }
}
