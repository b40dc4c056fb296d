use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, LISTENER, SCOPED_ROUTE};
use portolan_core::{Name, Resource, TypeUrl};
use portolan_engine::{DeltaRequest, ErrorDetail, Request, Response, SotwRequest, Variant};

use super::Client;
use super::mux::text;
use super::taste::{Taste, is_garbled};

/// A client without a will of its own: it sends what the test tells it to, acknowledges what comes, and keeps what it
/// was given. For rules that no real client would show.
///
/// Of a response that it rejects it keeps the good half, or nothing where it cannot decode all of it, as Envoy does.
#[derive(Debug)]
pub struct PlainClient {
    variant: Variant,
    acknowledges: bool,
    taste: Taste,
    out: VecDeque<Request>,
    types: BTreeMap<TypeUrl, TypeMemory>,
    received: Vec<Response>,
}

#[derive(Debug, Default)]
struct TypeMemory {
    names: Vec<Name>,
    version: String,
    nonce: String,
    held: BTreeMap<Name, Resource>,
}

impl PlainClient {
    /// A client that speaks state of the world.
    #[must_use]
    pub fn sotw() -> Self {
        Self::new(Variant::Sotw)
    }

    /// A client that speaks delta.
    #[must_use]
    pub fn delta() -> Self {
        Self::new(Variant::Delta)
    }

    /// A client of either variant.
    #[must_use]
    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            acknowledges: true,
            taste: Taste::default(),
            out: VecDeque::new(),
            types: BTreeMap::new(),
            received: Vec::new(),
        }
    }

    /// Makes it acknowledge and reject nothing on its own. Default: it answers every response at once.
    #[must_use]
    pub fn without_acks(mut self) -> Self {
        self.acknowledges = false;
        self
    }

    /// Turns acknowledging on or off.
    pub fn set_acks(&mut self, on: bool) {
        self.acknowledges = on;
    }

    /// Which resources it rejects. Default: those that [`bad`](crate::fixture::Fixture::bad) marks.
    pub fn reject_when(&mut self, rejects: impl Fn(&Resource) -> bool + Send + Sync + 'static) {
        self.taste = Taste::rejecting(rejects);
    }

    /// Sends a request as it is.
    pub fn send(&mut self, request: impl Into<Request>) {
        self.out.push_back(request.into());
    }

    /// A state-of-the-world request for these names, with the version and nonce last received.
    pub fn sotw_request<N: Into<Name>>(
        &mut self,
        type_url: &TypeUrl,
        names: impl IntoIterator<Item = N>,
    ) -> SotwRequest {
        let memory = self.types.entry(type_url.clone()).or_default();
        memory.names = names.into_iter().map(Into::into).collect();
        let mut request = SotwRequest::default();
        request.type_url = type_url.to_string();
        request.names = memory.names.iter().map(|name| text(name)).collect();
        request.version.clone_from(&memory.version);
        request.nonce.clone_from(&memory.nonce);
        request
    }

    /// Sends [`sotw_request`](Self::sotw_request).
    pub fn ask<N: Into<Name>>(&mut self, type_url: &TypeUrl, names: impl IntoIterator<Item = N>) {
        let request = self.sotw_request(type_url, names);
        self.send(request);
    }

    /// A delta request that subscribes and unsubscribes, without a nonce.
    #[must_use]
    pub fn delta_request<'a>(
        type_url: &TypeUrl,
        subscribe: impl IntoIterator<Item = &'a str>,
        unsubscribe: impl IntoIterator<Item = &'a str>,
    ) -> DeltaRequest {
        let mut request = DeltaRequest::default();
        request.type_url = type_url.to_string();
        request.subscribe = subscribe.into_iter().map(text).collect();
        request.unsubscribe = unsubscribe.into_iter().map(text).collect();
        request
    }

    /// Sends a delta request that subscribes to names. Without names it is the first request of a wildcard.
    pub fn subscribe<'a>(&mut self, type_url: &TypeUrl, names: impl IntoIterator<Item = &'a str>) {
        self.send(Self::delta_request(type_url, names, []));
    }

    /// Sends a delta request that gives names up.
    pub fn unsubscribe<'a>(
        &mut self,
        type_url: &TypeUrl,
        names: impl IntoIterator<Item = &'a str>,
    ) {
        self.send(Self::delta_request(type_url, [], names));
    }

    /// Sends a delta request that subscribes to names and tells what an earlier stream left.
    pub fn resume<'a>(
        &mut self,
        type_url: &TypeUrl,
        names: impl IntoIterator<Item = &'a str>,
        versions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        let mut request = Self::delta_request(type_url, names, []);
        let versions = versions.into_iter();
        request.initial_versions = versions.map(|(n, v)| (text(n), text(v))).collect();
        self.send(request);
    }

    /// Subscribes to names in either variant: asks for exactly them, or adds them.
    pub fn want<'a>(&mut self, type_url: &TypeUrl, names: impl IntoIterator<Item = &'a str>) {
        match self.variant {
            Variant::Sotw => self.ask(type_url, names),
            _ => self.subscribe(type_url, names),
        }
    }

    /// Acknowledges the newest response of a type.
    pub fn ack(&mut self, type_url: &TypeUrl) {
        let nonce = self.nonce(type_url);
        self.answer(type_url, &nonce, None);
    }

    /// Rejects the newest response of a type.
    pub fn nack(&mut self, type_url: &TypeUrl) {
        let nonce = self.nonce(type_url);
        self.answer(type_url, &nonce, Some(ErrorDetail::new(13, "no")));
    }

    /// Acknowledges or rejects the response with this nonce, whether there is one or not.
    pub fn answer(&mut self, type_url: &TypeUrl, nonce: &str, error: Option<ErrorDetail>) {
        let memory = self.types.entry(type_url.clone()).or_default();
        let names = memory.names.clone();
        let request: Request = match self.variant {
            Variant::Sotw => {
                let mut request = self.sotw_request(type_url, names);
                request.nonce = nonce.to_owned();
                request.error = error;
                request.into()
            }
            _ => {
                let mut request = Self::delta_request(type_url, [], []);
                request.nonce = nonce.to_owned();
                request.error = error;
                request.into()
            }
        };
        self.out.push_back(request);
    }

    /// The nonce of the newest response of a type; empty where none came on this stream.
    #[must_use]
    pub fn nonce(&self, type_url: &TypeUrl) -> String {
        let memory = self.types.get(type_url);
        memory.map(|m| m.nonce.clone()).unwrap_or_default()
    }

    /// All responses so far.
    #[must_use]
    pub fn received(&self) -> &[Response] {
        &self.received
    }

    /// What it has of a type.
    #[must_use]
    pub fn held(&self, type_url: &TypeUrl) -> BTreeMap<Name, Resource> {
        let memory = self.types.get(type_url);
        memory.map(|m| m.held.clone()).unwrap_or_default()
    }

    /// Drops what it has of a type and does not want, as a client does that gives names up.
    pub fn forget(&mut self, type_url: &TypeUrl, unwanted: impl Fn(&Name) -> bool) {
        if let Some(memory) = self.types.get_mut(type_url) {
            memory.held.retain(|name, _| !unwanted(name));
        }
    }

    /// Names of what it has of a type.
    #[must_use]
    pub fn held_names(&self, type_url: &TypeUrl) -> Vec<Name> {
        self.held(type_url).into_keys().collect()
    }
}

