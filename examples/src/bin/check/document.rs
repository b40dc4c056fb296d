//! What a file may hold: resources in protobuf's JSON form, each with its `@type`, as JSON or YAML.

use std::fmt;
use std::sync::LazyLock;

use portolan::types::Any;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

/// One document: a resource, a list of resources, or an object whose `resources` are such a list, as in the discovery
/// responses that Envoy reads from files.
#[derive(Debug, Default)]
pub(crate) struct Document(pub(crate) Vec<Entry>);

/// A resource, and where it begins, if that is not where its document does.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) body: Any,
    pub(crate) at: Option<Location>,
}

/// A message of any type in the schema, written as its `@type` and its fields.
struct Message(Any);

impl From<Spanned<Message>> for Entry {
    fn from(message: Spanned<Message>) -> Self {
        Self {
            body: message.value.0,
            at: Some(message.referenced),
        }
    }
}

/// The other fields of a discovery response.
const RESPONSE: [&str; 4] = ["control_plane", "nonce", "type_url", "version_info"];

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static ANY: LazyLock<MessageDescriptor> = LazyLock::new(|| {
            let pool = DescriptorPool::decode(portolan_types::FILE_DESCRIPTOR_SET);
            let pool = pool.expect("the committed schema decodes");
            let any = pool.get_message_by_name("google.protobuf.Any");
            any.expect("the schema has it")
        });
        let message = DynamicMessage::deserialize(ANY.clone(), deserializer)?;
        message.transcode_to().map(Self).map_err(Error::custom)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a resource, a list of resources, or an object with `resources`")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Document, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element::<Spanned<Message>>()? {
            entries.push(Entry::from(entry));
        }
        Ok(Document(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "resources" {
                let list = map.next_value::<Vec<Spanned<Message>>>()?;
                document = Some(Document(list.into_iter().map(Entry::from).collect()));
            } else if RESPONSE.contains(&&*key) {
                map.next_value::<IgnoredAny>()?;
            } else if document.is_none() {
                let whole = Prepended {
                    key: Some(key),
                    map,
                };
                let Message(body) = Message::deserialize(MapAccessDeserializer::new(whole))?;
                return Ok(Document(vec![Entry { body, at: None }]));
            } else {
                let reason = format!("unrecognized field name '{key}' beside `resources`");
                return Err(Error::custom(reason));
            }
        }
        document.ok_or_else(|| Error::custom("neither `@type` nor `resources` is here"))
    }
}

/// A map whose first key was read to see what it is.
struct Prepended<A> {
    key: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Prepended<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.key.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
