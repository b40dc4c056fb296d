use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use portolan_core::{Name, Resource, ResourceTypes, TypeUrl};
use portolan_engine::{DeltaRequest, Request, Response, SotwRequest, Variant};

/// What was said on a stream, one line per message, in the order in which the session handled requests and made
/// responses.
///
/// ```text
/// > CDS [] v= n=            a state-of-the-world request: names, version, nonce
/// < CDS v1 n1 [a b]         its response: version, nonce, names
/// > ACK CDS n1              an acknowledgement that changes no names; NACK likewise
/// > ACK EDS n2 [a b]        one that does
/// > EDS +[a] -[b]           a delta request: names subscribed and given up
/// > CDS irv[a b@2]          one that tells what an earlier stream left
/// < EDS n3 [a@2] -[b] ?[c]  its response: resources, removed names, names without a body
/// -- 5s                     the time, where it is another than that of the line before
/// ```
///
/// Content hashes would make lines that nobody can read or foresee. A version that is one is shown as `v1`, `v2`, in
/// order of its first appearance in its type; others are shown as they are. `a@2` is the second content of `a` that
/// appeared; the first is plain `a`.
#[derive(Debug, Default)]
pub struct Transcript {
    types: ResourceTypes,
    lines: Vec<String>,
    taken: usize,
    now: Duration,
    versions: BTreeMap<TypeUrl, Vec<String>>,
    contents: BTreeMap<(TypeUrl, Name), Vec<String>>,
    stream: Stream,
}

/// What is known of the current stream.
#[derive(Debug, Default)]
struct Stream {
    /// Responses that were not answered yet.
    open: BTreeSet<(TypeUrl, String)>,
    names: BTreeMap<TypeUrl, BTreeSet<Bytes>>,
}

impl Transcript {
    pub(crate) fn new(types: ResourceTypes) -> Self {
        Self {
            types,
            ..Self::default()
        }
    }

    /// All lines so far.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The lines since the last call of this.
    pub fn take(&mut self) -> &[String] {
        let from = std::mem::replace(&mut self.taken, self.lines.len());
        &self.lines[from..]
    }

    /// Adds a line of the test's own.
    pub fn note(&mut self, text: impl fmt::Display) {
        self.lines.push(format!("-- {text}"));
    }

    pub(crate) fn new_stream(&mut self) {
        self.stream = Stream::default();
    }

    pub(crate) fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    pub(crate) fn request(&mut self, request: &Request) {
        let line = match request {
            Request::Sotw(request) => self.sotw_request(request),
            Request::Delta(request) => self.delta_request(request),
            _ => return,
        };
        self.push(format!("> {line}"));
    }

    pub(crate) fn response(&mut self, response: &Response) {
        let url = &response.type_url;
        let nonce = response.nonce.to_string();
        let label = self.label(url);
        let timed = response.timed;
        let names = response.resources.iter().map(|r| self.content(r, timed));
        let mut line = match response.variant {
            Variant::Sotw => {
                let names = list(names);
                let version = self.version(url, response.version.as_str());
                format!("{label} {version} n{nonce} {names}")
            }
            _ => format!("{label} n{nonce} {}", list(names)),
        };
        for (mark, names) in [('-', &response.removed), ('?', &response.bodyless)] {
            if !names.is_empty() {
                let names = list(names.iter().map(ToString::to_string));
                line.push_str(&format!(" {mark}{names}"));
            }
        }
        if !response.errors.is_empty() {
            let errors = response.errors.iter();
            let errors = errors.filter_map(|e| Some(format!("{}: {}", e.name(), e.failure()?)));
            line.push_str(&format!(" !{}", list(errors)));
        }
        if !response.heartbeats.is_empty() {
            let names = response.heartbeats.iter();
            let names = names.map(|h| format!("{}~{:?}", h.name, h.ttl));
            line.push_str(&format!(" ~{}", list(names)));
        }
        self.stream.open.insert((url.clone(), nonce));
        self.push(format!("< {line}"));
    }

