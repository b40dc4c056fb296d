use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::{Lookup, Resource, ResourceBuilder, Snapshot, TypeUrl};
use portolan_engine::Event;

use super::bed::{Answer, AnswerError, AnswerHeartbeat, AnswerResource, Bed};
use super::case::Script;
use super::memory::{StreamMemory, Versions};
use super::step::{CODES, Edit, Expected, Step, Told};
use crate::fixture::Body;

/// Plays a script against a bed.
///
/// Edits that follow each other are one publication, and what is sent in a row is sent at once: time passes, and
/// something is expected, where the script says so.
pub(super) struct Player<'a> {
    bed: &'a mut dyn Bed,
    script: &'a Script,
    published: Option<Snapshot>,
    edits: Vec<Edit>,
    versions: Versions,
    streams: BTreeMap<usize, StreamMemory>,
    stream: usize,
    /// What came and was not yet expected, by stream.
    waiting: BTreeMap<usize, Vec<Answer>>,
    /// Whether everything was said since something was sent.
    settled: bool,
}

impl<'a> Player<'a> {
    pub(super) fn new(bed: &'a mut dyn Bed, script: &'a Script) -> Self {
        Self {
            bed,
            script,
            published: None,
            edits: Vec::new(),
            versions: Versions::default(),
            streams: BTreeMap::new(),
            stream: 1,
            waiting: BTreeMap::new(),
            settled: true,
        }
    }

    /// Plays all steps; the text says which line did not come out, and why.
    pub(super) fn play(mut self) -> Result<(), String> {
        for (line, step) in &self.script.steps {
            self.step(step)
                .map_err(|reason| format!("line {line}: {reason}"))?;
        }
        self.quiet()
            .map_err(|reason| format!("at the end: {reason}"))
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Step::Edit(edit) = step {
            self.edits.push(edit.clone());
            return Ok(());
        }
        if !self.edits.is_empty() || matches!(step, Step::Publish) {
            self.publish()?;
        }
        match step {
            Step::Edit(_) | Step::Publish => {}
            Step::Unpublish => {
                self.published = None;
                self.bed.unpublish();
                self.settled = false;
            }
            Step::Send(ask) => {
                self.open();
                let memory = self.streams.entry(self.stream).or_default();
                let request = memory.request(self.script.variant, ask, &self.versions)?;
                self.bed.send(self.stream, request);
                self.settled = false;
            }
            Step::Receive(expected) => self.receive(expected)?,
            Step::Quiet => self.quiet()?,
            Step::Wait(time) => {
                self.quiet()?;
                self.settle(*time);
            }
            Step::Read(on) => {
                self.open();
                if !self.bed.set_reading(self.stream, *on) {
                    return Err("this client always reads".to_owned());
                }
                self.settled = false;
            }
            Step::Stream(stream) => {
                self.stream = *stream;
                self.open();
            }
            Step::Reconnect => {
                self.quiet()?;
                self.streams.remove(&self.stream);
                self.open();
            }
            Step::Restart => self.restart()?,
            Step::Ended(code) => self.ended(code)?,
            Step::Told(told) => self.told(|memory| memory.take_told(told))?,
            Step::NotTold(kind) => self.told(|memory| memory.told_no(kind))?,
        }
        Ok(())
    }

    /// Opens the current stream, unless it is open.
    fn open(&mut self) {
        if !self.streams.contains_key(&self.stream) {
            self.streams.insert(self.stream, StreamMemory::default());
            self.bed.open(self.stream);
            self.settled = false;
        }
    }

