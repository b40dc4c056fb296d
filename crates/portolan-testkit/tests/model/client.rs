//! A correct client, and what it has.

use std::collections::{BTreeMap, BTreeSet};

use portolan_engine::Variant;

use crate::content::{Content, Contents, KINDS, Missing, Quality, TYPES};
use crate::message::{Ask, Reply};
use crate::ops::{Mood, Names};
use crate::wants::Wants;

#[derive(Debug)]
pub(crate) struct Client {
    variant: Variant,
    pub(crate) mood: Mood,
    types: [Memory; TYPES],
}

#[derive(Debug, Default)]
struct Memory {
    wants: Wants,
    /// Whether `*` is among the names.
    star: bool,
    /// Whether everything was wanted, and nothing by name, since the stream began.
    always_everything: bool,
    nonce: String,
    /// The version that was last accepted.
    version: String,
    /// Whether something was rejected that the version does not tell of.
    in_doubt: bool,
    held: BTreeMap<usize, Content>,
    /// Names that were given up on this stream. What is under way of them may come after a wildcard began, and nobody
    /// would say that it is gone.
    given_up: BTreeSet<usize>,
    /// What it was last told of a name, where it did not apply that.
    refused: BTreeMap<usize, Option<Content>>,
    /// Responses that it has read and not answered: nonce, version, whether it rejects them.
    pending: Vec<(String, String, bool)>,
}

impl Client {
    pub(crate) fn new(variant: Variant) -> Self {
        Self {
            variant,
            mood: Mood::Willing,
            types: Default::default(),
        }
    }

    pub(crate) fn begun(&self, at: usize) -> bool {
        self.types[at].wants.begun
    }

    /// Whether it is still to answer a response.
    pub(crate) fn awaits(&self, nonce: u64) -> bool {
        let mut pending = self.types.iter().flat_map(|memory| &memory.pending);
        pending.any(|(pending, ..)| *pending == nonce.to_string())
    }

    /// Asks for exactly `names`, acknowledging what is newest; `afresh` without a nonce.
    pub(crate) fn ask(&mut self, at: usize, names: &Names, afresh: bool) -> Ask {
        let memory = &mut self.types[at];
        memory.star = names.star;
        let mut ask = memory.repeat(at);
        ask.names.clone_from(&names.numbers);
        if afresh {
            ask.nonce = String::new();
        } else if let Some(newest) = memory.pending.pop_if(|p| p.0 == ask.nonce) {
            memory.pending.clear();
            ask.rejects = memory.settle(newest);
        }
        memory.want(|wants| wants.replace(&ask));
        ask
    }

    /// Subscribes to some names and gives others up, with an acknowledgement where there is one to make.
    pub(crate) fn change(&mut self, at: usize, sub: &Names, unsub: &Names, answer: bool) -> Ask {
        let memory = &mut self.types[at];
        let mut ask = Ask {
            at,
            names: sub.numbers.clone(),
            star: sub.star,
            unsub: unsub.numbers.clone(),
            unstar: unsub.star,
            ..Ask::default()
        };
        if answer && !memory.pending.is_empty() {
            let oldest = memory.pending.remove(0);
            ask.nonce.clone_from(&oldest.0);
            ask.rejects = memory.settle(oldest);
        }
        memory.want(|wants| wants.change(&ask));
        ask
    }

    /// Answers one of the responses that wait for it, in whatever order.
    pub(crate) fn answer(&mut self, at: usize, which: usize) -> Option<Ask> {
        let memory = &mut self.types[at];
        let which = which.checked_rem(memory.pending.len())?;
        let pending = memory.pending.remove(which);
        let mut ask = self.repeat(at);
        ask.nonce.clone_from(&pending.0);
        ask.rejects = self.types[at].settle(pending);
        Some(ask)
    }

    /// A request that says nothing new.
    pub(crate) fn repeat(&self, at: usize) -> Ask {
        match self.variant {
            Variant::Sotw => self.types[at].repeat(at),
            _ => Ask {
                at,
                ..Ask::default()
            },
        }
    }

