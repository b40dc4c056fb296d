//! What follows from a request.

use portolan_engine::Variant;

use super::told::{Must, Told, Touched};
use super::{Heard, Judge, REMEMBERED, Versions};
use crate::content::{CDS, EDS, KINDS};
use crate::message::Ask;
use crate::wants::Wants;

impl Judge {
    /// Hears a request; gives what the session has to report. Only the session knows which responses are parts of one
    /// answer, and so whether a rejection is `overtaken`.
    pub(crate) fn request(
        &mut self,
        ask: &Ask,
        versions: &Versions,
        overtaken: Option<bool>,
    ) -> Vec<Heard> {
        let mut heard = Vec::new();
        self.overtaken = overtaken.filter(|_| !self.rules.whole);
        let before = self.types[ask.at].wants.clone();
        match self.rules.variant {
            Variant::Sotw => self.sotw(ask, &before, versions, &mut heard),
            _ => self.delta(ask, &before, &mut heard),
        }
        let at = ask.at;
        let wants = &self.types[at].wants;
        let added: Vec<_> = wants.names.difference(&before.names).copied().collect();
        let removed: Vec<_> = before.names.difference(&wants.names).copied().collect();
        if at == EDS {
            let children = self.types[CDS].children.iter();
            let asked = children.filter(|(child, _)| added.contains(child));
            let read = asked.map(|(_, nonce)| *nonce).max();
            self.read_at_most = self.read_at_most.max(read.unwrap_or(0));
        }
        let wildcard = wants.wildcard;
        if before.wildcard != wildcard || !added.is_empty() || !removed.is_empty() {
            heard.push(Heard::Interest {
                at,
                added,
                removed,
                wildcard,
            });
        }
        heard
    }

    fn sotw(&mut self, ask: &Ask, before: &Wants, versions: &Versions, heard: &mut Vec<Heard>) {
        let at = ask.at;
        let answered = self.types[at].newest.is_some();
        let fresh = !before.begun || (ask.nonce.is_empty() && answered);
        if !fresh && !ask.nonce.is_empty() {
            heard.extend(self.acknowledge_through(ask));
        }
        let ty = &mut self.types[at];
        ty.wants.replace(ask);
        let names = ty.wants.names.clone();
        let new: Vec<_> = names.difference(&before.names).copied().collect();
        let begins = ty.wants.wildcard && !before.wildcard;
        ty.prune(at);
        if fresh {
            let had = ty.told.values().any(|told| *told != Told::Gone);
            ty.told.clear();
            ty.must.clear();
            ty.answer_all(names.iter().copied());
            // An empty answer of a partial type would say nothing.
            ty.has_something |= had || !ask.version.is_empty();
            let has_something = ty.has_something && !names.is_empty();
            ty.must_speak = KINDS[at].full_state && (ty.wants.wildcard || has_something);
            let believed = !before.begun && ty.distrust.is_empty() && ty.wants.is_pure_wildcard();
            let claimed = versions.get(&(at, ask.version.clone()));
            ty.claimed = claimed.filter(|_| believed).cloned();
            let claims = ty.claimed.iter().flatten();
            ty.told = claims.map(|(n, c)| (*n, Told::Has(*c))).collect();
            ty.prune(at);
            return;
        }
        let wanted = if before.wildcard {
            false
        } else {
            !names.is_empty()
        };
        ty.must_speak &= ty.wants.wildcard || wanted;
        if begins || before.wildcard != ty.wants.wildcard || !new.is_empty() {
            ty.claimed = None;
        }
        ty.must.retain(|number, _| names.contains(number));
        for number in new {
            ty.must.insert(number, Must::Asked);
            ty.may.insert(number);
            if !before.wildcard {
                ty.told.remove(&number);
            }
        }
        if begins {
            ty.must_speak = KINDS[at].full_state;
            ty.may_all = true;
        }
    }

    fn delta(&mut self, ask: &Ask, before: &Wants, heard: &mut Vec<Heard>) {
        let at = ask.at;
        if before.begun && !ask.nonce.is_empty() {
            heard.extend(self.acknowledge_one(ask));
        }
        let ty = &mut self.types[at];
        ty.wants.change(ask);
        ty.prune(at);
        if !before.begun {
            self.delta_begins(ask);
            return;
        }
        let asked = ask.names.iter().filter(|n| !ask.unsub.contains(n));
        for number in asked {
            ty.must.insert(*number, Must::Asked);
            ty.may.insert(*number);
            if !before.wildcard && !before.names.contains(number) {
                ty.told.remove(number);
            }
        }
        if !ty.wants.wildcard {
            // The endpoints that a wildcard brought need not be sent again.
            let names = &ty.wants.names;
            ty.must
                .retain(|n, why| *why != Must::GivenUp && names.contains(n));
            ty.must_speak = false;
        }
        for number in before.names.difference(&ty.wants.names) {
            if ty.wants.wildcard {
                ty.must.insert(*number, Must::GivenUp);
                ty.may.insert(*number);
            } else {
                ty.must.remove(number);
                ty.may.remove(number);
            }
        }
        if ask.star && !ask.unstar {
            ty.must_speak = true;
            ty.may_all = true;
        }
    }

