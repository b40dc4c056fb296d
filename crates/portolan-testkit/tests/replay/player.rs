//! Plays the client's side of a trace against a session, from a source that holds what the recorded server sent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_core::{ResourceType, ResourceTypes, SotwMode, TypeUrl};
use portolan_engine::{DeltaRequest, ErrorDetail, Scope, SotwRequest, Transitions};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf};

use crate::trace::{Entry, Request, Response};

/// What somebody was last told of each name: a version, or that it is gone.
type Told = BTreeMap<(TypeUrl, String), Option<String>>;

pub(crate) struct Player {
    entries: Vec<Entry>,
    types: BTreeMap<String, ResourceType>,
    /// EDS names that the client asks for at any time: clusters of these names are taken to be discovered.
    eds_names: BTreeSet<String>,
    shelf: Shelf,
    streams: BTreeMap<u64, Stream>,
    /// What the recorded server and what the session told the client, over all streams.
    recorded: Told,
    told: Told,
    versions: BTreeMap<(String, String), String>,
    pub(crate) findings: Vec<String>,
    /// How many names were compared at the ends of streams, and how many rejections were looked at.
    pub(crate) compared: usize,
    pub(crate) rejections: usize,
    /// How often endpoints were sent again behind a cluster.
    pub(crate) reanswers: usize,
}

struct Stream {
    pair: Pair<PlainClient>,
    nonces: BTreeMap<(String, String), String>,
    wants: BTreeMap<TypeUrl, BTreeSet<String>>,
    wildcards: BTreeSet<TypeUrl>,
    clusters: BTreeMap<String, String>,
    /// Responses that were looked at.
    seen: usize,
}

