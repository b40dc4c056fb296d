use std::collections::BTreeMap;

use bytes::Bytes;
use portolan_core::{Name, Resource, TypeUrl};
use portolan_engine::{DeltaRequest, ErrorDetail, Request, SotwRequest, Variant};

use super::bed::{Answer, AnswerResource};
use super::step::{Ask, Expected, Item, Names, Told, Verdict};
use super::text::Word;
use crate::fixture::Body;

/// Behind the version of an answer that holds everything; what it marks is the same content.
const MARK: char = '*';

/// What versions scripts speak of.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// By type and name, what was published, by revision.
    resources: BTreeMap<(TypeUrl, String, String), Resource>,
    /// What `v1` of a type is: what is left of it without the mark, and how it was seen last.
    named: BTreeMap<(TypeUrl, String), (String, String)>,
}

impl Versions {
    pub(super) fn learn(&mut self, resource: &Resource) {
        let key = key(resource.type_url(), resource.name(), &resource.body());
        self.resources.insert(key, resource.clone());
    }

    /// Whether a response has the version that is expected: one that is written out, or the one of that name, which is
    /// the name of one version only.
    pub(super) fn check(&mut self, expected: &Expected, answer: &Answer) -> Result<(), String> {
        if answer.version.is_empty() {
            return Err("a response has no version".to_owned());
        }
        for resource in &answer.resources {
            self.check_resource(&answer.type_url, resource)?;
        }
        let Some(word) = &expected.version else {
            return Ok(());
        };
        let content = answer.version.trim_end_matches(MARK);
        if word.quoted {
            return match word.text == answer.version {
                true => Ok(()),
                false => Err(format!("the version is {:?}", answer.version)),
            };
        }
        let key = (expected.type_url.clone(), word.text.clone());
        let named = (content.to_owned(), answer.version.clone());
        match self.named.insert(key, named) {
            Some((known, _)) if known != content => {
                return Err(format!("{} is another version", word.text));
            }
            _ => {}
        }
        let same = |((url, name), (version, _)): &(&(TypeUrl, String), &(String, String))| {
            *url == expected.type_url && version == content && *name != word.text
        };
        match self.named.iter().find(same) {
            Some(((_, name), _)) => Err(format!("the version is still {name}")),
            None => Ok(()),
        }
    }

    /// Whether a resource is what was published: the bytes of this name and revision and, where it has a version, that and
    /// the aliases.
    fn check_resource(&self, type_url: &TypeUrl, resource: &AnswerResource) -> Result<(), String> {
        let body = Bytes::copy_from_slice(&resource.body);
        // Which spelling it has is for the script to say.
        let name = Name::from(resource.name.as_str());
        let published = self.resources.get(&key(type_url, &name, &body));
        // A client of state of the world may see no more of a name than stands in the body.
        let Some(published) = published.or_else(|| self.of_stem(type_url, &name, &body)) else {
            return Err(format!("{:?} was not published", resource.name));
        };
        match &resource.version {
            Some(found) if *published.version() != **found => {
                Err(format!("{:?} has version {found:?}", resource.name))
            }
            Some(_) if !same_names(published.aliases(), &resource.aliases) => {
                let (name, found) = (&resource.name, &resource.aliases);
                Err(format!("{name:?} has the aliases {found:?}"))
            }
            _ if published.body() != body => Err(format!("{:?} is not whole", resource.name)),
            _ => Ok(()),
        }
    }

    fn of_stem(&self, type_url: &TypeUrl, name: &Name, body: &Bytes) -> Option<&Resource> {
        let mut resources = self.resources.values().filter(|r| r.type_url() == type_url);
        resources.find(|r| r.name().stem() == name.as_str() && r.body() == body)
    }

    fn of_type(&self, type_url: &TypeUrl, word: &Word) -> Result<String, String> {
        if word.quoted || word.text.is_empty() {
            return Ok(word.text.clone());
        }
        let key = (type_url.clone(), word.text.clone());
        let version = self.named.get(&key).map(|(_, seen)| seen.clone());
        version.ok_or_else(|| format!("no version {} was seen", word.text))
    }

