//! Content hashing. SHA-256 cut to 128 bits: a tenant whose resources share a control plane with others cannot craft
//! two contents with one version.

use sha2::{Digest as _, Sha256};

/// A 128-bit content hash under construction. Fields are length-prefixed, so that no two different lists of fields
/// hash alike.
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Starts a hash; `domain` keeps hashes of different things apart.
    pub(crate) fn new(domain: &str) -> Self {
        Self(Sha256::new()).field(domain.as_bytes())
    }

    pub(crate) fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn finish(self) -> u128 {
        let hash = self.0.finalize();
        let mut head = [0; 16];
        head.copy_from_slice(&hash[..16]);
        u128::from_be_bytes(head)
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn fields_do_not_run_into_each_other() {
        let a = Digest::new("t").field(b"ab").field(b"c").finish();
        let b = Digest::new("t").field(b"a").field(b"bc").finish();
        assert_ne!(a, b);
    }
}
