//! The fields of an encoded message, one after the other, without copying.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed,
}

/// Bytes that are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The fields with their numbers. After an error it ends.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Result<(u64, Value<'_>), Malformed>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

/// The value of a field that is there once; the last, if it is there more often.
pub(super) fn get(message: &[u8], number: u64) -> Result<Option<Value<'_>>, Malformed> {
    let mut found = None;
    for field in fields(message) {
        let (at, value) = field?;
        if at == number {
            found = Some(value);
        }
    }
    Ok(found)
}

/// What [`get`] finds, if it is a message or a text.
pub(super) fn get_bytes(message: &[u8], number: u64) -> Result<Option<&[u8]>, Malformed> {
    match get(message, number)? {
        None => Ok(None),
        Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Value::Varint(_) | Value::Fixed) => Err(Malformed),
    }
}

pub(super) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed)
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Value<'a>), Malformed> {
    let key = varint(rest)?;
    let value = match key & 7 {
        0 => Value::Varint(varint(rest)?),
        1 => take(rest, 8).map(|_| Value::Fixed)?,
        2 => {
            let len = varint(rest)?;
            take(rest, len).map(Value::Bytes)?
        }
        5 => take(rest, 4).map(|_| Value::Fixed)?,
        _ => return Err(Malformed),
    };
    Ok((key >> 3, value))
}

fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(Malformed)?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

fn take<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8], Malformed> {
    let len = usize::try_from(len).map_err(|_| Malformed)?;
    let (taken, tail) = rest.split_at_checked(len).ok_or(Malformed)?;
    *rest = tail;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wire_type_is_read_or_passed_over() {
        let message =
            b"\x08\x96\x01\x12\x02ab\x1d\x00\x00\x00\x00\x21\x00\x00\x00\x00\x00\x00\x00\x00";
        let read: Result<Vec<_>, _> = fields(message).collect();
        let expected = vec![
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"ab")),
            (3, Value::Fixed),
            (4, Value::Fixed),
        ];
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn reading_ends_where_the_message_is_broken() {
        let broken: [&[u8]; 4] = [
            b"\x08",
            b"\x12\x05ab",
            b"\x0b\x08\x01",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ];
        for message in broken {
            assert_eq!(fields(message).collect::<Vec<_>>(), [Err(Malformed)]);
        }
    }

    #[test]
    fn of_what_must_be_there_once_the_last_counts() {
        let twice = b"\x0a\x01a\x0a\x01b";
        assert_eq!(get_bytes(twice, 1), Ok(Some(&b"b"[..])));
        assert_eq!(get_bytes(twice, 2), Ok(None));
        assert_eq!(get_bytes(b"\x08\x01", 1), Err(Malformed));
    }
}