    fn of_resource(&self, type_url: &TypeUrl, item: &Item) -> Result<String, String> {
        let revision = &item.revision;
        if revision.quoted {
            return Ok(revision.text.clone());
        }
        let name = Name::canonical(&item.name).into_owned();
        let key = (type_url.clone(), name, revision.text.clone());
        let published = self.resources.get(&key);
        let version = published.map(|published| published.version().as_str().to_owned());
        version.ok_or_else(|| format!("no such {:?} was published", item.name))
    }
}

fn same_names(names: &[Name], written: &[Name]) -> bool {
    let written = written.iter().map(|name| Name::from(name.as_str()));
    names.iter().cloned().eq(written)
}

fn key(type_url: &TypeUrl, name: &Name, body: &Bytes) -> (TypeUrl, String, String) {
    (type_url.clone(), name.to_string(), revision(body))
}

/// What the client of a stream knows of it.
#[derive(Debug, Default)]
pub(super) struct StreamMemory {
    types: BTreeMap<TypeUrl, TypeMemory>,
    /// What `n1` is.
    nonces: BTreeMap<String, String>,
    /// What was told and not yet asked for.
    pub(super) told: Vec<Told>,
}

#[derive(Debug, Default)]
struct TypeMemory {
    names: Names,
    /// By nonce, the versions of responses.
    responses: BTreeMap<String, String>,
    accepted: String,
    newest: String,
    /// By name, the versions of resources in delta.
    versions: BTreeMap<Name, String>,
}

impl TypeMemory {
    /// A client knows a heartbeat by its version: in delta that of the resource as it came last, in state of the world
    /// that of the response, which is that of the one before.
    fn check_heartbeats(&self, variant: Variant, answer: &Answer) -> Result<(), String> {
        for heartbeat in &answer.heartbeats {
            let version = &heartbeat.version;
            let is_known = match variant {
                Variant::Sotw => {
                    let newest = self.responses.get(&self.newest);
                    newest == Some(version) && answer.version == *version
                }
                // What an earlier stream brought was not seen on this one.
                _ => {
                    let newest = self.versions.get(&heartbeat.name);
                    newest.is_none_or(|newest| newest == version)
                }
            };
            if !is_known {
                return Err(format!("a heartbeat has another version: {heartbeat:?}"));
            }
        }
        Ok(())
    }
}

impl StreamMemory {
    pub(super) fn request(
        &mut self,
        variant: Variant,
        ask: &Ask,
        versions: &Versions,
    ) -> Result<Request, String> {
        match variant {
            Variant::Sotw => Ok(self.sotw(ask, versions)?.into()),
            _ => Ok(self.delta(ask, versions)?.into()),
        }
    }

    fn sotw(&mut self, ask: &Ask, versions: &Versions) -> Result<SotwRequest, String> {
        if !(ask.subscribe.is_empty() && ask.unsubscribe.is_empty()) {
            return Err("in state of the world a request has names".to_owned());
        }
        let nonce = self.nonce(ask)?;
        let url = TypeUrl::from(ask.type_url.as_str());
        let memory = self.types.entry(url.clone()).or_default();
        if let Some(names) = &ask.names {
            memory.names.clone_from(names);
        }
        if let Some((Verdict::Ack, _)) = &ask.answers {
            let version = memory.responses.get(&nonce).cloned();
            memory.accepted = version.ok_or("no such response came")?;
        }
        let mut request = SotwRequest::default();
        request.type_url.clone_from(&ask.type_url);
        request.names = bytes_of(&memory.names.plain);
        request.locators.clone_from(&memory.names.located);
        request.version = match &ask.version {
            Some(word) => versions.of_type(&url, word)?,
            None => memory.accepted.clone(),
        };
        request.nonce = nonce;
        request.error = error(ask);
        Ok(request)
    }

