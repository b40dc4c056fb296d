//! A response as it goes on the wire.

use bytes::{BufMut, Bytes, BytesMut};
use portolan_core::Name;
use portolan_engine::{Response, Variant};

use crate::CloseReason;

/// Flag and length in front of each gRPC message.
const GRPC_HEADER: usize = 5;

mod field {
    pub(super) const VERSION: u8 = 1;
    pub(super) const TYPE_URL: u8 = 4;
    pub(super) const NONCE: u8 = 5;
    pub(super) const REMOVED: u8 = 6;
    pub(super) const CONTROL_PLANE_SOTW: u8 = 6;
    pub(super) const CONTROL_PLANE_DELTA: u8 = 7;
    /// Of `envoy.config.core.v3.ControlPlane`.
    pub(super) const IDENTIFIER: u8 = 1;
}

/// One gRPC message in pieces: first what is this stream's own, then what it shares with others.
#[derive(Debug)]
pub(crate) struct Framed {
    pub(crate) frames: Vec<Bytes>,
    /// Length of the message.
    pub(crate) len: usize,
}

/// Frames a response. The fields of a message may come in any order, so the resources, which are already encoded,
/// follow behind the others.
pub(crate) fn frame(response: &Response, control_plane: &str) -> Result<Framed, CloseReason> {
    let parts = response.parts();
    let own = OwnFields::of(response, control_plane);
    let len = own.len() + parts.iter().map(Bytes::len).sum::<usize>();
    let Ok(grpc_len) = u32::try_from(len) else {
        return Err(CloseReason::ResponseTooLong { len });
    };
    let mut head = BytesMut::with_capacity(GRPC_HEADER + own.len());
    head.put_u8(0);
    head.put_u32(grpc_len);
    own.put(&mut head);
    let mut frames = Vec::with_capacity(1 + parts.len());
    frames.push(head.freeze());
    frames.extend(parts);
    Ok(Framed { frames, len })
}

/// The fields that are this stream's own.
struct OwnFields<'a> {
    version: &'a str,
    type_url: &'a str,
    nonce: String,
    removed: &'a [Name],
    control_plane: (u8, &'a str),
}

impl<'a> OwnFields<'a> {
    fn of(response: &'a Response, control_plane: &'a str) -> Self {
        let control_plane_field = match response.variant {
            Variant::Sotw => field::CONTROL_PLANE_SOTW,
            _ => field::CONTROL_PLANE_DELTA,
        };
        Self {
            version: response.version.as_str(),
            type_url: response.type_url.as_str(),
            nonce: response.nonce.to_string(),
            removed: match response.variant {
                Variant::Sotw => &[],
                _ => &response.removed,
            },
            control_plane: (control_plane_field, control_plane),
        }
    }

    fn texts(&self) -> impl Iterator<Item = (u8, &str)> {
        let single = [
            (field::VERSION, self.version),
            (field::TYPE_URL, self.type_url),
            (field::NONCE, &*self.nonce),
        ];
        let removed = self.removed.iter().map(|name| (field::REMOVED, &**name));
        single.into_iter().chain(removed)
    }

    fn len(&self) -> usize {
        let texts: usize = self.texts().map(|(_, text)| field_len(text.len())).sum();
        match self.control_plane {
            (_, "") => texts,
            (_, id) => texts + field_len(field_len(id.len())),
        }
    }

    fn put(&self, out: &mut BytesMut) {
        for (field, text) in self.texts() {
            put_text(field, text, out);
        }
        let (field, id) = self.control_plane;
        if !id.is_empty() {
            put_head(field, field_len(id.len()), out);
            put_text(field::IDENTIFIER, id, out);
        }
    }
}

fn put_text(field: u8, text: &str, out: &mut BytesMut) {
    put_head(field, text.len(), out);
    out.put_slice(text.as_bytes());
}

/// Key and length of a field that has a length.
fn put_head(field: u8, len: usize, out: &mut BytesMut) {
    out.put_u8(field << 3 | 2);
    prost::encode_length_delimiter(len, out).expect("a growing buffer has room");
}

fn field_len(len: usize) -> usize {
    1 + prost::length_delimiter_len(len) + len
}

#[cfg(test)]
mod tests {
    use portolan_types::envoy::service::discovery::v3::{
        DeltaDiscoveryResponse, DiscoveryResponse,
    };
    use prost::Message;

    use super::*;

    fn encoded(own: &OwnFields<'_>) -> Bytes {
        let mut out = BytesMut::new();
        own.put(&mut out);
        assert_eq!(out.len(), own.len());
        out.freeze()
    }

    #[test]
    fn own_fields_are_those_of_a_discovery_response() {
        let own = OwnFields {
            version: "v",
            type_url: "t",
            nonce: "1".into(),
            removed: &[],
            control_plane: (field::CONTROL_PLANE_SOTW, "cp"),
        };
        let response = DiscoveryResponse::decode(encoded(&own)).unwrap();
        assert_eq!(response.version_info, "v");
        assert_eq!(response.type_url, "t");
        assert_eq!(response.nonce, "1");
        assert_eq!(response.control_plane.unwrap().identifier, "cp");
    }

    #[test]
    fn own_fields_are_those_of_a_delta_response() {
        let long = "x".repeat(300);
        let removed = [Name::from("a"), Name::from(long.as_str())];
        let own = OwnFields {
            version: "v",
            type_url: "t",
            nonce: "1".into(),
            removed: &removed,
            control_plane: (field::CONTROL_PLANE_DELTA, ""),
        };
        let response = DeltaDiscoveryResponse::decode(encoded(&own)).unwrap();
        assert_eq!(response.system_version_info, "v");
        assert_eq!(response.type_url, "t");
        assert_eq!(response.nonce, "1");
        assert_eq!(response.removed_resources, ["a", &*long]);
        assert!(response.control_plane.is_none());
    }
}
