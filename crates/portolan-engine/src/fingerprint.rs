use alloc::vec::Vec;
use core::hash::BuildHasher;

use bytes::Bytes;
use foldhash::quality::FixedState;

use crate::Locator;

/// Order-free fingerprint of the names of a state-of-the-world request.
///
/// Clients repeat all their names with every acknowledgement; equal fingerprints spare looking at them. A client that
/// crafts two lists with one fingerprint deceives only its own stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn of(names: &[Bytes], locators: &[Locator]) -> Self {
        let hasher = FixedState::default();
        let names = names.iter().map(|name| hasher.hash_one(&name[..]));
        let locators = locators.iter().map(|locator| {
            let parameters = locator.parameters.iter();
            // Of several values of one key the last counts, so their order does.
            let parameters: Vec<_> = parameters.map(|(k, v)| (&k[..], &v[..])).collect();
            hasher.hash_one((&locator.name[..], parameters))
        });
        Self(names.chain(locators).fold(0, u64::wrapping_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Fingerprint {
        let names: Vec<_> = names
            .iter()
            .map(|n| Bytes::copy_from_slice(n.as_bytes()))
            .collect();
        Fingerprint::of(&names, &[])
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