    fn delta_begins(&mut self, ask: &Ask) {
        let at = ask.at;
        // Endpoints that are asked for before their clusters belong to clusters that warm.
        let warms = at == EDS && !(self.rules.aggregated && self.types[CDS].wants.begun);
        let children = std::mem::take(&mut self.types[CDS].children);
        let ty = &mut self.types[at];
        let forgotten = ty.distrust.names.union(&ty.distrust.more).count() > REMEMBERED;
        let covered = |n: &usize| ty.wants.covers_name(*n);
        let claims: Vec<_> = ask.claims.iter().filter(|(n, _)| covered(n)).collect();
        let names = ty.wants.names.clone();
        let believed = !claims.is_empty() && !warms && !forgotten;
        for (number, content) in claims {
            let doubtful = ty.distrust.names.contains(number)
                || ty.distrust.more.contains(number)
                || !ty.wants.covers(at, *number, *content);
            let told = match doubtful || !believed {
                true => Told::Something,
                false => Told::Has(*content),
            };
            ty.told.insert(*number, told);
        }
        ty.begins = true;
        if believed {
            let lacked = names.iter().map(|number| (*number, Must::Lacked));
            ty.must.extend(lacked);
        } else {
            ty.answer_all(names.iter().copied());
            ty.must_speak = ty.wants.wildcard;
        }
        if at == EDS {
            ty.may_all |= children.len() > REMEMBERED;
            for (child, _) in children.iter().filter(|(n, _)| ty.wants.covers_name(*n)) {
                ty.must.insert(*child, Must::Reanswer);
                ty.may.insert(*child);
            }
        }
        self.types[CDS].children = children;
    }

    /// An acknowledgement of state of the world settles all older ones.
    fn acknowledge_through(&mut self, ask: &Ask) -> Option<Heard> {
        let (at, nonce) = (ask.at, ask.nonce.parse::<u64>().ok());
        let ty = &mut self.types[at];
        let stale = nonce.is_none() || nonce != ty.newest;
        let found = ty.in_flight.iter().position(|s| Some(s.nonce) == nonce);
        let Some(found) = found else {
            return stale.then_some(Heard::Stale(at));
        };
        let all: Vec<_> = ty.in_flight.drain(..=found).collect();
        // The rejection of everything is about all that was not accepted before.
        let whole = KINDS[at].full_state && ask.rejects;
        let rejected = all.iter().filter(|sent| whole || Some(sent.nonce) == nonce);
        let touched: Touched = rejected.flat_map(|sent| sent.touched.clone()).collect();
        let settled = all.last()?;
        self.read = self.read.max(settled.nonce);
        if !ask.rejects {
            return Some(Heard::Acked(at, settled.nonce));
        }
        let stale = self.overtaken.unwrap_or(stale);
        if !stale {
            ty.reject(touched, self.rules.max_unacked);
        } else if let Some(next) = ty.in_flight.front_mut().filter(|_| whole) {
            next.touched.extend(touched);
        }
        Some(Heard::Nacked {
            at,
            nonce: settled.nonce,
            stale,
        })
    }

    /// One of delta settles that response.
    fn acknowledge_one(&mut self, ask: &Ask) -> Option<Heard> {
        let (at, nonce) = (ask.at, ask.nonce.parse::<u64>().ok());
        let ty = &mut self.types[at];
        let stale = nonce.is_none() || nonce != ty.newest;
        let mut awaited = ty.in_flight.iter_mut().filter(|sent| !sent.acked);
        let Some(sent) = awaited.find(|sent| Some(sent.nonce) == nonce) else {
            return stale.then_some(Heard::Stale(at));
        };
        let stale = self.overtaken.unwrap_or(stale);
        let nonce = sent.nonce;
        sent.acked = true;
        self.read = self.read.max(nonce);
        if ask.rejects {
            let mut touched = std::mem::take(&mut sent.touched);
            touched.retain(|number, _| ty.told_by.get(number) == Some(&nonce));
            ty.reject(touched, self.rules.max_unacked);
            ty.in_flight.retain(|sent| sent.nonce != nonce);
        }
        ty.drop_acked();
        Some(match ask.rejects {
            true => Heard::Nacked { at, nonce, stale },
            false => Heard::Acked(at, nonce),
        })
    }
}
