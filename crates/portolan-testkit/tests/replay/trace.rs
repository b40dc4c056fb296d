//! Reads a recorded trace.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Mark,
    Open {
        stream: u64,
        scope: String,
        delta: bool,
    },
    Close(u64),
    Request(Request),
    Response(Response),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) stream: u64,
    pub(crate) short_name: String,
    /// Names of a state-of-the-world request; `None` in delta.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) version: String,
    pub(crate) subscribe: Vec<String>,
    pub(crate) unsubscribe: Vec<String>,
    pub(crate) initial_versions: BTreeMap<String, String>,
    pub(crate) nonce: String,
    pub(crate) error: Option<i32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    pub(crate) stream: u64,
    pub(crate) short_name: String,
    pub(crate) nonce: String,
    /// Version of the type; `None` in delta.
    pub(crate) version: Option<String>,
    /// Names and versions. In state of the world a resource has the version of its response.
    pub(crate) resources: Vec<(String, String)>,
    pub(crate) removed: Vec<String>,
    pub(crate) injected: bool,
}

/// The entries of a file.
pub(crate) fn read(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).expect("a trace can be read");
    let values = text.lines().map(serde_json::from_str::<Value>);
    values
        .map(|value| entry(&value.expect("a trace is JSON")))
        .collect()
}

fn entry(value: &Value) -> Entry {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    if let Some(stream) = number("req") {
        Entry::Request(request(stream, value))
    } else if let Some(stream) = number("resp") {
        Entry::Response(response(stream, value))
    } else if let Some(stream) = number("open") {
        let (scope, delta) = (text(value, "scope"), text(value, "proto") == "delta");
        Entry::Open {
            stream,
            scope,
            delta,
        }
    } else if let Some(stream) = number("close") {
        Entry::Close(stream)
    } else {
        Entry::Mark
    }
}

fn request(stream: u64, value: &Value) -> Request {
    let irv = value
        .get("irv")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let versions = irv.map(|(name, version)| (name.clone(), plain(version)));
    Request {
        stream,
        short_name: text(value, "type"),
        names: value.get("names").map(|_| list(value, "names")),
        version: text(value, "version"),
        subscribe: list(value, "sub"),
        unsubscribe: list(value, "unsub"),
        initial_versions: versions.collect(),
        nonce: text(value, "nonce"),
        error: value
            .get("error")
            .and_then(Value::as_i64)
            .map(|code| code as i32),
    }
}

fn response(stream: u64, value: &Value) -> Response {
    let version = value.get("version").map(plain);
    let aliases = value.get("aliases").and_then(Value::as_object);
    let resource = |entry: String| match &version {
        Some(version) => (entry, version.clone()),
        None => {
            let (name, version) = entry
                .rsplit_once('@')
                .expect("delta resources have versions");
            // The session does not look names up by alias. The alias stands for the resource.
            let alias = aliases.and_then(|a| a.get(name)).and_then(|a| a.get(0));
            (
                alias.map_or_else(|| name.to_owned(), plain),
                version.to_owned(),
            )
        }
    };
    Response {
        stream,
        short_name: text(value, "type"),
        nonce: text(value, "nonce"),
        resources: list(value, "resources").into_iter().map(resource).collect(),
        removed: list(value, "removed"),
        injected: value.get("injected").is_some(),
        version,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).map(plain).unwrap_or_default()
}

fn list(value: &Value, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten().map(plain).collect()
}
