//! Whether a session that has nothing more to say has said everything.

use std::time::Duration;

use portolan_engine::Variant;

use super::told::{Must, Told, Type};
use super::{Distrust, Judge, UNREAD};
use crate::content::{Contents, KINDS, Missing, TYPES, is_referenced, of_type};

impl Judge {
    /// `contents` are published now as this generation, in place of `before`.
    pub(crate) fn published(
        &mut self,
        before: Option<&Contents>,
        generation: u64,
        contents: &Contents,
    ) {
        for at in 0..TYPES {
            // A turn may still look at the one before, and find that a name needs no answer.
            let looked_at = before.into_iter();
            let needless = looked_at.flat_map(|before| self.needless(at, before));
            let needless: Vec<_> = needless.collect();
            let tells_removals = self.tells_removals(at);
            let ty = &mut self.types[at];
            ty.must.retain(|number, _| !needless.contains(number));
            // If no turn has looked at it, they are answered after all.
            ty.may.extend(needless);
            // Where nothing is said of what is gone, or not the client's any more, its return is news.
            ty.lapse_uncovered(at, (generation, contents), tells_removals);
        }
    }

    /// What would need no answer if this were published.
    fn needless(&self, at: usize, contents: &Contents) -> Vec<usize> {
        let must = self.types[at].must.iter();
        let needless = must.filter(|(n, why)| self.needs_no_answer(at, **n, **why, contents));
        needless.map(|(number, _)| *number).collect()
    }

    /// The session has nothing to say now.
    pub(crate) fn silent(
        &mut self,
        now: Duration,
        generation: u64,
        contents: &Contents,
    ) -> Result<(), String> {
        let mut waits = false;
        let mut complete = true;
        for at in (0..TYPES)
            .filter(|at| self.types[*at].wants.begun)
            .collect::<Vec<_>>()
        {
            self.check_owed(at, contents)?;
            let changed = self.untold(at, contents);
            let tells_removals = self.tells_removals(at);
            let ty = &mut self.types[at];
            ty.lapse_uncovered(at, (generation, contents), tells_removals);
            ty.may.clear();
            ty.may_all = false;
            ty.begins = false;
            ty.must.clear();
            ty.must_speak = false;
            ty.has_something = false;
            ty.claimed = None;
            ty.batches.iter_mut().for_each(|b| b.released = false);
            ty.distrust = Distrust::default();
            let Some(number) = changed else {
                continue;
            };
            let unread = ty
                .last_changed
                .is_some_and(|(nonce, sent)| self.read < nonce && now < sent + UNREAD);
            let independent = KINDS[at].independent;
            if !unread && (independent || !waits) {
                let url = &KINDS[at].url;
                return Err(format!("{url} {number} changed and waits for nothing"));
            }
            waits |= !independent;
            complete = false;
        }
        self.turns.clear();
        self.check_settled(complete, generation, contents)
    }

    /// A name of which the client has not been told what there is.
    fn untold(&self, at: usize, contents: &Contents) -> Option<usize> {
        let changed = self.types[at].changed(at, contents);
        changed.into_iter().find(|number| {
            contents
                .get(&(at, *number))
                .is_some_and(|content| self.types[at].wants.covers(at, *number, *content))
                || self.tells_removals(at)
        })
    }

    /// What must be answered waits for nothing.
    fn check_owed(&self, at: usize, contents: &Contents) -> Result<(), String> {
        let (ty, url) = (&self.types[at], &KINDS[at].url);
        let has_it = ty.claims_all(at, contents);
        if ty.must_speak && !has_it {
            return Err(format!("{url}: a request is not answered"));
        }
        for (number, why) in &ty.must {
            let looked_at = self.turns.iter().map(|turn| &**turn);
            let mut looked_at = looked_at.chain([contents]);
            if !looked_at.any(|seen| self.needs_no_answer(at, *number, *why, seen)) {
                return Err(format!("{url} {number} is not answered: {why:?}"));
            }
        }
        Ok(())
    }

    fn needs_no_answer(&self, at: usize, number: usize, why: Must, contents: &Contents) -> bool {
        let exists = contents.get(&(at, number)).copied();
        match (why, exists) {
            (Must::GivenUp, _) => false,
            (Must::Lacked, Some(content)) => {
                self.types[at].told.get(&number) == Some(&Told::Has(content))
            }
            (Must::Reanswer, Some(content)) => content.quality.is_error(),
            (_, Some(_)) => false,
            (Must::Reanswer, None) => true,
            (Must::Asked | Must::Lacked, None) => match KINDS[at].missing {
                _ if self.rules.variant == Variant::Sotw => true,
                Missing::Silence => true,
                Missing::RemovedUnlessReferenced => is_referenced(contents, number),
                Missing::Removed | Missing::NoBody => false,
            },
        }
    }

    /// When all is said and answered, that was reported.
    fn check_settled(
        &self,
        complete: bool,
        generation: u64,
        contents: &Contents,
    ) -> Result<(), String> {
        let answered = self.types.iter().all(|ty| ty.in_flight.is_empty());
        if !complete || !answered || self.types.iter().all(|ty| !ty.wants.begun) {
            return Ok(());
        }
        let rejecting = (0..TYPES).any(|at| self.types[at].is_rejected(at, contents));
        match self.settled == Some((generation, rejecting)) {
            true => Ok(()),
            false => Err(format!("{:?}, not {generation} {rejecting}", self.settled)),
        }
    }
}

impl Type {
    /// What is there and not the client's any more, as an error under a wildcard, was not told to be gone; nor was, where
    /// that is told of others, an error that said as much.
    fn lapse_uncovered(
        &mut self,
        at: usize,
        (generation, contents): (u64, &Contents),
        tells_removals: bool,
    ) {
        let wants = &self.wants;
        let is_covered = |n: usize| {
            let content = contents.get(&(at, n));
            content.is_some_and(|content| wants.covers(at, n, *content))
        };
        let goes_untold = |told: &Told| match told {
            Told::Has(_) => !tells_removals || told.is_nothing(),
            _ => !tells_removals,
        };
        let untold = self.told.iter().filter(|(_, told)| goes_untold(told));
        let untold = untold.map(|(number, _)| *number);
        for number in untold.filter(|n| !is_covered(*n)) {
            self.lapsed.entry(number).or_insert(generation);
        }
    }

    /// Whether the client has rejected something that it is still to have.
    fn is_rejected(&self, at: usize, contents: &Contents) -> bool {
        let mut there = of_type(contents, at).filter(|(n, c)| self.wants.covers(at, *n, *c));
        there.any(|(number, _)| self.is_suspect(number))
    }
}
