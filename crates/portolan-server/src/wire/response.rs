//! A response as it goes on the wire.

use bytes::{BufMut, Bytes, BytesMut};
use portolan_core::{Name, encoded_resource_name};
use portolan_engine::{Response, Variant};

use crate::CloseReason;

/// Flag and length in front of each gRPC message.
const GRPC_HEADER: usize = 5;

mod field {
    pub(super) const VERSION: u8 = 1;
    pub(super) const TYPE_URL: u8 = 4;
    pub(super) const NONCE: u8 = 5;
    pub(super) const REMOVED: u8 = 6;
    /// What is removed by name and constraints.
    pub(super) const REMOVED_NAMES: u8 = 8;
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
    /// Those of them that have constraints, encoded.
    removed_names: Vec<Bytes>,
    control_plane: (u8, &'a str),
}

impl<'a> OwnFields<'a> {
    fn of(response: &'a Response, control_plane: &'a str) -> Self {
        let control_plane_field = match response.variant {
            Variant::Sotw => field::CONTROL_PLANE_SOTW,
            _ => field::CONTROL_PLANE_DELTA,
        };
        let removed = match response.variant {
            Variant::Sotw => &[],
            _ => &response.removed[..],
        };
        let constrained = removed.iter().filter(|name| !name.is_stem());
        Self {
            version: response.version.as_str(),
            type_url: response.type_url.as_str(),
            nonce: response.nonce.to_string(),
            removed,
            removed_names: constrained.map(encoded_resource_name).collect(),
            control_plane: (control_plane_field, control_plane),
        }
    }

    fn fields(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let single = [
            (field::VERSION, self.version.as_bytes()),
            (field::TYPE_URL, self.type_url.as_bytes()),
            (field::NONCE, self.nonce.as_bytes()),
        ];
        let removed = self.removed.iter().filter(|name| name.is_stem());
        let removed = removed.map(|name| (field::REMOVED, name.as_bytes()));
        let constrained = self.removed_names.iter();
        let constrained = constrained.map(|name| (field::REMOVED_NAMES, &name[..]));
        single.into_iter().chain(removed).chain(constrained)
    }

    fn len(&self) -> usize {
        let fields = self.fields().map(|(_, value)| field_len(value.len()));
        let fields: usize = fields.sum();
        match self.control_plane {
            (_, "") => fields,
            (_, id) => fields + field_len(field_len(id.len())),
        }
    }

    fn put(&self, out: &mut BytesMut) {
        for (field, value) in self.fields() {
            put_field(field, value, out);
        }
        let (field, id) = self.control_plane;
        if !id.is_empty() {
            put_head(field, field_len(id.len()), out);
            put_field(field::IDENTIFIER, id.as_bytes(), out);
        }
    }
}

fn put_field(field: u8, value: &[u8], out: &mut BytesMut) {
    put_head(field, value.len(), out);
    out.put_slice(value);
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
    use portolan_core::Constraints;
    use portolan_types::envoy::service::discovery::v3::dynamic_parameter_constraints::Type;
    use portolan_types::envoy::service::discovery::v3::dynamic_parameter_constraints::single_constraint::ConstraintType;
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
            removed_names: Vec::new(),
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
        let name = Name::from("b").with_constraints(&Constraints::value("k", "v"));
        let removed = [Name::from("a"), Name::from(long.as_str()), name];
        let own = OwnFields {
            version: "v",
            type_url: "t",
            nonce: "1".into(),
            removed: &removed,
            removed_names: vec![encoded_resource_name(&removed[2])],
            control_plane: (field::CONTROL_PLANE_DELTA, ""),
        };
        let response = DeltaDiscoveryResponse::decode(encoded(&own)).unwrap();
        assert_eq!(response.system_version_info, "v");
        assert_eq!(response.type_url, "t");
        assert_eq!(response.nonce, "1");
        assert_eq!(response.removed_resources, ["a", &*long]);
        let [removed] = &response.removed_resource_names[..] else {
            panic!("{response:?}");
        };
        assert_eq!(removed.name, "b");
        let constraints = removed.dynamic_parameter_constraints.as_ref().unwrap();
        let Some(Type::Constraint(constraint)) = &constraints.r#type else {
            panic!("{constraints:?}");
        };
        assert_eq!(constraint.key, "k");
        assert_eq!(
            constraint.constraint_type,
            Some(ConstraintType::Value("v".into()))
        );
        assert!(response.control_plane.is_none());
    }
}
