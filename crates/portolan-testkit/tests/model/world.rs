//! A client, two servers, and what is published.

use std::sync::Arc;
use std::time::Duration;

use portolan_core::ResourceTypes;
use portolan_engine::{Limits, Scope, SessionConfig, Transitions, Variant};
use portolan_testkit::Setup;

use crate::client::Client;
use crate::content::{Content, Contents, KINDS, Quality, TYPES};
use crate::judge::{Rules, Versions};
use crate::line::Line;
use crate::message::{Ask, Reply};
use crate::ops::{Edit, Forged, Mood, Op};
use crate::store::Store;

/// How a world differs from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) variant: Variant,
    /// Number of names of each type.
    pub(crate) size: usize,
    /// All types on one stream, or each on its own.
    pub(crate) aggregated: bool,
    /// From a snapshot cache, or from a shelf.
    pub(crate) cached: bool,
    pub(crate) max_unacked: usize,
    /// Responses of a few resources are too large.
    pub(crate) cut: bool,
}

impl Shape {
    /// That something is not found is told in two ways, which may be in two parts of an answer that is cut.
    fn possible(self, content: Content) -> Content {
        let quality = match content.quality {
            Quality::NotFound if self.cut => Quality::Failed,
            quality => quality,
        };
        Content { quality, ..content }
    }
}

pub(crate) struct World {
    shape: Shape,
    config: Arc<SessionConfig>,
    stores: [Store; 2],
    lines: Vec<Line>,
    client: Client,
    published: Contents,
    versions: Versions,
    now: Duration,
    said: Vec<Said>,
}

#[derive(Debug)]
enum Said {
    Op(Op),
    Ask(Ask),
    Reply(Reply),
}

type Outcome = Result<(), String>;

impl World {
    pub(crate) fn new(shape: Shape) -> Self {
        let limits = Limits::default().with_unacked(shape.max_unacked);
        // What is held on the way from one publication to the next has a model of its own, in `tests/transitions`.
        let config = Setup::default_config()
            .with_limits(limits)
            .with_transitions(Transitions::Ordered);
        let config = match shape.cut {
            true => config.with_max_response(500),
            false => config,
        };
        let mut world = Self {
            shape,
            config: Arc::new(config),
            stores: [Store::new(shape.cached), Store::new(shape.cached)],
            lines: Vec::new(),
            client: Client::new(shape.variant),
            published: Contents::new(),
            versions: Versions::new(),
            now: Duration::ZERO,
            said: Vec::new(),
        };
        let lines = if shape.aggregated { 1 } else { TYPES };
        for line in 0..lines {
            let opened = world.open(line, 0, None);
            world.lines.push(opened);
        }
        world
    }

    /// What happened, for whoever looks for the reason of a failure.
    pub(crate) fn transcript(&self) -> String {
        let lines = self.said.iter().map(|said| match said {
            Said::Op(op) => format!("-- {op:?}\n"),
            Said::Ask(ask) => format!(">  {ask:?}\n"),
            Said::Reply(reply) => format!("<  {reply:?}\n"),
        });
        lines.collect()
    }

    pub(crate) fn apply(&mut self, op: &Op) -> Outcome {
        self.said.push(Said::Op(op.clone()));
        match op {
            Op::Publish { edits, rebuild } => self.publish(edits, *rebuild),
            Op::Clear => self.stores.iter_mut().for_each(Store::clear),
            Op::Want {
                at,
                names,
                unsub,
                flag,
            } if self.has(*at) => {
                let ask = match self.shape.variant {
                    Variant::Sotw => self.client.ask(*at, names, *flag),
                    _ => self.client.change(*at, names, unsub, *flag),
                };
                self.send(ask);
            }
            Op::Answer { at, which } => {
                let ask = self.client.answer(*at, *which);
                ask.into_iter().for_each(|ask| self.send(ask));
            }
            Op::Forge { at, nonce, rejects } => self.forge(*at, *nonce, *rejects),
            Op::Repeat(at) if self.client.begun(*at) => self.send(self.client.repeat(*at)),
            Op::Mood(mood) => self.client.mood = *mood,
            Op::Handle(count) => return self.handle(*count),
            Op::Serve(count) => return self.serve(*count),
            Op::Read(count) => drop(self.read(*count)),
            Op::Flow { answers } => return self.flow(*answers),
            Op::Pass(ms) => self.pass(Duration::from_millis(*ms)),
            Op::Reconnect {
                line,
                replica,
                claims,
            } => self.reconnect(line % self.lines.len(), *replica, *claims),
            Op::Rest { answers } => return self.rest(*answers),
            Op::Want { .. } | Op::Repeat(_) => {}
        }
        Ok(())
    }

    /// The end: everything arrives and is answered, and then there is nothing left to say.
    pub(crate) fn finish(&mut self) -> Outcome {
        self.client.mood = Mood::Willing;
        self.publish(&[], false);
        self.rest(false)?;
        self.rest(true)?;
        let said = self.said.len();
        self.publish(&[], false);
        for at in 0..TYPES {
            if self.client.begun(at) {
                let ask = self.client.repeat(at);
                self.line(at).up.push_back(ask);
            }
        }
        self.rest(true)?;
        let replies = self.said[said..].iter();
        match replies
            .filter(|said| matches!(said, Said::Reply(_)))
            .count()
        {
            0 => Ok(()),
            _ => Err("it goes on".to_owned()),
        }
    }

