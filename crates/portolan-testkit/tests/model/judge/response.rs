//! Whether there was a reason for a response.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_engine::Variant;

use super::told::{Batch, Must, Sent, Told, Touched, Type};
use super::{Judge, Last, UNREAD};
use crate::content::{CDS, Content, Contents, EDS, KINDS, Missing, assignment, of_type};
use crate::message::Reply;

impl Judge {
    pub(crate) fn response(
        &mut self,
        reply: &Reply,
        generation: u64,
        contents: &Arc<Contents>,
    ) -> Result<(), String> {
        let at = reply.at;
        self.turns.push(Arc::clone(contents));
        if reply.nonce <= std::mem::replace(&mut self.newest, reply.nonce) {
            return Err("nonces grow (C-090)".to_owned());
        }
        if !self.types[at].wants.begun {
            return Err("the type was not asked for (C-012)".to_owned());
        }
        if reply.version.is_empty() {
            return Err("a response has a version (C-092)".to_owned());
        }
        let told: Touched = reply.told().collect();
        if told.len() < reply.told().count() {
            return Err("a name is at most once in a response (C-374, C-375)".to_owned());
        }
        self.check_pace(reply, generation)?;
        let full_state = self.rules.variant == Variant::Sotw && KINDS[at].full_state;
        let changed = self.types[at].changed(at, contents);
        let (fresh, touched) = match full_state {
            true => self.check_full_state(reply, &changed, contents)?,
            false => self.check_partial(reply, &told, &changed, (generation, contents))?,
        };
        if !self.rules.whole {
            self.types[at].release(&changed);
        }
        self.note(reply, generation, touched, full_state);
        if at == CDS {
            self.owe_endpoints(reply.nonce, &fresh);
        }
        self.last = Some(Last { at, generation });
        Ok(())
    }

    /// A change waits until the one before it is read.
    fn check_pace(&mut self, reply: &Reply, generation: u64) -> Result<(), String> {
        if !reply.changed {
            return Ok(());
        }
        let read = self.read.max(self.read_at_most);
        let last = self.types[reply.at].last_changed;
        let waits = last.is_some_and(|(nonce, at)| read < nonce && reply.time < at + UNREAD);
        let part = !self.rules.whole
            && self.last.as_ref().is_some_and(|last| last.at == reply.at)
            && self
                .last
                .as_ref()
                .is_some_and(|last| last.generation == generation);
        self.types[reply.at].last_changed = Some((reply.nonce, reply.time));
        match waits && !part {
            true => Err("the change before it is unread".to_owned()),
            false => Ok(()),
        }
    }

    fn check_full_state(
        &self,
        reply: &Reply,
        changed: &BTreeSet<usize>,
        contents: &Contents,
    ) -> Result<(Vec<(usize, Content)>, Touched), String> {
        let at = reply.at;
        let ty = &self.types[at];
        let all = of_type(contents, at).filter(|(n, c)| ty.wants.covers(at, *n, *c));
        if !all.eq(reply.resources.iter().copied()) || reply.told().any(|(_, c)| c.is_none()) {
            return Err("it does not hold exactly what there is (C-124)".to_owned());
        }
        if ty.claims_all(at, contents) {
            return Err("the client has this version (C-086)".to_owned());
        }
        let exists = |number: &usize| contents.contains_key(&(at, *number));
        let asked = |number: &usize| exists(number) || changed.contains(number);
        let owed = ty.may_all || ty.must_speak || ty.may.iter().any(asked);
        if !owed && (changed.is_empty() || !reply.changed) {
            return Err("the same again".to_owned());
        }
        let mut touched: BTreeSet<_> = changed.clone();
        touched.extend(ty.batches.iter().flat_map(Batch::members));
        let fresh = reply.resources.iter().filter(|(n, _)| touched.contains(n));
        let fresh = fresh.copied().collect();
        // Whoever rejects an answer that he asked for as a whole has rejected all of it.
        if ty.may_all {
            touched.extend(reply.resources.iter().map(|(n, _)| n));
        }
        let content = |n: usize| reply.resources.iter().find(|r| r.0 == n).map(|r| r.1);
        Ok((
            fresh,
            touched.into_iter().map(|n| (n, content(n))).collect(),
        ))
    }

