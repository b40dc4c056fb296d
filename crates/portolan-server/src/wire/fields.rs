//! The fields of an encoded message, one after the other, without copying.
//!
//! Requests are read by hand because of what a decoder that knows the whole message would do with a hostile one: two
//! bytes on the wire become a list entry of 32 or more in memory, so that a request within the size limit takes
//! hundreds of megabytes before anybody can count its names. Here the reader counts while it reads. It also leaves
//! the node alone, which an Envoy sends with 60 kB in each request.

use bytes::Bytes;

/// An iterator over the fields of a message. It ends after the first error.
#[derive(Debug)]
pub(super) struct Fields {
    message: Bytes,
    at: usize,
}

/// The value of a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    Varint(u64),
    Bytes(Bytes),
    /// Of a wire type that no field of a request has.
    Other,
}

/// Bytes that are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub(super) struct NotProtobuf {
    what: &'static str,
    at: usize,
}

impl Fields {
    pub(super) fn of(message: Bytes) -> Self {
        Self { message, at: 0 }
    }

    fn field(&mut self) -> Result<(u64, Value), NotProtobuf> {
        let start = self.at;
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Other)?,
            2 => {
                let len = self.varint()?;
                self.take(len).map(Value::Bytes)?
            }
            5 => self.take(4).map(|_| Value::Other)?,
            _ => {
                return Err(NotProtobuf {
                    what: "a field of unknown wire type",
                    at: start,
                });
            }
        };
        match key >> 3 {
            0 => Err(NotProtobuf {
                what: "a field without a number",
                at: start,
            }),
            number => Ok((number, value)),
        }
    }

    fn varint(&mut self) -> Result<u64, NotProtobuf> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.message.get(self.at).ok_or(NotProtobuf {
                what: "a number that is cut off",
                at: start,
            })?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(NotProtobuf {
            what: "a number of more than 64 bits",
            at: start,
        })
    }

    fn take(&mut self, len: u64) -> Result<Bytes, NotProtobuf> {
        let rest = self.message.len() - self.at;
        match usize::try_from(len) {
            Ok(len) if len <= rest => {
                let start = self.at;
                self.at += len;
                Ok(self.message.slice(start..self.at))
            }
            _ => Err(NotProtobuf {
                what: "a field that is longer than the message",
                at: self.at,
            }),
        }
    }
}

impl Iterator for Fields {
    type Item = Result<(u64, Value), NotProtobuf>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.message.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.message.len();
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &'static [u8]) -> Result<Vec<(u64, Value)>, String> {
        Fields::of(Bytes::from_static(message))
            .map(|field| field.map_err(|e| e.to_string()))
            .collect()
    }

    #[test]
    fn each_wire_type_is_read_or_passed_over() {
        let fields =
            read(b"\x08\x96\x01\x12\x02ab\x1d\x00\x00\x00\x00\x21\x00\x00\x00\x00\x00\x00\x00\x00");
        let expected = vec![
            (1, Value::Varint(150)),
            (2, Value::Bytes(Bytes::from_static(b"ab"))),
            (3, Value::Other),
            (4, Value::Other),
        ];
        assert_eq!(fields, Ok(expected));
    }

    #[test]
    fn what_is_not_protobuf_is_an_error_that_says_where() {
        let wrong = |message| read(message).expect_err("not a message");
        assert_eq!(wrong(b"\x08"), "a number that is cut off at byte 1");
        assert_eq!(
            wrong(b"\x12\x05ab"),
            "a field that is longer than the message at byte 2"
        );
        assert_eq!(
            wrong(b"\x08\x01\x0b"),
            "a field of unknown wire type at byte 2"
        );
        assert_eq!(wrong(b"\x02\x00"), "a field without a number at byte 0");
        let long = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(wrong(long), "a number of more than 64 bits at byte 1");
    }

    #[test]
    fn reading_ends_after_an_error() {
        let fields = Fields::of(Bytes::from_static(b"\x0b\x08\x01"));
        assert_eq!(fields.count(), 1);
    }
}