    /// What is asked for first on a new stream, to a server that remembers the client or another.
    pub(crate) fn resume(&mut self, at: usize, claims: bool, same_server: bool) -> Option<Ask> {
        let kind = &KINDS[at];
        let memory = &mut self.types[at];
        let before = std::mem::take(&mut memory.wants);
        memory.pending.clear();
        memory.given_up.clear();
        memory.nonce.clear();
        let wanted = before.wildcard || !before.names.is_empty();
        let sotw = self.variant == Variant::Sotw;
        if !claims || !wanted || (sotw && memory.version.is_empty()) {
            memory.start_over();
        }
        if !wanted {
            return None;
        }
        let names = before.names.iter().copied().collect::<Vec<_>>();
        memory.star = before.wildcard && !(kind.legacy && names.is_empty());
        let mut ask = Ask {
            at,
            names,
            star: memory.star,
            ..Ask::default()
        };
        if sotw {
            // A version speaks of everything only if everything came with it and was applied.
            let everything = before.is_pure_wildcard();
            let doubt = memory.in_doubt && !same_server;
            if everything && (!memory.always_everything || doubt) {
                memory.version.clear();
            }
            ask.version.clone_from(&memory.version);
            memory.wants.replace(&ask);
        } else {
            // It has an error, which has no version.
            memory.held.retain(|_, c| !c.quality.is_error());
            ask.claims = memory.held.iter().map(|(n, c)| (*n, *c)).collect();
            memory.wants.change(&ask);
        }
        memory.always_everything = memory.wants.is_pure_wildcard();
        Some(ask)
    }

    pub(crate) fn read(&mut self, reply: &Reply) {
        let full_state = self.variant == Variant::Sotw && KINDS[reply.at].full_state;
        let mood = self.mood;
        let memory = &mut self.types[reply.at];
        let is = |quality| reply.resources.iter().any(|(_, c)| c.quality == quality);
        let applies = |number: usize, content: Option<Content>| {
            let good = content.is_none_or(|c| c.quality == Quality::Good || c.quality.is_error());
            good && !is(Quality::Garbled) && mood.applies(number)
        };
        let mut told: BTreeMap<_, _> = reply.told().collect();
        if full_state {
            let gone = memory.held.keys().filter(|n| !told.contains_key(*n));
            let gone: Vec<_> = gone.map(|n| (*n, None)).collect();
            told.extend(gone);
        }
        for (number, content) in told {
            match content {
                Some(_) if !memory.wants.covers_name(number) => continue,
                _ if !applies(number, content) => {
                    memory.refused.insert(number, content);
                    continue;
                }
                Some(content) => drop(memory.held.insert(number, content)),
                None => drop(memory.held.remove(&number)),
            }
            memory.refused.remove(&number);
        }
        let rejects = is(Quality::Bad) || is(Quality::Garbled) || mood != Mood::Willing;
        memory.nonce = reply.nonce.to_string();
        let pending = (memory.nonce.clone(), reply.version.clone(), rejects);
        memory.pending.push(pending);
        memory.in_doubt = rejects || (memory.in_doubt && !full_state);
    }

    /// Whether it has what it wants of `contents`.
    pub(crate) fn check(&self, contents: &Contents, size: usize) -> Result<(), String> {
        for at in (0..TYPES).filter(|at| self.begun(*at)) {
            let memory = &self.types[at];
            for number in (0..size).filter(|n| memory.wants.covers_name(*n)) {
                let published = contents.get(&(at, number)).copied();
                let covered = published.filter(|c| memory.wants.covers(at, number, *c));
                let held = memory.held.get(&number).copied();
                // Not to be found is to be gone (C-367).
                let held = held.filter(|c| c.quality != Quality::NotFound || covered.is_some());
                let refused = memory.refused.get(&number) == Some(&covered);
                let gone = covered.is_none() && memory.given_up.contains(&number);
                let told = covered.is_some() || self.is_told_absence(at, published.is_some());
                if held != covered && told && !refused && !gone {
                    let url = &KINDS[at].url;
                    return Err(format!("{url} {number}: has {held:?}, not {covered:?}"));
                }
            }
        }
        Ok(())
    }

    fn is_told_absence(&self, at: usize, exists: bool) -> bool {
        match self.variant {
            Variant::Sotw => KINDS[at].full_state && !exists,
            _ => KINDS[at].missing != Missing::Silence,
        }
    }
}

impl Memory {
    fn repeat(&self, at: usize) -> Ask {
        Ask {
            at,
            names: self.wants.names.iter().copied().collect(),
            star: self.star,
            nonce: self.nonce.clone(),
            version: self.version.clone(),
            ..Ask::default()
        }
    }

    /// Notes what becomes of a response; gives whether it is rejected.
    fn settle(&mut self, (_, version, rejects): (String, String, bool)) -> bool {
        if !rejects {
            self.version = version;
        }
        rejects
    }

    /// What is given up is dropped.
    fn want(&mut self, change: impl FnOnce(&mut Wants)) {
        let first = !self.wants.begun;
        let before = self.wants.names.clone();
        change(&mut self.wants);
        let wants = &self.wants;
        self.given_up.extend(before.difference(&wants.names));
        self.held.retain(|number, _| wants.covers_name(*number));
        self.refused.retain(|number, _| wants.covers_name(*number));
        self.always_everything = wants.is_pure_wildcard() && (first || self.always_everything);
    }

    fn start_over(&mut self) {
        self.held.clear();
        self.refused.clear();
        self.version.clear();
        self.in_doubt = false;
    }
}
