use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use portolan_core::{Name, TypeUrl, Version};
use portolan_engine::{DeltaRequest, ErrorDetail, Request, Response, SotwRequest, Variant};

/// The wire side of a real client: what it named, accepted and acknowledged of each type, whatever it does with the
/// resources.
#[derive(Debug)]
pub(super) struct Mux {
    variant: Variant,
    /// In the order in which the types were first asked for, which is the order of a reconnect.
    types: Vec<TypeMux>,
    out: VecDeque<Request>,
    sticky_errors: bool,
}

#[derive(Debug)]
struct TypeMux {
    url: TypeUrl,
    names: BTreeSet<Name>,
    /// State of the world: the version last accepted.
    version: String,
    /// The nonce last received on this stream.
    nonce: String,
    /// Delta: what was accepted, by name.
    accepted: BTreeMap<Name, Version>,
    error: Option<ErrorDetail>,
    paused: bool,
    /// Acknowledgements that wait for the end of the pause.
    withheld: Vec<Request>,
    /// The type must be asked for on this stream when the pause ends.
    reask: bool,
}

impl Mux {
    pub(super) fn new(variant: Variant) -> Self {
        Self {
            variant,
            types: Vec::new(),
            out: VecDeque::new(),
            sticky_errors: false,
        }
    }

    /// Repeats an error with every request until a response is accepted.
    pub(super) fn set_sticky_errors(&mut self, on: bool) {
        self.sticky_errors = on;
    }

    pub(super) fn poll(&mut self) -> Option<Request> {
        self.out.pop_front()
    }

    pub(super) fn has_asked(&self, url: &TypeUrl) -> bool {
        self.types.iter().any(|t| t.url == *url)
    }

    pub(super) fn names(&self, url: &TypeUrl) -> BTreeSet<Name> {
        let found = self.types.iter().find(|t| t.url == *url);
        found.map(|t| t.names.clone()).unwrap_or_default()
    }

    /// Makes `names` what is wanted of a type; says so where that is news. An empty set on first asking stands for
    /// everything, in the types that have it so.
    pub(super) fn ask(&mut self, url: &TypeUrl, names: BTreeSet<Name>) -> bool {
        let Some(at) = self.types.iter().position(|t| t.url == *url) else {
            let mut state = TypeMux::new(url.clone());
            state.names = names;
            self.out.push_back(state.first(self.variant));
            self.types.push(state);
            return true;
        };
        let state = &mut self.types[at];
        if state.names == names {
            return false;
        }
        let request = match self.variant {
            Variant::Sotw => {
                state.names = names;
                state.sotw(self.sticky_errors)
            }
            _ => {
                let mut request = state.delta();
                request.subscribe = bytes(names.difference(&state.names));
                request.unsubscribe = bytes(state.names.difference(&names));
                for name in state.names.difference(&names) {
                    state.accepted.remove(name);
                }
                state.names = names;
                request.into()
            }
        };
        self.out.push_back(request);
        true
    }

    /// Sends the type's state-of-the-world request once more.
    pub(super) fn repeat(&mut self, url: &TypeUrl) {
        if let Some(state) = self.types.iter().find(|t| t.url == *url) {
            self.out.push_back(state.sotw(self.sticky_errors));
        }
    }

    /// Acknowledges a response, or rejects it. Says whether it is of a type that was asked for; others are dropped.
    pub(super) fn settle(&mut self, response: &Response, error: Option<ErrorDetail>) -> bool {
        let sticky = self.sticky_errors;
        let found = self.types.iter_mut().find(|t| t.url == response.type_url);
        let Some(state) = found else {
            return false;
        };
        state.nonce = response.nonce.to_string();
        state.error.clone_from(&error);
        if error.is_none() {
            state.note_accepted(response);
        }
        let request = match self.variant {
            Variant::Sotw => {
                let mut request = state.sotw_request(sticky);
                request.error = error;
                request.into()
            }
            _ => {
                let mut request = state.delta();
                request.nonce.clone_from(&state.nonce);
                request.error = error;
                request.into()
            }
        };
        match state.paused {
            true => state.withheld.push(request),
            false => self.out.push_back(request),
        }
        true
    }

    /// Withholds what is to be sent of a type.
    pub(super) fn pause(&mut self, url: &TypeUrl) {
        if let Some(state) = self.types.iter_mut().find(|t| t.url == *url) {
            state.paused = true;
        }
    }

    /// Sends what was withheld: in state of the world the newest acknowledgement alone, in delta all.
    pub(super) fn resume(&mut self, url: &TypeUrl) {
        let Some(state) = self.types.iter_mut().find(|t| t.url == *url) else {
            return;
        };
        state.paused = false;
        if std::mem::take(&mut state.reask) {
            self.out.push_back(state.first(self.variant));
        }
        let mut withheld = std::mem::take(&mut state.withheld);
        if self.variant == Variant::Sotw {
            withheld.drain(..withheld.len().saturating_sub(1));
        }
        self.out.extend(withheld);
    }

    /// Starts over on a new stream.
    pub(super) fn connect(&mut self) {
        self.out.clear();
        for state in &mut self.types {
            state.nonce.clear();
            state.error = None;
            state.withheld.clear();
            state.reask = state.paused;
            if !state.paused {
                self.out.push_back(state.first(self.variant));
            }
        }
    }
}

impl TypeMux {
    fn new(url: TypeUrl) -> Self {
        Self {
            url,
            names: BTreeSet::new(),
            version: String::new(),
            nonce: String::new(),
            accepted: BTreeMap::new(),
            error: None,
            paused: false,
            withheld: Vec::new(),
            reask: false,
        }
    }

    fn note_accepted(&mut self, response: &Response) {
        self.version = response.version.as_str().to_owned();
        for resource in response.resources.iter() {
            let (name, version) = (resource.name(), resource.version());
            self.accepted.insert(name.clone(), version.clone());
        }
        for name in &response.removed {
            self.accepted.remove(name);
        }
    }

    /// The first request of a stream.
    fn first(&self, variant: Variant) -> Request {
        if variant == Variant::Sotw {
            return self.sotw(false);
        }
        let mut request = self.delta();
        request.subscribe = bytes(self.names.iter());
        let accepted = self.accepted.iter();
        request.initial_versions = accepted
            .map(|(name, version)| (text(name.as_str()), text(version.as_str())))
            .collect();
        request.into()
    }

    fn sotw(&self, sticky_errors: bool) -> Request {
        self.sotw_request(sticky_errors).into()
    }

    fn sotw_request(&self, sticky_errors: bool) -> SotwRequest {
        let mut request = SotwRequest::default();
        request.type_url = self.url.to_string();
        request.names = bytes(self.names.iter());
        request.version.clone_from(&self.version);
        request.nonce.clone_from(&self.nonce);
        request.error = self.error.clone().filter(|_| sticky_errors);
        request
    }

    fn delta(&self) -> DeltaRequest {
        let mut request = DeltaRequest::default();
        request.type_url = self.url.to_string();
        request
    }
}

pub(super) fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn bytes<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<Bytes> {
    names.map(|name| text(name)).collect()
}
