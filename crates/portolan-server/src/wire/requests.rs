//! The requests of one stream, cut out of the body of its call.
//!
//! tonic's own reader would do, but for two things. It keeps its buffer between messages, as large as the largest was:
//! an Envoy's first request has 60 kB, of which ten thousand idle streams would hold on to. And it makes room for a
//! message as soon as its length is claimed.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body as _;
use portolan_engine::Variant;
use tonic::body::Body;

use super::request::{Bounds, Inbound, read};
use crate::{CloseReason, RequestError};

/// Flag and length in front of each gRPC message.
const GRPC_HEADER: usize = 5;

/// The requests of one stream.
#[derive(Debug)]
pub(crate) struct Requests {
    body: Body,
    variant: Variant,
    bounds: Bounds,
    /// What was received and is not read yet: at most one message, and what came with its last piece.
    buffer: BytesMut,
}

impl Requests {
    pub(crate) fn new(body: Body, variant: Variant, bounds: Bounds) -> Self {
        Self {
            body,
            variant,
            bounds,
            buffer: BytesMut::new(),
        }
    }

    /// The next request; `None` where the client has ended its side. Nothing is lost when the wait is given up.
    pub(crate) async fn next(&mut self) -> Result<Option<Inbound>, CloseReason> {
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(read(self.variant, message, self.bounds)?));
            }
            match poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await {
                // Trailers of a request mean nothing.
                Some(Ok(frame)) => self.buffer.put(frame.into_data().unwrap_or_default()),
                Some(Err(_)) => return Err(CloseReason::Gone),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(RequestError::Framing("it ends inside a message").into()),
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<Bytes>, RequestError> {
        let Some((&[flag, ref len @ ..], rest)) = self.buffer.split_first_chunk::<GRPC_HEADER>()
        else {
            return Ok(None);
        };
        match flag {
            0 => {}
            1 => {
                return Err(RequestError::Framing(
                    "a message is compressed, but the call is not",
                ));
            }
            _ => {
                return Err(RequestError::Framing(
                    "a message starts with an unknown flag",
                ));
            }
        }
        let len = u32::from_be_bytes(*len) as usize;
        if len > self.bounds.size {
            let max = self.bounds.size;
            return Err(RequestError::TooLarge { len, max });
        }
        if rest.len() < len {
            return Ok(None);
        }
        self.buffer.advance(GRPC_HEADER);
        let message = self.buffer.split_to(len).freeze();
        if self.buffer.is_empty() {
            // Lets go of the memory as soon as the message is done with.
            self.buffer = BytesMut::new();
        }
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::{Context, Poll, Waker};

    use http_body::Frame;
    use http_body_util::StreamBody;
    use portolan_engine::Request;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        size: 16,
        names: 10,
    };

    /// A call whose body comes in these pieces.
    fn requests(pieces: &[&'static [u8]]) -> Requests {
        let frames = pieces.iter().map(|piece| Bytes::from_static(piece));
        let frames: Vec<_> = frames
            .map(|piece| Ok::<_, Infallible>(Frame::data(piece)))
            .collect();
        let body = Body::new(StreamBody::new(tokio_stream::iter(frames)));
        Requests::new(body, Variant::Sotw, BOUNDS)
    }

    fn next(requests: &mut Requests) -> Result<Option<String>, CloseReason> {
        let next = std::pin::pin!(requests.next());
        let Poll::Ready(next) = next.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("pending");
        };
        let type_url = |inbound: Inbound| match inbound.request {
            Request::Sotw(request) => request.type_url,
            other => panic!("{other:?}"),
        };
        next.map(|inbound| inbound.map(type_url))
    }

    #[test]
    fn messages_may_be_cut_into_any_pieces() {
        let all = b"\0\0\0\0\x03\x22\x01a\0\0\0\0\0\0\0\0\0\x03\x22\x01b";
        for cut in 0..all.len() {
            let mut requests = requests(&[&all[..cut], &all[cut..]]);
            for expected in ["a", "", "b"] {
                assert_eq!(next(&mut requests), Ok(Some(expected.into())), "{cut}");
            }
            assert_eq!(next(&mut requests), Ok(None));
            assert_eq!(requests.buffer.capacity(), 0);
        }
    }

    #[test]
    fn a_length_is_refused_before_anything_of_it_has_come() {
        let error = next(&mut requests(&[b"\0\0\0\0\x11"])).unwrap_err();
        let expected = RequestError::TooLarge { len: 17, max: 16 };
        assert_eq!(error, expected.into());
    }

    #[test]
    fn broken_framing_says_what_is_broken() {
        let error = |piece| match next(&mut requests(&[piece])) {
            Err(CloseReason::Unreadable(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            error(b"\x01\0\0\0\0"),
            "the framing of the requests is broken: a message is compressed, but the call is not"
        );
        assert!(error(b"\x02\0\0\0\0").ends_with("an unknown flag"));
        assert!(error(b"\0\0\0\0\x03\x22").ends_with("it ends inside a message"));
        assert!(error(b"\0").ends_with("it ends inside a message"));
    }
}