impl Player {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let types = ResourceTypes::well_known();
        let by_name = types.iter().map(|t| (t.short_name().to_owned(), t.clone()));
        let mut eds_names = BTreeSet::new();
        for entry in &entries {
            if let Entry::Request(request) = entry
                && request.short_name == "EDS"
            {
                let names = request.names.clone().unwrap_or_default();
                eds_names.extend(names.into_iter().chain(request.subscribe.clone()));
            }
        }
        let shelf = Shelf::new();
        shelf.publish(portolan_core::Snapshot::empty());
        Self {
            types: by_name.collect(),
            entries,
            eds_names,
            shelf,
            streams: BTreeMap::new(),
            recorded: Told::new(),
            told: Told::new(),
            versions: BTreeMap::new(),
            findings: Vec::new(),
            compared: 0,
            rejections: 0,
            reanswers: 0,
        }
    }

    pub(crate) fn play(&mut self) {
        for at in 0..self.entries.len() {
            match self.entries[at].clone() {
                Entry::Mark => {
                    for stream in self.streams.values_mut() {
                        stream.pair.advance(Duration::from_secs(5));
                    }
                    self.listen();
                }
                Entry::Open {
                    stream,
                    scope,
                    delta,
                } => self.open(stream, &scope, delta),
                Entry::Close(stream) => self.close(stream),
                Entry::Request(request) => self.request(at, &request),
                Entry::Response(response) => self.response(&response),
            }
        }
    }

    fn open(&mut self, number: u64, scope: &str, delta: bool) {
        let scope = match self.types.get(scope) {
            Some(only) => Scope::Single(only.clone()),
            None => Scope::Aggregated,
        };
        let client = match delta {
            true => PlainClient::delta(),
            false => PlainClient::sotw(),
        };
        // As the servers did that were recorded: all at once.
        let config = Setup::default_config().with_transitions(Transitions::Ordered);
        let setup = Setup::default().with_config(config).with_scope(scope);
        let stream = Stream {
            pair: Pair::open(client.without_acks(), &self.shelf, setup),
            nonces: BTreeMap::new(),
            wants: BTreeMap::new(),
            wildcards: BTreeSet::new(),
            clusters: BTreeMap::new(),
            seen: 0,
        };
        self.streams.insert(number, stream);
    }

    fn close(&mut self, number: u64) {
        let Some(stream) = self.streams.remove(&number) else {
            return;
        };
        if let Some(error) = stream.pair.error() {
            self.findings
                .push(format!("stream {number} ended: {error}"));
        }
        for (key @ (url, name), recorded) in &self.recorded {
            let wanted = stream.wildcards.contains(url)
                || stream
                    .wants
                    .get(url)
                    .is_some_and(|names| names.contains(name));
            let told = self.told.get(key).cloned().flatten();
            self.compared += usize::from(wanted);
            if wanted && told != *recorded && !is_silent_about(url, recorded) {
                self.findings.push(format!(
                    "stream {number}, {url} {name}: ends at {told:?}, was recorded at {recorded:?}"
                ));
            }
        }
    }

    fn url(&self, short_name: &str) -> TypeUrl {
        self.types[short_name].url().clone()
    }

    fn request(&mut self, at: usize, request: &Request) {
        if let Some(answer) = self.answer_to(at) {
            self.publish(&answer);
        }
        let url = self.url(&request.short_name);
        let version = (request.short_name.clone(), request.version.clone());
        let version = self
            .versions
            .get(&version)
            .unwrap_or(&request.version)
            .clone();
        let Some(stream) = self.streams.get_mut(&request.stream) else {
            return;
        };
        stream.pair.drive();
        let before = stream.pair.client.received().len();
        let names_changed = stream.note_wants(&url, request);
        stream.send(&url, request, version);
        stream.pair.drive();
        if request.error.is_some() && !names_changed {
            self.check_rejection(request.stream, &url, before);
        }
        self.listen();
    }

    /// The response that the recorded server gave to the request at `at`: what it holds existed before.
    fn answer_to(&self, at: usize) -> Option<Response> {
        let Entry::Request(request) = &self.entries[at] else {
            return None;
        };
        for entry in &self.entries[at + 1..] {
            match entry {
                Entry::Mark => return None,
                Entry::Close(stream) if *stream == request.stream => return None,
                Entry::Request(other)
                    if other.stream == request.stream && other.short_name == request.short_name =>
                {
                    return None;
                }
                Entry::Response(response)
                    if response.stream == request.stream
                        && response.short_name == request.short_name =>
                {
                    return Some(response.clone());
                }
                _ => {}
            }
        }
        None
    }

    /// What the client rejected does not go out again unchanged.
    fn check_rejection(&mut self, number: u64, url: &TypeUrl, before: usize) {
        let received = self.streams[&number].pair.client.received();
        let of_type = |from: usize, to: usize| {
            let mut responses = received[from..to].iter().filter(|r| r.type_url == *url);
            responses.next_back().map(|r| {
                let resources = r.resources.iter();
                resources
                    .map(|r| (r.name().clone(), r.identity()))
                    .collect::<Vec<_>>()
            })
        };
        let (rejected, next) = (of_type(0, before), of_type(before, received.len()));
        self.rejections += usize::from(rejected.is_some());
        if next.is_some() && next == rejected {
            self.findings.push(format!(
                "stream {number}, {url}: sent again after a rejection"
            ));
        }
    }

    fn response(&mut self, response: &Response) {
        if !response.injected {
            self.publish(response);
            let url = self.url(&response.short_name);
            for (name, version) in &response.resources {
                let key = (url.clone(), name.clone());
                self.recorded.insert(key, Some(version.clone()));
            }
            for name in &response.removed {
                self.recorded.insert((url.clone(), name.clone()), None);
            }
        }
        self.listen();
        self.map_nonce(response);
    }

    fn map_nonce(&mut self, response: &Response) {
        let url = self.url(&response.short_name);
        let Some(stream) = self.streams.get_mut(&response.stream) else {
            return;
        };
        let received = stream.pair.client.received();
        let newest = received.iter().rfind(|r| r.type_url == url);
        if let Some(newest) = newest.filter(|_| !response.injected) {
            let key = (response.short_name.clone(), response.nonce.clone());
            stream.nonces.insert(key, newest.nonce.to_string());
            let version = response.version.clone().unwrap_or_default();
            let key = (response.short_name.clone(), version);
            let shown = newest.version.as_str().to_owned();
            self.versions.insert(key, shown);
        }
    }

    /// Publishes what a recorded response holds.
    fn publish(&mut self, response: &Response) {
        let resource_type = &self.types[&response.short_name];
        let url = resource_type.url().clone();
        let full = resource_type.sotw_mode() == SotwMode::FullState && response.version.is_some();
        let wanted = self.streams.get(&response.stream).map(|stream| {
            let names = stream.wants.get(&url).cloned().unwrap_or_default();
            (stream.wildcards.contains(&url), names)
        });
        if response.injected {
            return;
        }
        let fixtures = response.resources.iter();
        let fixtures: Vec<_> = fixtures.map(|(n, v)| self.fixture(&url, n, v)).collect();
        let kept: BTreeSet<_> = response
            .resources
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        self.shelf.edit(|snapshot| {
            for name in &response.removed {
                snapshot.remove(&url, name);
            }
            if let (true, Some((wildcard, names))) = (full, wanted) {
                let held = self.recorded.keys().filter(|(u, _)| *u == url);
                for (_, name) in held.filter(|(_, n)| wildcard || names.contains(n)) {
                    if !kept.contains(name.as_str()) {
                        snapshot.remove(&url, name);
                    }
                }
            }
            for fixture in fixtures {
                snapshot
                    .upsert(fixture.into())
                    .expect("recorded resources have names");
            }
        });
        for stream in self.streams.values_mut() {
            stream.pair.drive();
        }
    }

    fn fixture(&self, url: &TypeUrl, name: &str, version: &str) -> Fixture {
        let fixture = match *url == CLUSTER && self.eds_names.contains(name) {
            true => fixture::cluster(name),
            false => Fixture::new(url.clone(), name),
        };
        fixture.version(version)
    }

    /// Hears what the session has said since.
    fn listen(&mut self) {
        for (number, stream) in &mut self.streams {
            stream.pair.drive();
            let received = stream.pair.client.received()[stream.seen..].to_vec();
            stream.seen += received.len();
            let mut due: BTreeSet<String> = BTreeSet::new();
            for response in &received {
                let url = &response.type_url;
                for resource in response.resources.iter() {
                    let key = (url.clone(), resource.name().to_string());
                    let version = resource.version().as_str().to_owned();
                    self.told.insert(key, Some(version));
                }
                for name in response.removed.iter().chain(&response.bodyless) {
                    self.told.insert((url.clone(), name.to_string()), None);
                }
                if *url == CLUSTER {
                    due.extend(stream.note_clusters(response));
                }
                if *url == ENDPOINT {
                    let sent = response.resources.iter().map(|r| r.name().as_str());
                    self.reanswers += sent.filter(|name| due.remove(*name)).count();
                }
            }
            let snapshot = self.shelf.snapshot().expect("it was published");
            due.retain(|name| snapshot.lookup(&ENDPOINT, name).present().is_some());
            if !due.is_empty() {
                self.findings.push(format!(
                    "stream {number}: endpoints of {due:?} did not follow"
                ));
            }
        }
    }
}

