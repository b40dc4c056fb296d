//! The few lines of protobuf encoding that a resource entry needs. Core knows no messages, only this envelope.

use bytes::{BufMut, BytesMut};

/// Key of a length-delimited field.
pub(crate) const fn key(field: u8) -> u8 {
    field << 3 | 2
}

pub(crate) const fn varint_len(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Length of a length-delimited field with a one-byte key.
pub(crate) const fn field_len(len: usize) -> usize {
    1 + varint_len(len) + len
}

pub(crate) fn put_head(field: u8, len: usize, out: &mut BytesMut) {
    out.put_u8(key(field));
    put_varint(len as u64, out);
}

pub(crate) fn put_varint(number: u64, out: &mut BytesMut) {
    let mut rest = number;
    while rest >= 0x80 {
        out.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

pub(crate) fn put_field(field: u8, value: &[u8], out: &mut BytesMut) {
    put_head(field, value.len(), out);
    out.put_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_match_what_is_written() {
        for len in [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
            let mut out = BytesMut::new();
            put_head(1, len, &mut out);
            assert_eq!(out.len() - 1, varint_len(len), "{len}");
        }
    }
}
