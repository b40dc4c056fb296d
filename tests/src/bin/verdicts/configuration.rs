//! A configuration that is written as text.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use portolan::core::well_known::{ENDPOINT, VIRTUAL_HOST};
use portolan::core::{Resource, ResourceTypes, Snapshot, TypeUrl};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

/// Words that stand for others, which may stand for others in turn.
const SHORT: &[(&str, &str)] = &[
    (
        "@HTTP",
        "name: \"http\" typed_config { [@ext.filters.network.http_connection_manager.v3.HttpConnectionManager] ",
    ),
    (
        "@RDS",
        "rds { config_source @ADS route_config_name: \"routes\" }",
    ),
    (
        "@ROUTER",
        "http_filters { name: \"router\" typed_config { [@ext.filters.http.router.v3.Router] {} } }",
    ),
    (
        "@SERVER_TLS",
        "name: \"tls\" typed_config { [@ext.transport_sockets.tls.v3.DownstreamTlsContext] ",
    ),
    (
        "@CLIENT_TLS",
        "name: \"tls\" typed_config { [@ext.transport_sockets.tls.v3.UpstreamTlsContext] ",
    ),
    ("@ADS", "{ ads {} resource_api_version: V3 }"),
    ("@ext", "type.googleapis.com/envoy.extensions"),
];

/// Resources by type and name, each as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration(BTreeMap<(String, String), String>);

impl Configuration {
    /// The lines of a case: a resource each, or one that is taken out.
    pub(crate) fn changed_by(mut self, text: &str) -> Self {
        let mut last = None;
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(taken) = line.strip_prefix("- ") {
                let key = taken
                    .split_once(' ')
                    .and_then(|(kind, name)| self.0.remove(&(kind.to_owned(), name.to_owned())));
                assert!(key.is_some(), "there is no {taken}");
            } else if line.starts_with(' ') {
                let key = last
                    .as_ref()
                    .unwrap_or_else(|| panic!("goes on with nothing: {line}"));
                if let Some(text) = self.0.get_mut(key) {
                    *text += line;
                }
            } else {
                let parts = line.split_once(' ').and_then(|(kind, rest)| {
                    let (name, text) = rest.split_once(':')?;
                    Some(((kind.to_owned(), name.to_owned()), text.to_owned()))
                });
                let (key, text) = parts.unwrap_or_else(|| panic!("this is no resource: {line}"));
                self.0.insert(key.clone(), text);
                last = Some(key);
            }
        }
        self
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::builder();
        for ((kind, name), text) in &self.0 {
            let resource = resource(kind, name, text);
            snapshot
                .insert_shared(resource)
                .expect("each is there once");
        }
        snapshot.build()
    }
}

fn resource(kind: &str, name: &str, text: &str) -> Resource {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        let pool = DescriptorPool::decode(portolan_types::FILE_DESCRIPTOR_SET);
        pool.expect("the committed schema decodes")
    });
    let type_url = type_of(kind);
    let (field, inner) = match () {
        () if type_url == ENDPOINT => ("cluster_name", name),
        () if type_url == VIRTUAL_HOST => ("name", name.rsplit('/').next().unwrap_or(name)),
        () => ("name", name),
    };
    let message = POOL.get_message_by_name(type_url.message_name());
    let message = message.expect("it is in the schema");
    let text = format!("{field}: {inner:?} {}", in_full(text));
    let message = DynamicMessage::parse_text_format(message, &text);
    let message = message.unwrap_or_else(|error| panic!("{kind} {name}: {error}: {text}"));
    let body = Bytes::from(message.encode_to_vec());
    let resource = Resource::builder(type_url, name, body).build();
    resource.expect("it has a name")
}

fn type_of(kind: &str) -> TypeUrl {
    let types = ResourceTypes::well_known();
    let mut urls = types.iter().map(|known| known.url().clone());
    let found = urls.find(|url| url.message_name().rsplit('.').next() == Some(kind));
    found.unwrap_or_else(|| panic!("there is no type {kind}"))
}

/// The text without words that stand for others; `@at(80)` is an address.
fn in_full(text: &str) -> String {
    static CERTIFICATE: LazyLock<(String, String)> = LazyLock::new(|| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let made = made.expect("a key can be made");
        (made.cert.pem(), made.signing_key.serialize_pem())
    });
    let (chain, key) = &*CERTIFICATE;
    let certificate = format!("{{ inline_string: {chain:?} }}");
    let key = format!("{{ inline_string: {key:?} }}");
    let mut text = text.replace("@CHAIN", &certificate).replace("@KEY", &key);
    for (short, long) in SHORT {
        text = text.replace(short, long);
    }
    let mut parts = text.split("@at(");
    let mut full = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (port, rest) = part
            .split_once(')')
            .unwrap_or_else(|| panic!("an address ends nowhere: {part}"));
        full +=
            &format!("{{ socket_address {{ address: \"127.0.0.1\" port_value: {port} }} }}{rest}");
    }
    full
}
