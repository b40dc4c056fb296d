use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use portolan_core::TypeUrl;
use portolan_engine::{DeltaRequest, Request, Response, SotwRequest, Variant};

use crate::collection::glob;
use crate::{Collection, Stream};

/// What a client subscribes of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each is measured")]
pub enum Wants {
    /// Everything, by `*`.
    Wildcard,
    /// Each resource, by its name, as Envoy does with endpoints and routes.
    Named,
    /// Each endpoint, by the glob of all of them.
    Glob,
}

impl Wants {
    /// What a first request names.
    #[must_use]
    pub fn names(self, collection: &Collection) -> Vec<Bytes> {
        match self {
            Self::Wildcard => vec![Bytes::from_static(b"*")],
            Self::Named => collection.names().to_vec(),
            Self::Glob => vec![glob()],
        }
    }
}

/// The client of a stream: it makes the requests, so that what they hold is not counted as the stream's.
#[derive(Debug)]
pub struct Client {
    variant: Variant,
    /// What it names, by type; state of the world repeats it with every request.
    named: BTreeMap<TypeUrl, Vec<Bytes>>,
    nonces: BTreeMap<TypeUrl, String>,
}

impl Client {
    /// A client that wants nothing yet.
    #[must_use]
    pub fn new(variant: Variant) -> Self {
        Self {
            variant,
            named: BTreeMap::new(),
            nonces: BTreeMap::new(),
        }
    }

    /// Subscribes a type and acknowledges all that comes of it. Gives the number of resources that came.
    pub fn subscribe(&mut self, stream: &mut Stream, url: &TypeUrl, names: Vec<Bytes>) -> usize {
        let first = self.also(url, names);
        self.converse(stream, VecDeque::from([first]))
    }

    /// Acknowledges all that comes of what was published. Gives the number of resources that came.
    pub fn follow(&mut self, stream: &mut Stream) -> usize {
        stream.wake();
        self.converse(stream, VecDeque::new())
    }

    /// The acknowledgement of a response.
    pub fn acknowledge(&mut self, response: &Response) -> Request {
        let url = &response.type_url;
        self.nonces.insert(url.clone(), response.nonce.to_string());
        self.request(url, Vec::new(), Vec::new(), response.nonce.to_string())
    }

    /// A request of further names.
    pub fn also(&mut self, url: &TypeUrl, names: Vec<Bytes>) -> Request {
        let named = self.named.entry(url.clone()).or_default();
        named.extend(names.iter().cloned());
        self.request(url, names, Vec::new(), String::new())
    }

    /// A request that gives up a name.
    pub fn without(&mut self, url: &TypeUrl, name: &Bytes) -> Request {
        let named = self.named.entry(url.clone()).or_default();
        named.retain(|held| held != name);
        self.request(url, Vec::new(), vec![name.clone()], String::new())
    }

    fn request(
        &self,
        url: &TypeUrl,
        subscribe: Vec<Bytes>,
        unsubscribe: Vec<Bytes>,
        acknowledges: String,
    ) -> Request {
        if self.variant == Variant::Sotw {
            let mut request = SotwRequest::default();
            request.type_url = url.to_string();
            request.names = self.named.get(url).cloned().unwrap_or_default();
            request.nonce = self.nonces.get(url).cloned().unwrap_or_default();
            return request.into();
        }
        let mut request = DeltaRequest::default();
        request.type_url = url.to_string();
        request.subscribe = subscribe;
        request.unsubscribe = unsubscribe;
        request.nonce = acknowledges;
        request.into()
    }

    fn converse(&mut self, stream: &mut Stream, mut requests: VecDeque<Request>) -> usize {
        let mut resources = 0;
        loop {
            while let Some(response) = stream.respond() {
                resources += response.resources.len();
                requests.push_back(self.acknowledge(&response));
            }
            let Some(request) = requests.pop_front() else {
                return resources;
            };
            stream.hear(request);
        }
    }
}