    fn sotw_request(&mut self, request: &SotwRequest) -> String {
        let url = TypeUrl::from(request.type_url.as_str());
        let label = self.label(&url);
        let names: BTreeSet<_> = request.names.iter().cloned().collect();
        let before = self.stream.names.insert(url.clone(), names.clone());
        let news = (before != Some(names)).then(|| text_list(&request.names));
        match self.verdict(&url, &request.nonce, request.error.is_some()) {
            Some(verdict) => {
                let news = news.map(|names| format!(" {names}")).unwrap_or_default();
                format!("{verdict} {label} n{}{news}", request.nonce)
            }
            None => {
                let version = match request.version.as_str() {
                    "" => String::new(),
                    version => self.version(&url, version),
                };
                let nonce = match request.nonce.as_str() {
                    "" => String::new(),
                    nonce => format!("n{nonce}"),
                };
                let names = text_list(&request.names);
                format!("{label} {names} v={version} n={nonce}")
            }
        }
    }

    fn delta_request(&mut self, request: &DeltaRequest) -> String {
        let url = TypeUrl::from(request.type_url.as_str());
        let mut line = self.label(&url);
        match self.verdict(&url, &request.nonce, request.error.is_some()) {
            Some(verdict) => line = format!("{verdict} {line} n{}", request.nonce),
            None if !request.nonce.is_empty() => line.push_str(&format!(" n={}", request.nonce)),
            None => {}
        }
        for (mark, names) in [('+', &request.subscribe), ('-', &request.unsubscribe)] {
            if !names.is_empty() {
                line.push_str(&format!(" {mark}{}", text_list(names)));
            }
        }
        if !request.initial_versions.is_empty() {
            let versions = request.initial_versions.iter();
            let claims = versions.map(|(name, version)| {
                let (name, version) = (lossy(name), lossy(version));
                self.numbered(&url, &Name::from(&name), &version)
            });
            line.push_str(&format!(
                " irv{}",
                list(claims.collect::<Vec<_>>().into_iter())
            ));
        }
        line
    }

    /// Whether a request answers a response: a rejection always does, an acknowledgement once.
    fn verdict(&mut self, url: &TypeUrl, nonce: &str, error: bool) -> Option<&'static str> {
        let was_open = self.stream.open.remove(&(url.clone(), nonce.to_owned()));
        match (error, was_open) {
            (true, _) => Some("NACK"),
            (false, true) => Some("ACK"),
            (false, false) => None,
        }
    }

    fn label(&self, url: &TypeUrl) -> String {
        match url.as_str() {
            "" => "?".to_owned(),
            known => self.types.get(known).short_name().to_owned(),
        }
    }

    fn version(&mut self, url: &TypeUrl, version: &str) -> String {
        // An answer that holds everything is marked; the content is the same.
        let version = version.strip_suffix('*').unwrap_or(version);
        if !is_hash(version) {
            return version.to_owned();
        }
        let seen = self.versions.entry(url.clone()).or_default();
        format!("v{}", number(seen, version))
    }

    fn content(&mut self, resource: &Resource, timed: bool) -> String {
        let (url, name) = (resource.type_url(), resource.name());
        let content = self.numbered(url, name, resource.version().as_str());
        match resource.ttl().filter(|_| timed) {
            Some(ttl) => format!("{content}~{ttl:?}"),
            None => content,
        }
    }

    fn numbered(&mut self, url: &TypeUrl, name: &Name, version: &str) -> String {
        if !is_hash(version) {
            return format!("{name}@{version}");
        }
        let key = (url.clone(), name.clone());
        match number(self.contents.entry(key).or_default(), version) {
            1 => name.to_string(),
            n => format!("{name}@{n}"),
        }
    }

    fn push(&mut self, line: String) {
        let time = std::mem::take(&mut self.now);
        if time > Duration::ZERO {
            self.lines.push(format!("-- {time:?}"));
        }
        self.lines.push(line);
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The number under which something is known, counted from 1.
fn number(seen: &mut Vec<String>, what: &str) -> usize {
    let at = seen.iter().position(|s| s == what);
    1 + at.unwrap_or_else(|| {
        seen.push(what.to_owned());
        seen.len() - 1
    })
}

/// Whether a version was made from content: 32 hexadecimal digits, and for a set a count behind them.
fn is_hash(version: &str) -> bool {
    let (hash, count) = version.split_once('-').unwrap_or((version, "0"));
    let digits = |text: &str, radix| text.chars().all(|c| c.is_digit(radix));
    hash.len() == 32 && digits(hash, 16) && digits(count, 10)
}

fn lossy(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text_list(names: &[Bytes]) -> String {
    list(names.iter().map(lossy))
}

fn list(names: impl Iterator<Item = String>) -> String {
    format!("[{}]", names.collect::<Vec<_>>().join(" "))
}
