use bytes::Bytes;

/// Bytes from which decisions are taken, one after the other. Where they run out, every number is 0.
#[derive(Debug)]
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or_default()
    }

    /// A number below `end`, which is at most 256.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// What follows a length of two bytes, as far as it goes.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(u16::from_be_bytes([self.byte(), self.byte()]));
        self.take(len)
    }

    /// What follows a length of one byte, as far as it goes.
    pub(crate) fn short(&mut self) -> Bytes {
        let len = usize::from(self.byte());
        Bytes::copy_from_slice(self.take(len))
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