/// Where the session says nothing though the recorded server said that a name does not exist: endpoints that a
/// cluster refers to, secrets and extension configurations.
fn is_silent_about(url: &TypeUrl, recorded: &Option<String>) -> bool {
    use portolan_core::well_known::{EXTENSION_CONFIG, SECRET};
    recorded.is_none() && [ENDPOINT, SECRET, EXTENSION_CONFIG].contains(url)
}

impl Stream {
    /// Follows what the client wants; says whether a request changed it.
    fn note_wants(&mut self, url: &TypeUrl, request: &Request) -> bool {
        let first = !self.wants.contains_key(url);
        let wants = self.wants.entry(url.clone()).or_default();
        let before = wants.clone();
        match &request.names {
            Some(names) => *wants = names.iter().cloned().collect(),
            None => {
                wants.extend(request.subscribe.iter().cloned());
                wants.retain(|name| !request.unsubscribe.contains(name));
            }
        }
        let legacy = ResourceTypes::well_known().get(url).legacy_wildcard();
        let everything = wants.is_empty() && first && legacy;
        if everything || wants.contains("*") {
            self.wildcards.insert(url.clone());
        } else if request
            .names
            .as_ref()
            .is_some_and(|names| !names.is_empty())
        {
            self.wildcards.remove(url);
        }
        *wants != before
    }

    fn send(&mut self, url: &TypeUrl, request: &Request, version: String) {
        let key = (request.short_name.clone(), request.nonce.clone());
        let nonce = match request.nonce.as_str() {
            "" => String::new(),
            // A nonce of a response that the session had no reason for is foreign to it.
            _ => self
                .nonces
                .get(&key)
                .cloned()
                .unwrap_or_else(|| "unknown".to_owned()),
        };
        let error = request.error.map(|code| ErrorDetail::new(code, "recorded"));
        let bytes = |names: &[String]| names.iter().map(|n| Bytes::from(n.clone())).collect();
        match &request.names {
            Some(names) => {
                let mut sotw = SotwRequest::default();
                sotw.type_url = url.to_string();
                sotw.names = bytes(names);
                sotw.version = version;
                sotw.nonce = nonce;
                sotw.error = error;
                self.pair.client.send(sotw);
            }
            None => {
                let mut delta = DeltaRequest::default();
                delta.type_url = url.to_string();
                delta.subscribe = bytes(&request.subscribe);
                delta.unsubscribe = bytes(&request.unsubscribe);
                let versions = request.initial_versions.iter();
                delta.initial_versions = versions
                    .map(|(name, version)| {
                        (Bytes::from(name.clone()), Bytes::from(version.clone()))
                    })
                    .collect();
                delta.nonce = nonce;
                delta.error = error;
                self.pair.client.send(delta);
            }
        }
    }

    /// The EDS names that must follow a response with clusters.
    fn note_clusters(&mut self, response: &portolan_engine::Response) -> BTreeSet<String> {
        let mut due = BTreeSet::new();
        for cluster in response.resources.iter() {
            let (name, version) = (cluster.name().to_string(), cluster.version().as_str());
            let before = self.clusters.insert(name.clone(), version.to_owned());
            let discovered = cluster.body().starts_with(b"eds=");
            let asked = self
                .wants
                .get(&ENDPOINT)
                .is_some_and(|names| names.contains(&name));
            if discovered && asked && before.as_deref() != Some(version) {
                due.insert(name);
            }
        }
        due
    }
}