    fn check_partial(
        &self,
        reply: &Reply,
        told: &Touched,
        changed: &BTreeSet<usize>,
        (generation, contents): (u64, &Contents),
    ) -> Result<(Vec<(usize, Content)>, Touched), String> {
        let at = reply.at;
        let ty = &self.types[at];
        if self.rules.variant == Variant::Sotw && told.values().any(Option::is_none) {
            return Err("state of the world knows no removals".to_owned());
        }
        let may_be_empty = self.rules.variant == Variant::Delta && ty.must_speak;
        if told.is_empty() && !may_be_empty {
            return Err("it says nothing".to_owned());
        }
        // Behind clusters that come anew it is sent their endpoints all the same.
        let again = told.keys().all(|n| ty.must.get(n) == Some(&Must::Reanswer));
        if ty.claims_all(at, contents) && !again {
            return Err("the client has this version (C-086)".to_owned());
        }
        let returned = told.keys().filter(|n| ty.has_returned(n, generation));
        let returned: BTreeSet<_> = returned.copied().collect();
        let is_hit = |batch: &&Batch| {
            let mut changed = changed
                .iter()
                .chain(&returned)
                .filter(|n| batch.contains(**n));
            changed.any(|n| !self.rules.whole || told.contains_key(n))
        };
        let hit: Vec<_> = ty.batches.iter().filter(is_hit).collect();
        let changed = changed.iter().filter(|n| told.contains_key(n));
        let changed: BTreeSet<_> = changed.copied().collect();
        for (number, content) in told {
            self.check_name(at, *number, *content, contents)?;
            let lacked = content.is_none() && ty.must.get(number) == Some(&Must::Lacked);
            let owed = ty.may_all || ty.may.contains(number) || lacked;
            let released = ty.batches.iter().filter(|batch| batch.released);
            let mut hit = released.chain(hit.iter().copied());
            let mate = hit.any(|batch| batch.contains(*number));
            if !owed && !mate && !returned.contains(number) && !changed.contains(number) {
                return Err(format!("{number} has no reason"));
            }
            if !owed && !mate && !reply.changed && !ty.begins {
                return Err(format!("{number} was not asked for"));
            }
        }
        if self.rules.whole && reply.changed && changed.is_empty() && returned.is_empty() {
            return Err("nothing changed".to_owned());
        }
        if let Some(number) = self
            .rules
            .whole
            .then(|| self.left_behind(at, &hit, told, (&changed, &returned), contents))
            .flatten()
        {
            return Err(format!(
                "{number} was rejected with something that changed (C-197)"
            ));
        }
        let fresh = reply.resources.iter();
        let fresh = fresh.filter(|(n, _)| changed.contains(n) || ty.is_suspect(*n));
        let fresh = fresh.copied().collect();
        let mut touched = told.clone();
        touched.retain(|number, _| !reply.bodyless.contains(number));
        Ok((fresh, touched))
    }

    /// Whether what is said of a name is true and concerns the client.
    fn check_name(
        &self,
        at: usize,
        number: usize,
        content: Option<Content>,
        contents: &Contents,
    ) -> Result<(), String> {
        let ty = &self.types[at];
        let given_up = ty.must.get(&number) == Some(&Must::GivenUp);
        if let Some(content) = content {
            return match ty.wants.covers(at, number, content) {
                true => Ok(()),
                false => Err(format!("{number} is not wanted (C-151)")),
            };
        }
        let exists = contents.get(&(at, number));
        if exists.is_some_and(|content| ty.wants.covers(at, number, *content)) {
            return Err(format!("{number} exists"));
        }
        if !ty.wants.covers_name(number) {
            return Err(format!("{number} is not wanted (C-151)"));
        }
        match KINDS[at].missing {
            Missing::Silence if !given_up => Err(format!("{number}: it is not told of")),
            _ => Ok(()),
        }
    }