    fn publish(&mut self) -> Result<(), String> {
        let mut builder = match &self.published {
            Some(snapshot) => snapshot.edit(),
            None => Snapshot::builder(),
        };
        for edit in self.edits.drain(..) {
            match edit {
                Edit::Put(fixtures) => {
                    for fixture in fixtures {
                        let resource = fixture.build();
                        self.versions.learn(&resource);
                        let put = builder.upsert(rebuilt(&resource));
                        put.map_err(|error| error.to_string())?;
                    }
                }
                Edit::Remove(type_url, names) => {
                    for name in names {
                        if matches!(builder.lookup(&type_url, &name), Lookup::Absent) {
                            return Err(format!("there is no {name:?} to remove"));
                        }
                        builder.remove(&type_url, &name);
                    }
                }
                Edit::Pending(type_url, names) => {
                    for name in names {
                        let pending = builder.pending(type_url.clone(), name);
                        pending.map_err(|error| error.to_string())?;
                    }
                }
                Edit::Fail(type_url, failure, names) => {
                    for name in names {
                        let fail = builder.fail(type_url.clone(), name, failure.clone());
                        fail.map_err(|error| error.to_string())?;
                    }
                }
                Edit::Label(type_url, label) => {
                    builder.label(type_url, label);
                }
            }
        }
        let snapshot = builder.build();
        self.published = Some(snapshot.clone());
        self.bed.publish(snapshot);
        self.settled = false;
        Ok(())
    }

    fn restart(&mut self) -> Result<(), String> {
        self.quiet()?;
        let snapshot = self.published.as_ref().map(|published| {
            let mut builder = Snapshot::builder();
            for entry in published.sets().flat_map(|(_, set)| set.entries()) {
                let (url, name) = (entry.type_url().clone(), entry.name().clone());
                let put = match entry.failure() {
                    Some(failure) => builder.fail(url, name, failure.clone()),
                    None => builder.insert(rebuilt(entry)),
                };
                put.expect("a copy of what was published can be published");
            }
            for (url, set) in published.sets() {
                for name in set.pending() {
                    let put = builder.pending(url.clone(), name.clone());
                    put.expect("a copy of what was published can be published");
                }
            }
            builder.build()
        });
        self.published.clone_from(&snapshot);
        self.bed.restart(snapshot);
        for memory in self.streams.values_mut() {
            *memory = StreamMemory::default();
        }
        self.settled = false;
        Ok(())
    }

    fn settle(&mut self, time: Duration) {
        self.bed.settle(time);
        for stream in self.streams.keys() {
            let came = self.bed.received(*stream);
            self.waiting.entry(*stream).or_default().extend(came);
        }
        self.settled = true;
    }

    fn settle_if_due(&mut self) {
        if !self.settled {
            self.settle(Duration::ZERO);
        }
    }

    fn receive(&mut self, expected: &Expected) -> Result<(), String> {
        self.settle_if_due();
        let waiting = self.waiting.entry(self.stream).or_default();
        if waiting.is_empty() {
            return Err("nothing came".to_owned());
        }
        let answer = waiting.remove(0);
        let memory = self.streams.entry(self.stream).or_default();
        self.versions.check(expected, &answer)?;
        memory.received(self.script.variant, expected, &answer)?;
        let mut came: Vec<_> = answer.resources.iter().map(shown).collect();
        let mut removed: Vec<_> = answer.removed.iter().map(ToString::to_string).collect();
        let mut bodyless: Vec<_> = answer.bodyless.iter().map(ToString::to_string).collect();
        let mut heartbeats: Vec<_> = answer.heartbeats.iter().map(beat).collect();
        let mut errors: Vec<_> = answer.errors.iter().map(failed).collect();
        for names in [
            &mut came,
            &mut removed,
            &mut bodyless,
            &mut heartbeats,
            &mut errors,
        ] {
            names.sort();
        }
        let wanted = [
            &expected.resources,
            &expected.removed,
            &expected.bodyless,
            &expected.heartbeats,
            &expected.errors,
        ];
        let wanted = wanted.map(|names| sorted(names));
        let found = [came, removed, bodyless, heartbeats, errors];
        if answer.type_url == expected.type_url && found == wanted {
            return Ok(());
        }
        Err(format!("what came is {}", line(&answer)))
    }

    /// Nothing waits on any stream.
    fn quiet(&mut self) -> Result<(), String> {
        if !self.edits.is_empty() {
            self.publish()?;
        }
        self.settle_if_due();
        for (stream, waiting) in &self.waiting {
            if !waiting.is_empty() {
                let came: Vec<_> = waiting.iter().map(line).collect();
                return Err(format!("on stream {stream} came {}", came.join("; ")));
            }
        }
        Ok(())
    }

