//! Requests and responses as the model sees them.

use std::time::Duration;

use bytes::Bytes;
use portolan_core::Name;
use portolan_engine::{DeltaRequest, ErrorDetail, Reason, Request, Response, SotwRequest, Variant};

use crate::content::{Content, Contents, KINDS, Missing, Quality, name, number, resource};

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) at: usize,
    /// All names of state of the world; what delta subscribes.
    pub(crate) names: Vec<usize>,
    pub(crate) star: bool,
    pub(crate) unsub: Vec<usize>,
    pub(crate) unstar: bool,
    pub(crate) nonce: String,
    pub(crate) rejects: bool,
    pub(crate) version: String,
    /// What delta brings from the stream before.
    pub(crate) claims: Vec<(usize, Content)>,
}

impl Ask {
    /// Whether it names nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.unsub.is_empty() && !self.star && !self.unstar
    }

    pub(crate) fn request(&self, variant: Variant) -> Request {
        let type_url = KINDS[self.at].url.to_string();
        let error = self.rejects.then(|| ErrorDetail::new(0, "no"));
        match variant {
            Variant::Sotw => {
                let mut request = SotwRequest::default();
                request.type_url = type_url;
                request.names = texts(&self.names, self.star);
                request.version.clone_from(&self.version);
                request.nonce.clone_from(&self.nonce);
                request.error = error;
                request.into()
            }
            _ => {
                let mut request = DeltaRequest::default();
                request.type_url = type_url;
                request.subscribe = texts(&self.names, self.star);
                request.unsubscribe = texts(&self.unsub, self.unstar);
                let claims = self.claims.iter().map(|(number, content)| {
                    let version = resource(self.at, *number, *content).version().clone();
                    let version = Bytes::copy_from_slice(version.as_str().as_bytes());
                    (Bytes::from(name(*number)), version)
                });
                request.initial_versions = claims.collect();
                request.nonce.clone_from(&self.nonce);
                request.error = error;
                request.into()
            }
        }
    }
}

fn texts(numbers: &[usize], star: bool) -> Vec<Bytes> {
    let names = numbers.iter().map(|number| Bytes::from(name(*number)));
    names.chain(star.then(|| Bytes::from("*"))).collect()
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) at: usize,
    pub(crate) nonce: u64,
    pub(crate) version: String,
    pub(crate) resources: Vec<(usize, Content)>,
    pub(crate) removed: Vec<usize>,
    pub(crate) bodyless: Vec<usize>,
    pub(crate) changed: bool,
    pub(crate) time: Duration,
}

impl Reply {
    /// Reads a response that was made from a publication of `contents`.
    pub(crate) fn read(
        response: &Response,
        contents: &Contents,
        time: Duration,
    ) -> Result<Self, String> {
        let at = KINDS
            .iter()
            .position(|kind| kind.url == response.type_url)
            .ok_or("a type that nobody asked for")?;
        let mut resources = Vec::new();
        for sent in response.resources.iter().chain(&response.errors) {
            let number = number(sent.name());
            let Some(content) = contents.get(&(at, number)) else {
                return Err(format!("{number} is not in the publication"));
            };
            if !sent.same_content(&resource(at, number, *content)) {
                return Err(format!("{number} is another in the publication"));
            }
            resources.push((number, *content));
        }
        resources.sort_unstable();
        let numbers = |names: &[Name]| names.iter().map(|n| number(n)).collect::<Vec<_>>();
        let mut removed = numbers(&response.removed);
        let is_delta = response.variant == Variant::Delta;
        if is_delta && KINDS[at].missing != Missing::Silence {
            // Clients that pass over errors are told the same in their words (C-366).
            for (number, _) in resources
                .iter()
                .filter(|r| r.1.quality == Quality::NotFound)
            {
                let twice = removed.iter().position(|removed| removed == number);
                removed.remove(twice.ok_or_else(|| format!("{number} is not removed (C-366)"))?);
            }
        }
        Ok(Self {
            at,
            nonce: response.nonce.to_string().parse().expect("a number"),
            version: response.version.to_string(),
            resources,
            removed,
            bodyless: numbers(&response.bodyless),
            changed: response.reason == Reason::Changed,
            time,
        })
    }

    /// Each name that it speaks of, with what it says there is.
    pub(crate) fn told(&self) -> impl Iterator<Item = (usize, Option<Content>)> + '_ {
        let gone = self.removed.iter().chain(&self.bodyless);
        let resources = self
            .resources
            .iter()
            .map(|(n, content)| (*n, Some(*content)));
        resources.chain(gone.map(|n| (*n, None)))
    }
}
