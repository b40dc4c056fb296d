use std::collections::BTreeMap;
use std::path::Path;

use portolan_engine::Variant;
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use portolan_types::google::rpc::Status;
use prost::Message;
use serde_json::Value;

use crate::session::{EMPTY, STAR, TYPES, op};

/// One stream of a recorded client.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) variant: Variant,
    pub(super) said: Vec<Said>,
    numbers: BTreeMap<String, u8>,
}

#[derive(Clone, Debug)]
pub(super) enum Said {
    Request(Request),
    /// What a server sent, and so must have had.
    Published {
        short_name: String,
        names: Vec<String>,
        revision: u8,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    variant: Option<Variant>,
    short_name: String,
    names: Vec<String>,
    unsubscribed: Vec<String>,
    claimed: BTreeMap<String, String>,
    version: String,
    nonce: String,
    error: Option<i32>,
}

impl Trace {
    /// The traces that the simulation replays.
    pub(super) fn read_all() -> Vec<Self> {
        let directory =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/portolan-testkit/traces");
        let files = std::fs::read_dir(directory).expect("there are traces");
        let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        paths.sort();
        let traces = paths
            .iter()
            .filter(|p| p.extension().is_some_and(|e| e == "jsonl"));
        traces.flat_map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Vec<Self> {
        let text = std::fs::read_to_string(path).expect("a trace can be read");
        let mut streams = BTreeMap::<u64, Self>::new();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).expect("a trace is JSON");
            let number = |key: &str| value.get(key).and_then(Value::as_u64);
            if let Some(stream) = number("open") {
                let variant = match plain(&value, "proto").as_str() {
                    "delta" => Variant::Delta,
                    _ => Variant::Sotw,
                };
                let trace = Self {
                    variant,
                    said: Vec::new(),
                    numbers: BTreeMap::new(),
                };
                streams.insert(stream, trace);
            } else if let Some(stream) = number("req").or_else(|| number("resp")) {
                let stream = streams.get_mut(&stream).expect("streams are opened");
                let said = Said::read(stream.variant, &value);
                stream.said.push(said);
            }
        }
        streams.into_values().map(Self::numbered).collect()
    }

    /// The number that stands for a name.
    fn number(&self, name: &str) -> u8 {
        match name {
            "" => EMPTY,
            "*" => STAR,
            name => self.numbers.get(name).copied().unwrap_or_default(),
        }
    }

    /// Gives numbers to names in the order of their appearance.
    fn numbered(mut self) -> Self {
        let mut numbers = BTreeMap::new();
        for name in self.said.iter().flat_map(Said::names) {
            let next = numbers.len() % 40;
            numbers.entry(name.to_owned()).or_insert(next as u8);
        }
        self.numbers = numbers;
        self
    }
}

impl Said {
    fn read(variant: Variant, value: &Value) -> Self {
        let short_name = plain(value, "type");
        if value.get("resp").is_some() {
            let entries = list(value, "resources").into_iter();
            let names = entries.map(|entry| match entry.rsplit_once('@') {
                Some((name, _)) => name.to_owned(),
                None => entry,
            });
            let revision = plain(value, "nonce").parse().unwrap_or(0);
            return Self::Published {
                short_name,
                names: names.collect(),
                revision,
            };
        }
        let error = value.get("error").and_then(Value::as_i64);
        let claimed = value.get("irv").and_then(Value::as_object);
        let claimed = claimed.into_iter().flatten();
        Self::Request(Request {
            variant: Some(variant),
            short_name,
            names: match variant {
                Variant::Sotw => list(value, "names"),
                _ => list(value, "sub"),
            },
            unsubscribed: list(value, "unsub"),
            claimed: claimed
                .map(|(name, version)| (name.clone(), string(version)))
                .collect(),
            version: plain(value, "version"),
            nonce: plain(value, "nonce"),
            error: error.map(|code| code as i32),
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let names: Box<dyn Iterator<Item = &String>> = match self {
            Self::Request(request) => {
                let named = request.names.iter().chain(&request.unsubscribed);
                Box::new(named.chain(request.claimed.keys()))
            }
            Self::Published { names, .. } => Box::new(names.iter()),
        };
        names.map(String::as_str)
    }

    /// The request as it goes on the wire.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        match self {
            Self::Request(request) => Some(request.message()),
            Self::Published { .. } => None,
        }
    }

    /// Writes what [`session`](crate::session()) reads.
    pub(super) fn session_op(&self, trace: &Trace, out: &mut Vec<u8>) {
        match self {
            Self::Request(request) => request.session_op(trace, out),
            Self::Published {
                short_name,
                names,
                revision,
            } => {
                for name in names {
                    let number = trace.number(name);
                    out.extend([
                        op::PUBLISH,
                        type_number(short_name),
                        number,
                        1,
                        *revision,
                        0,
                    ]);
                }
            }
        }
    }
}

impl Request {
    fn message(&self) -> Vec<u8> {
        let error_detail = self.error.map(|code| Status {
            code,
            message: "Error adding/updating listener(s) l1: no such address\n".to_owned(),
            details: Vec::new(),
        });
        let type_url = TYPES[usize::from(type_number(&self.short_name))]
            .1
            .to_string();
        match self.variant {
            Some(Variant::Delta) => DeltaDiscoveryRequest {
                type_url,
                resource_names_subscribe: self.names.clone(),
                resource_names_unsubscribe: self.unsubscribed.clone(),
                initial_resource_versions: self.claimed.clone(),
                response_nonce: self.nonce.clone(),
                error_detail,
                ..DeltaDiscoveryRequest::default()
            }
            .encode_to_vec(),
            _ => DiscoveryRequest {
                type_url,
                version_info: self.version.clone(),
                resource_names: self.names.clone(),
                response_nonce: self.nonce.clone(),
                error_detail,
                ..DiscoveryRequest::default()
            }
            .encode_to_vec(),
        }
    }

    fn session_op(&self, trace: &Trace, out: &mut Vec<u8>) {
        let nonce = u8::from(!self.nonce.is_empty());
        let error = self.error.map_or(0, |code| code as u8 + 1);
        out.extend([op::REQUEST, type_number(&self.short_name), nonce, error]);
        let mut list = |names: &mut dyn Iterator<Item = &String>| {
            let numbers: Vec<_> = names.map(|name| trace.number(name)).take(63).collect();
            out.push(numbers.len() as u8);
            out.extend(numbers);
        };
        list(&mut self.names.iter());
        match self.variant {
            Some(Variant::Delta) => {
                list(&mut self.unsubscribed.iter());
                list(&mut self.claimed.keys());
            }
            _ => out.push(u8::from(self.version.is_empty())),
        }
    }
}

fn type_number(short_name: &str) -> u8 {
    let at = TYPES.iter().position(|(short, _)| *short == short_name);
    at.map_or(TYPES.len() as u8 - 1, |at| at as u8)
}

fn string(value: &Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_default()
}

fn plain(value: &Value, key: &str) -> String {
    value.get(key).map(string).unwrap_or_default()
}

fn list(value: &Value, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten().map(string).collect()
}