    fn ended(&mut self, code: &str) -> Result<(), String> {
        self.quiet()?;
        match self.bed.ended(self.stream) {
            Some(ended) if ended == code => Ok(()),
            Some(ended) => Err(format!("it ended with {ended}")),
            None => Err("it has not ended".to_owned()),
        }
    }

    fn told(
        &mut self,
        check: impl FnOnce(&mut StreamMemory) -> Result<(), String>,
    ) -> Result<(), String> {
        self.settle_if_due();
        let memory = self.streams.entry(self.stream).or_default();
        if let Some(events) = self.bed.told(self.stream) {
            let tellings = events.iter().filter_map(telling);
            memory.told.extend(tellings);
            return check(memory);
        }
        Ok(())
    }
}

/// The same resource from scratch.
fn rebuilt(resource: &Resource) -> ResourceBuilder {
    let builder = Resource::builder(
        resource.type_url().clone(),
        resource.name().clone(),
        resource.body(),
    );
    let builder = builder.on_demand(resource.on_demand());
    let aliases = resource.aliases().iter().cloned();
    let builder = aliases.fold(builder, ResourceBuilder::alias);
    match resource.ttl() {
        Some(ttl) => builder.ttl(ttl),
        None => builder,
    }
}

fn telling(event: &Event) -> Option<Told> {
    let (kind, type_url, nonce, error) = match event {
        Event::Acked {
            type_url, nonce, ..
        } => ("acked", type_url, nonce.to_string(), None),
        Event::Nacked {
            type_url,
            nonce,
            code,
            message,
            ..
        } => (
            "nacked",
            type_url,
            nonce.to_string(),
            Some((*code, message)),
        ),
        Event::StaleNonce { type_url, nonce } => ("stale", type_url, nonce.clone(), None),
        _ => return None,
    };
    Some(Told {
        kind: kind.to_owned(),
        type_url: type_url.clone(),
        nonce,
        code: error.map(|(code, _)| code),
        message: error.map(|(_, message)| message.clone()),
    })
}

/// A resource as scripts write it: its name, its revision if it has one, and its time to live if it has that.
fn shown(resource: &AnswerResource) -> String {
    let body = bytes::Bytes::copy_from_slice(&resource.body);
    let name = match Body::parse(&body).value("rev") {
        Some(revision) => format!("{}@{revision}", resource.name),
        None => resource.name.to_string(),
    };
    match resource.ttl {
        Some(ttl) => format!("{name}~{ttl:?}"),
        None => name,
    }
}

fn beat(heartbeat: &AnswerHeartbeat) -> String {
    format!("{}~{:?}", heartbeat.name, heartbeat.ttl)
}

/// An error as scripts write it.
fn failed(error: &AnswerError) -> String {
    let known = CODES
        .iter()
        .find(|(_, code)| i32::from(code.number()) == error.code);
    let code = known.map_or_else(|| error.code.to_string(), |(word, _)| (*word).to_owned());
    match error.message.as_str() {
        "" => format!("{}:{code}", error.name),
        text => format!("{}:{code}:{text}", error.name),
    }
}

fn line(answer: &Answer) -> String {
    let resources: BTreeSet<_> = answer.resources.iter().map(shown).collect();
    let mut line = format!("{} {resources:?}", short(&answer.type_url));
    if !answer.heartbeats.is_empty() {
        let heartbeats: Vec<_> = answer.heartbeats.iter().map(beat).collect();
        line += &format!(" ~{heartbeats:?}");
    }
    if !answer.errors.is_empty() {
        let errors: Vec<_> = answer.errors.iter().map(failed).collect();
        line += &format!(" !{errors:?}");
    }
    for (mark, names) in [('-', &answer.removed), ('?', &answer.bodyless)] {
        if !names.is_empty() {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            line += &format!(" {mark}{names:?}");
        }
    }
    line
}

fn short(type_url: &TypeUrl) -> String {
    let types = portolan_core::ResourceTypes::well_known();
    types.get(type_url).short_name().to_owned()
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names
}