impl TypeMemory {
    fn take(&mut self, variant: Variant, response: &Response, taste: &Taste) {
        let url = &response.type_url;
        let full_state = [CLUSTER, LISTENER, SCOPED_ROUTE].contains(url);
        if variant == Variant::Sotw && full_state {
            let named = |name: &Name| response.resources.iter().any(|r| r.name() == name);
            self.held.retain(|name, _| named(name));
        }
        for name in &response.removed {
            self.held.remove(name);
        }
        for resource in response.resources.iter().filter(|r| !taste.rejects(r)) {
            self.held.insert(resource.name().clone(), resource.clone());
        }
    }
}

impl Client for PlainClient {
    fn variant(&self) -> Variant {
        self.variant
    }

    fn handle_connected(&mut self, _: Duration) {
        self.out.clear();
        for memory in self.types.values_mut() {
            memory.nonce.clear();
        }
    }

    fn handle_response(&mut self, _: Duration, response: &Response) {
        let url = &response.type_url;
        let error = self.taste.judge(13, response.resources.iter());
        let memory = self.types.entry(url.clone()).or_default();
        if !response.resources.iter().any(is_garbled) {
            memory.take(self.variant, response, &self.taste);
        }
        memory.nonce = response.nonce.to_string();
        if error.is_none() {
            memory.version = response.version.as_str().to_owned();
        }
        let nonce = memory.nonce.clone();
        if self.acknowledges {
            self.answer(url, &nonce, error);
        }
        self.received.push(response.clone());
    }

    fn poll_request(&mut self) -> Option<Request> {
        self.out.pop_front()
    }
}