    fn delta(&self, ask: &Ask, versions: &Versions) -> Result<DeltaRequest, String> {
        if ask.names.is_some() || ask.version.is_some() {
            return Err("in delta a request has neither names nor a version".to_owned());
        }
        let nonce = self.nonce(ask)?;
        let url = TypeUrl::from(ask.type_url.as_str());
        let mut request = DeltaRequest::default();
        request.type_url.clone_from(&ask.type_url);
        request.subscribe = bytes_of(&ask.subscribe.plain);
        request.unsubscribe = bytes_of(&ask.unsubscribe.plain);
        request
            .locators_subscribe
            .clone_from(&ask.subscribe.located);
        request
            .locators_unsubscribe
            .clone_from(&ask.unsubscribe.located);
        for item in &ask.initial_versions {
            let version = versions.of_resource(&url, item)?;
            let entry = (Bytes::from(item.name.clone()), Bytes::from(version));
            request.initial_versions.push(entry);
        }
        request.nonce = nonce;
        request.error = error(ask);
        Ok(request)
    }

    /// The nonce of a request: of what it answers, as it says, or in state of the world that of the newest response.
    fn nonce(&self, ask: &Ask) -> Result<String, String> {
        let written = match (&ask.answers, &ask.nonce) {
            (Some((_, nonce)), _) => nonce,
            (None, Some(word)) if word.quoted || word.text.is_empty() => {
                return Ok(word.text.clone());
            }
            (None, Some(word)) => &word.text,
            (None, None) => {
                let memory = self.types.get(ask.type_url.as_str());
                let newest = memory.map(|m| m.newest.clone()).unwrap_or_default();
                return Ok(if ask.names.is_some() {
                    newest
                } else {
                    String::new()
                });
            }
        };
        let nonce = self.nonces.get(written).cloned();
        nonce.ok_or_else(|| format!("no nonce {written} was seen"))
    }

    /// Notes a response that came as expected.
    pub(super) fn received(
        &mut self,
        variant: Variant,
        expected: &Expected,
        answer: &Answer,
    ) -> Result<(), String> {
        if answer.nonce.is_empty() {
            return Err("a response has no nonce".to_owned());
        }
        if self.nonces.values().any(|known| *known == answer.nonce) {
            return Err(format!("the nonce {:?} was there before", answer.nonce));
        }
        let named = self
            .nonces
            .insert(expected.nonce.clone(), answer.nonce.clone());
        if named.is_some() {
            return Err(format!("{} is another response", expected.nonce));
        }
        let memory = self.types.entry(answer.type_url.clone()).or_default();
        memory.check_heartbeats(variant, answer)?;
        for resource in &answer.resources {
            if let Some(version) = &resource.version {
                memory
                    .versions
                    .insert(resource.name.clone(), version.clone());
            }
        }
        memory
            .responses
            .insert(answer.nonce.clone(), answer.version.clone());
        memory.newest.clone_from(&answer.nonce);
        Ok(())
    }

    /// Takes the oldest of what was told of this kind, which must be this.
    pub(super) fn take_told(&mut self, told: &Told) -> Result<(), String> {
        let nonce = self.nonces.get(&told.nonce).unwrap_or(&told.nonce).clone();
        let Some(at) = self.told.iter().position(|other| other.kind == told.kind) else {
            return Err(format!("nothing was {}", told.kind));
        };
        let found = self.told.remove(at);
        let says = |message: &String| found.message.as_ref() == Some(message);
        let same = found.type_url == told.type_url
            && found.nonce == nonce
            && (told.code.is_none() || told.code == found.code)
            && told.message.as_ref().is_none_or(says);
        match same {
            true => Ok(()),
            false => Err(format!("what was told is {found:?}")),
        }
    }

    /// Nothing more was told of this kind.
    pub(super) fn told_no(&self, kind: &str) -> Result<(), String> {
        match self.told.iter().find(|told| told.kind == kind) {
            Some(found) => Err(format!("what was told is {found:?}")),
            None => Ok(()),
        }
    }
}

fn revision(body: &Bytes) -> String {
    Body::parse(body)
        .value("rev")
        .unwrap_or_default()
        .to_owned()
}

fn bytes_of(names: &[String]) -> Vec<Bytes> {
    names.iter().cloned().map(Bytes::from).collect()
}

fn error(ask: &Ask) -> Option<ErrorDetail> {
    let (code, text) = ask.error.as_ref()?;
    Some(ErrorDetail::new(*code, text.clone()))
}