    /// Whether the variant has the type.
    fn has(&self, at: usize) -> bool {
        let virtual_hosts = at == TYPES - 1;
        self.shape.variant == Variant::Delta || !virtual_hosts
    }

    fn line(&mut self, at: usize) -> &mut Line {
        let line = if self.shape.aggregated { 0 } else { at };
        &mut self.lines[line]
    }

    fn send(&mut self, ask: Ask) {
        self.line(ask.at).up.push_back(ask);
    }

    fn open(&self, line: usize, store: usize, before: Option<Line>) -> Line {
        let rules = Rules {
            variant: self.shape.variant,
            aggregated: self.shape.aggregated,
            max_unacked: self.shape.max_unacked,
            whole: !self.shape.cut,
        };
        let scope = match self.shape.aggregated {
            true => Scope::Aggregated,
            false => Scope::Single(ResourceTypes::well_known().get(&KINDS[line].url)),
        };
        let store = (store, &self.stores[store]);
        Line::open(scope, &self.config, store, rules, before)
    }

    fn publish(&mut self, edits: &[Edit], rebuild: bool) {
        let before = self.published.clone();
        for edit in edits {
            for number in edit.from..edit.from + edit.count {
                match edit.content.map(|content| self.shape.possible(content)) {
                    Some(content) => drop(self.published.insert((edit.at, number), content)),
                    None => drop(self.published.remove(&(edit.at, number))),
                }
            }
        }
        for store in &mut self.stores {
            store.publish(&before, &self.published, rebuild);
        }
        for line in &mut self.lines {
            if let Some((generation, contents)) = self.stores[line.store].newest() {
                line.judge().published(Some(&before), generation, &contents);
            }
        }
    }

    fn forge(&mut self, at: usize, nonce: Forged, rejects: bool) {
        if !self.client.begun(at) {
            return;
        }
        let mut ask = self.client.repeat(at);
        ask.rejects = rejects;
        ask.nonce = match nonce {
            Forged::Foreign => "x17".to_owned(),
            Forged::Future => "1000000".to_owned(),
            Forged::Old(nonce) if !self.client.awaits(nonce) => nonce.to_string(),
            Forged::Old(_) => return,
        };
        self.send(ask);
    }

    fn handle(&mut self, count: usize) -> Outcome {
        for line in &mut self.lines {
            for _ in 0..count {
                let Some(ask) = line.handle(&self.versions)? else {
                    break;
                };
                self.said.push(Said::Ask(ask));
            }
        }
        Ok(())
    }

    fn serve(&mut self, count: usize) -> Outcome {
        for line in &mut self.lines {
            let store = &self.stores[line.store];
            for _ in 0..count {
                let Some(reply) = line.serve(self.now, store)? else {
                    break;
                };
                let key = (reply.at, reply.version.clone());
                let all = line.judge().everything(reply.at, store);
                self.versions.extend(all.map(|all| (key, all)));
                self.said.push(Said::Reply(reply));
            }
        }
        Ok(())
    }

    fn read(&mut self, count: usize) -> usize {
        let mut read = 0;
        for line in &mut self.lines {
            let arrived = count.min(line.down.len());
            read += arrived;
            line.down
                .drain(..arrived)
                .for_each(|reply| self.client.read(&reply));
        }
        read
    }

    /// Carries everything until both sides are silent.
    fn flow(&mut self, answers: bool) -> Outcome {
        for _ in 0..1000 {
            self.handle(usize::MAX)?;
            self.serve(usize::MAX)?;
            let mut moved = self.read(usize::MAX);
            for at in (0..TYPES).filter(|_| answers) {
                while let Some(ask) = self.client.answer(at, 0) {
                    self.send(ask);
                    moved += 1;
                }
            }
            if moved == 0 && self.lines.iter().all(|line| line.up.is_empty()) {
                return Ok(());
            }
        }
        Err("a livelock".to_owned())
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        let due = |world: &Self| {
            let timeouts = world.lines.iter().filter_map(Line::timeout);
            timeouts.min().filter(|at| *at <= until)
        };
        while let Some(at) = due(self) {
            self.now = self.now.max(at);
            for line in &mut self.lines {
                line.expire(self.now);
            }
        }
        self.now = until;
    }

    fn reconnect(&mut self, line: usize, replica: bool, claims: bool) {
        let before = self.lines.remove(line);
        let same = !replica;
        let store = if same { before.store } else { 1 - before.store };
        let opened = self.open(line, store, Some(before));
        self.lines.insert(line, opened);
        for at in 0..TYPES {
            let here = self.shape.aggregated || at == line;
            if here && self.client.begun(at) {
                let ask = self.client.resume(at, claims, same);
                ask.into_iter().for_each(|ask| self.send(ask));
            }
        }
    }

    fn rest(&mut self, answers: bool) -> Outcome {
        for _ in 0..4 {
            self.flow(answers)?;
            self.pass(Duration::from_secs(6));
        }
        self.flow(answers)?;
        if !self.lines.iter().all(Line::is_at_rest) {
            return Err("something waits for ever".to_owned());
        }
        if self.stores[0].newest().is_none() {
            return Ok(());
        }
        self.client.check(&self.published, self.shape.size)
    }
}