    /// What was rejected together with something that changed, and is not sent with it.
    fn left_behind(
        &self,
        at: usize,
        hit: &[&Batch],
        told: &Touched,
        (changed, returned): (&BTreeSet<usize>, &BTreeSet<usize>),
        contents: &Contents,
    ) -> Option<usize> {
        let ty = &self.types[at];
        // Where nothing is said of what is gone, that is no change. Who gives it up is told of it alone.
        let is_change = |n: &&usize| {
            let gone = !contents.contains_key(&(at, **n));
            let given_up = ty.must.get(*n) == Some(&Must::GivenUp);
            !(gone && given_up) || self.tells_removals(at)
        };
        let counts = |batch: &&&Batch| {
            let mut news = changed.iter().chain(returned).filter(is_change);
            news.any(|n| batch.contains(*n))
        };
        let hit = hit.iter().filter(counts);
        let mut members = hit.flat_map(|batch| batch.members());
        members.find(|number| {
            let exists = contents.get(&(at, *number));
            let exists = exists.filter(|content| ty.wants.covers(at, *number, **content));
            let tells = self.tells_removals(at) && ty.wants.covers_name(*number);
            (exists.is_some() || tells) && !told.contains_key(number)
        })
    }

    pub(super) fn tells_removals(&self, at: usize) -> bool {
        match self.rules.variant {
            Variant::Sotw => KINDS[at].full_state,
            _ => KINDS[at].missing != Missing::Silence,
        }
    }

    fn note(&mut self, reply: &Reply, generation: u64, touched: Touched, full_state: bool) {
        let whole = self.rules.whole || full_state;
        let ty = &mut self.types[reply.at];
        ty.newest = Some(reply.nonce);
        ty.distrust = super::Distrust::default();
        ty.claimed = None;
        ty.must_speak = false;
        ty.has_something = false;
        if whole {
            ty.may_all = false;
            ty.begins = false;
        }
        if full_state {
            ty.told.clear();
            ty.may.clear();
            ty.must.clear();
        }
        for (number, content) in reply.told() {
            ty.told.insert(number, Told::of(content));
            ty.lapsed.remove(&number);
            // Parts that were made before it was asked for come before the answer.
            if whole {
                ty.may.remove(&number);
            }
            ty.must.remove(&number);
        }
        // A client that asked is answered by it; one that has the host keeps that until it is told that it is gone.
        let bodyless = reply.bodyless.iter();
        ty.lapsed
            .extend(bodyless.map(|number| (*number, generation)));
        for number in touched.keys() {
            ty.told_by.insert(*number, reply.nonce);
        }
        // What was given up may be told though it is not wanted.
        ty.prune(reply.at);
        ty.clear(&touched);
        ty.in_flight.push_back(Sent {
            nonce: reply.nonce,
            touched,
            acked: false,
        });
    }

    /// Endpoints of new and changed clusters are sent again behind them, asked for or not (C-260).
    fn owe_endpoints(&mut self, nonce: u64, fresh: &[(usize, Content)]) {
        if !self.rules.aggregated {
            return;
        }
        for (number, content) in fresh {
            let Some(child) = assignment(*number, *content) else {
                continue;
            };
            self.types[CDS].children.push((child, nonce));
            let endpoints = &mut self.types[EDS];
            if endpoints.wants.begun && endpoints.wants.covers_name(child) {
                endpoints.may.insert(child);
                endpoints.must.entry(child).or_insert(Must::Reanswer);
            }
        }
    }
}

impl Type {
    fn release(&mut self, changed: &BTreeSet<usize>) {
        for batch in &mut self.batches {
            batch.released |= changed.iter().any(|n| batch.contains(*n));
        }
    }

    /// Names of which the client was told another thing than there is, or nothing.
    pub(super) fn changed(&self, at: usize, contents: &Contents) -> BTreeSet<usize> {
        let there: BTreeMap<_, _> = of_type(contents, at)
            .filter(|(n, c)| self.wants.covers(at, *n, *c))
            .collect();
        let new = there
            .iter()
            .filter(|(n, c)| self.told.get(n) != Some(&Told::Has(**c)));
        let had = self.told.iter().filter(|(_, told)| !told.is_nothing());
        let gone = had.filter(|(n, _)| !there.contains_key(n));
        new.map(|(n, _)| *n).chain(gone.map(|(n, _)| *n)).collect()
    }
}
