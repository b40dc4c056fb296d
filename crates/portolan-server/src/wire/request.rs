//! The two requests, read from their encoded form.

use bytes::Bytes;
use portolan_engine::{DeltaRequest, ErrorDetail, Locator, Request, SotwRequest, Variant};

use super::fields::{Fields, NotProtobuf, Value};

/// What a client sent that is not a request. The fault is the client's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The message is not protobuf.
    #[error("{message} is not valid protobuf: {reason}")]
    Malformed {
        /// Name of the message.
        message: &'static str,
        /// What is wrong, and where.
        reason: String,
    },
    /// A text that must be UTF-8 is not.
    #[error("{message}.{field} is not valid UTF-8")]
    NotText {
        /// Name of the message.
        message: &'static str,
        /// Name of the field.
        field: &'static str,
    },
    /// More bytes than [`with_max_request_size`](crate::XdsServerBuilder::with_max_request_size).
    #[error("the request has {len} bytes, which exceeds the limit of {max}")]
    TooLarge {
        /// Length of the request.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A node of more bytes than [`with_max_node_size`](crate::XdsServerBuilder::with_max_node_size).
    #[error("the node has {len} bytes, which exceeds the limit of {max}")]
    NodeTooLarge {
        /// Length of the node.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// More names in one request than a stream may hold. Of names with dynamic parameters each of these counts too.
    #[error("the request has more than {max} names")]
    TooManyNames {
        /// The limit.
        max: usize,
    },
    /// The gRPC framing around messages is broken.
    #[error("the framing of the requests is broken: {0}")]
    Framing(&'static str),
}

/// Bounds on one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of the message.
    pub(crate) size: usize,
    /// Names, those of all lists together.
    pub(crate) names: usize,
}

/// A request, with what the session does not see of it.
#[derive(Debug)]
pub(crate) struct Inbound {
    pub(crate) request: Request,
    /// The encoded node, where the request has one.
    pub(crate) node: Option<Bytes>,
    /// Length of the message.
    pub(crate) len: usize,
}

/// Reads a request.
pub(super) fn read(
    variant: Variant,
    message: Bytes,
    bounds: Bounds,
) -> Result<Inbound, RequestError> {
    match variant {
        Variant::Sotw => read_sotw(message, bounds),
        _ => read_delta(message, bounds),
    }
}

/// `envoy.service.discovery.v3.DiscoveryRequest`
fn read_sotw(message: Bytes, bounds: Bounds) -> Result<Inbound, RequestError> {
    let of = MessageName("DiscoveryRequest");
    let len = message.len();
    let mut node = None;
    let mut count = Count::up_to(bounds.names);
    let mut request = SotwRequest::default();
    for field in Fields::of(message) {
        match field.map_err(|e| of.malformed(e))? {
            (1, Value::Bytes(text)) => request.version = of.text("version_info", &text)?,
            (2, Value::Bytes(message)) => node = Some(message),
            (3, Value::Bytes(name)) => request.names.push(count.one(name)?),
            (4, Value::Bytes(text)) => request.type_url = of.text("type_url", &text)?,
            (5, Value::Bytes(text)) => request.nonce = of.text("response_nonce", &text)?,
            (6, Value::Bytes(message)) => {
                read_status(message, request.error.get_or_insert_default())?
            }
            (7, Value::Bytes(locator)) => request.locators.push(read_locator(locator, &mut count)?),
            _ => {}
        }
    }
    Ok(Inbound {
        request: request.into(),
        node,
        len,
    })
}

/// `envoy.service.discovery.v3.DeltaDiscoveryRequest`
fn read_delta(message: Bytes, bounds: Bounds) -> Result<Inbound, RequestError> {
    let of = MessageName("DeltaDiscoveryRequest");
    let len = message.len();
    let mut node = None;
    let mut count = Count::up_to(bounds.names);
    let mut request = DeltaRequest::default();
    for field in Fields::of(message) {
        match field.map_err(|e| of.malformed(e))? {
            (1, Value::Bytes(message)) => node = Some(message),
            (2, Value::Bytes(text)) => request.type_url = of.text("type_url", &text)?,
            (3, Value::Bytes(name)) => request.subscribe.push(count.one(name)?),
            (4, Value::Bytes(name)) => request.unsubscribe.push(count.one(name)?),
            (5, Value::Bytes(entry)) => {
                let entry = count.one(entry)?;
                request.initial_versions.push(read_version(entry)?);
            }
            (6, Value::Bytes(text)) => request.nonce = of.text("response_nonce", &text)?,
            (7, Value::Bytes(message)) => {
                read_status(message, request.error.get_or_insert_default())?
            }
            (8, Value::Bytes(locator)) => {
                let locator = read_locator(locator, &mut count)?;
                request.locators_subscribe.push(locator);
            }
            (9, Value::Bytes(locator)) => {
                let locator = read_locator(locator, &mut count)?;
                request.locators_unsubscribe.push(locator);
            }
            _ => {}
        }
    }
    Ok(Inbound {
        request: request.into(),
        node,
        len,
    })
}

/// An entry of `initial_resource_versions`: name and version.
fn read_version(entry: Bytes) -> Result<(Bytes, Bytes), RequestError> {
    let of = MessageName("DeltaDiscoveryRequest.initial_resource_versions");
    read_entry(of, entry)
}

/// `envoy.service.discovery.v3.ResourceLocator`. It counts as a name, and so does each of its parameters.
fn read_locator(locator: Bytes, count: &mut Count) -> Result<Locator, RequestError> {
    let of = MessageName("ResourceLocator");
    let mut out = Locator::default();
    for field in Fields::of(count.one(locator)?) {
        match field.map_err(|e| of.malformed(e))? {
            (1, Value::Bytes(name)) => out.name = name,
            (2, Value::Bytes(entry)) => {
                let of = MessageName("ResourceLocator.dynamic_parameters");
                out.parameters.push(read_entry(of, count.one(entry)?)?);
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Key and value of a map's entry.
fn read_entry(of: MessageName, entry: Bytes) -> Result<(Bytes, Bytes), RequestError> {
    let (mut key, mut value) = (Bytes::new(), Bytes::new());
    for field in Fields::of(entry) {
        match field.map_err(|e| of.malformed(e))? {
            (1, Value::Bytes(text)) => key = text,
            (2, Value::Bytes(text)) => value = text,
            _ => {}
        }
    }
    Ok((key, value))
}

/// `google.rpc.Status`. Its text is taken as far as it is UTF-8: Envoy cuts it after a number of bytes, wherever that
/// falls, and a client that reports a bad resource must not lose its stream over it.
fn read_status(message: Bytes, error: &mut ErrorDetail) -> Result<(), RequestError> {
    let of = MessageName("google.rpc.Status");
    for field in Fields::of(message) {
        match field.map_err(|e| of.malformed(e))? {
            // Negative codes are sign-extended to 64 bits on the wire; the low half is the number.
            (1, Value::Varint(code)) => error.code = code as u32 as i32,
            (2, Value::Bytes(text)) => error.message = String::from_utf8_lossy(&text).into_owned(),
            _ => {}
        }
    }
    Ok(())
}

/// Counts the names of a request while they are read.
struct Count {
    left: usize,
    max: usize,
}

impl Count {
    const fn up_to(max: usize) -> Self {
        Self { left: max, max }
    }

    /// Counts one more, and gives it back.
    fn one(&mut self, name: Bytes) -> Result<Bytes, RequestError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(name)
            }
            None => Err(RequestError::TooManyNames { max: self.max }),
        }
    }
}

/// The name of a message, for errors.
#[derive(Clone, Copy)]
struct MessageName(&'static str);

impl MessageName {
    fn malformed(self, error: NotProtobuf) -> RequestError {
        RequestError::Malformed {
            message: self.0,
            reason: error.to_string(),
        }
    }

    fn text(self, field: &'static str, bytes: &[u8]) -> Result<String, RequestError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(RequestError::NotText {
                message: self.0,
                field,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use portolan_types::envoy::config::core::v3::Node;
    use portolan_types::envoy::service::discovery::v3 as discovery;
    use portolan_types::google::rpc;
    use proptest::prelude::*;
    use prost::Message;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        size: 1 << 20,
        names: 6,
    };

    fn read(variant: Variant, message: impl Into<Bytes>) -> Result<Inbound, RequestError> {
        super::read(variant, message.into(), BOUNDS)
    }

    fn node() -> Option<Node> {
        Some(Node {
            id: "n".into(),
            ..Node::default()
        })
    }

    fn rejection() -> Option<rpc::Status> {
        Some(rpc::Status {
            code: -3,
            message: "no".into(),
            details: Vec::new(),
        })
    }

    fn locator() -> discovery::ResourceLocator {
        discovery::ResourceLocator {
            name: "l".into(),
            dynamic_parameters: [("k".into(), "v".into())].into(),
        }
    }

    fn located() -> Locator {
        Locator::new("l", [("k".into(), "v".into())])
    }

    #[test]
    fn every_field_of_a_discovery_request_is_read() {
        let message = discovery::DiscoveryRequest {
            version_info: "v".into(),
            node: node(),
            resource_names: vec!["a".into(), "b".into()],
            resource_locators: vec![locator()],
            type_url: "t".into(),
            response_nonce: "7".into(),
            error_detail: rejection(),
        };
        let inbound = read(Variant::Sotw, message.encode_to_vec()).unwrap();
        assert_eq!(inbound.len, message.encoded_len());
        assert_eq!(inbound.node.unwrap(), node().unwrap().encode_to_vec());
        let Request::Sotw(request) = inbound.request else {
            panic!("not state of the world");
        };
        assert_eq!(request.version, "v");
        assert_eq!(request.names, ["a", "b"]);
        assert_eq!(request.locators, [located()]);
        assert_eq!((&*request.type_url, &*request.nonce), ("t", "7"));
        assert_eq!(request.error, Some(ErrorDetail::new(-3, "no")));
    }

    #[test]
    fn every_field_of_a_delta_request_is_read() {
        let message = discovery::DeltaDiscoveryRequest {
            node: node(),
            type_url: "t".into(),
            resource_names_subscribe: vec!["a".into()],
            resource_names_unsubscribe: vec!["b".into()],
            resource_locators_subscribe: vec![locator()],
            resource_locators_unsubscribe: vec![discovery::ResourceLocator::default()],
            initial_resource_versions: [("c".into(), "1".into())].into(),
            response_nonce: "7".into(),
            error_detail: rejection(),
        };
        let inbound = read(Variant::Delta, message.encode_to_vec()).unwrap();
        assert_eq!(inbound.node.unwrap(), node().unwrap().encode_to_vec());
        let Request::Delta(request) = inbound.request else {
            panic!("not incremental");
        };
        assert_eq!((&*request.type_url, &*request.nonce), ("t", "7"));
        assert_eq!(request.subscribe, ["a"]);
        assert_eq!(request.unsubscribe, ["b"]);
        assert_eq!(request.locators_subscribe, [located()]);
        assert_eq!(request.locators_unsubscribe, [Locator::default()]);
        assert_eq!(request.initial_versions, [("c".into(), "1".into())]);
        assert_eq!(request.error, Some(ErrorDetail::new(-3, "no")));
    }

    #[test]
    fn an_empty_error_detail_is_there_and_none_is_not() {
        let with = read(Variant::Sotw, &b"\x32\x00"[..]).unwrap();
        assert!(
            matches!(with.request, Request::Sotw(r) if r.error == Some(ErrorDetail::default()))
        );
        let without = read(Variant::Sotw, &b""[..]).unwrap();
        assert!(matches!(without.request, Request::Sotw(r) if r.error.is_none()));
        assert!(without.node.is_none());
    }

    #[test]
    fn c010_unknown_fields_are_passed_over() {
        let inbound = read(Variant::Sotw, &b"\xa2\x06\x01x\x22\x01t\x98\x06\x05"[..]).unwrap();
        assert!(matches!(inbound.request, Request::Sotw(r) if r.type_url == "t"));
    }

    #[test]
    fn errors_say_what_and_where() {
        let wrong = |variant, message: &'static [u8]| {
            let error = read(variant, message).expect_err("not a request");
            error.to_string()
        };
        assert_eq!(
            wrong(Variant::Sotw, b"\x22\x01\xff"),
            "DiscoveryRequest.type_url is not valid UTF-8"
        );
        assert_eq!(
            wrong(Variant::Delta, b"\x12\x09t"),
            "DeltaDiscoveryRequest is not valid protobuf: a field that is longer than the message at byte 2"
        );
        assert_eq!(
            wrong(Variant::Delta, b"\x2a\x01\x0a"),
            "DeltaDiscoveryRequest.initial_resource_versions is not valid protobuf: a number that is cut off at byte 1"
        );
    }

    #[test]
    fn the_text_of_a_rejection_may_end_inside_a_character() {
        let inbound = read(Variant::Sotw, &b"\x32\x04\x12\x02a\xc3"[..]).unwrap();
        let Request::Sotw(request) = inbound.request else {
            panic!("not state of the world");
        };
        assert_eq!(request.error.unwrap().message, "a\u{fffd}");
    }

    #[test]
    fn names_are_counted_while_they_are_read() {
        let too_many = RequestError::TooManyNames { max: BOUNDS.names };
        let names = b"\x1a\x00".repeat(7);
        assert_eq!(read(Variant::Sotw, names).unwrap_err(), too_many);
        let names = b"\x1a\x00\x22\x00\x2a\x00".repeat(3);
        assert_eq!(read(Variant::Delta, names).unwrap_err(), too_many);
        // A locator with two parameters.
        let locators = b"\x3a\x04\x12\x00\x12\x00".repeat(3);
        assert_eq!(read(Variant::Sotw, locators).unwrap_err(), too_many);
        for field in [b'\x42', b'\x4a'] {
            let locators = [field, 4, 0x12, 0, 0x12, 0].repeat(3);
            assert_eq!(read(Variant::Delta, locators).unwrap_err(), too_many);
        }
    }

    #[test]
    fn names_are_slices_of_the_message() {
        let message = Bytes::from_static(b"\x1a\x01a");
        let at = message[2..].as_ptr();
        let inbound = read(Variant::Sotw, message).unwrap();
        assert!(matches!(inbound.request, Request::Sotw(r) if r.names[0].as_ptr() == at));
    }

    fn some_request() -> impl Strategy<Value = discovery::DeltaDiscoveryRequest> {
        let text = "[a-zé]{0,3}";
        let names = || prop::collection::vec(text, 0..2);
        let versions = prop::collection::btree_map(text, text, 0..2);
        let parameters = prop::collection::btree_map(text, text, 0..3);
        let locator =
            (text, parameters).prop_map(|(name, dynamic_parameters)| discovery::ResourceLocator {
                name,
                dynamic_parameters,
            });
        let locators = prop::collection::vec(locator, 0..3);
        let error = prop::option::of((any::<i32>(), text));
        (text, names(), names(), locators, versions, text, error).prop_map(
            |(type_url, subscribe, unsubscribe, locators, versions, nonce, error)| {
                discovery::DeltaDiscoveryRequest {
                    type_url,
                    resource_names_subscribe: subscribe,
                    resource_names_unsubscribe: unsubscribe,
                    resource_locators_subscribe: locators.clone(),
                    resource_locators_unsubscribe: locators,
                    initial_resource_versions: versions,
                    response_nonce: nonce,
                    error_detail: error.map(|(code, message)| rpc::Status {
                        code,
                        message,
                        details: Vec::new(),
                    }),
                    ..discovery::DeltaDiscoveryRequest::default()
                }
            },
        )
    }

    fn read_locators(locators: &[Locator]) -> Vec<discovery::ResourceLocator> {
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        let read = |locator: &Locator| {
            let parameters = locator.parameters.iter();
            discovery::ResourceLocator {
                name: text(&locator.name),
                dynamic_parameters: parameters.map(|(k, v)| (text(k), text(v))).collect(),
            }
        };
        locators.iter().map(read).collect()
    }

    fn texts(names: &[Bytes]) -> Vec<&str> {
        let texts = names.iter().map(|name| std::str::from_utf8(name).unwrap());
        texts.collect()
    }

    proptest! {
        /// Damaged or not: what both this reader and the generated one accept, they read alike.
        #[test]
        fn requests_are_read_as_the_schema_says(
            request in some_request(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut message = request.encode_to_vec();
            for (at, byte) in &damage {
                if !message.is_empty() {
                    let at = at.index(message.len());
                    message[at] = *byte;
                }
            }
            let theirs = discovery::DeltaDiscoveryRequest::decode(&message[..]);
            let bounds = Bounds { size: 1 << 20, names: 100 };
            let ours = super::read(Variant::Delta, message.into(), bounds);
            prop_assert!(!damage.is_empty() || ours.is_ok());
            if let (Ok(theirs), Ok(Inbound { request: Request::Delta(ours), .. })) = (theirs, ours) {
                prop_assert_eq!(&ours.type_url, &theirs.type_url);
                prop_assert_eq!(&ours.nonce, &theirs.response_nonce);
                prop_assert_eq!(texts(&ours.subscribe), theirs.resource_names_subscribe);
                prop_assert_eq!(texts(&ours.unsubscribe), theirs.resource_names_unsubscribe);
                prop_assert_eq!(read_locators(&ours.locators_subscribe), theirs.resource_locators_subscribe);
                prop_assert_eq!(read_locators(&ours.locators_unsubscribe), theirs.resource_locators_unsubscribe);
                let versions = ours.initial_versions.iter().map(|(name, version)| {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    (text(name), text(version))
                });
                prop_assert_eq!(
                    versions.collect::<std::collections::BTreeMap<_, _>>(),
                    theirs.initial_resource_versions
                );
                let error = theirs.error_detail.map(|e| ErrorDetail::new(e.code, e.message));
                prop_assert_eq!(ours.error, error);
            }
        }
    }
}
