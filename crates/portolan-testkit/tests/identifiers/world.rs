//! A client, a server, and what is published.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_cache::{LinearCache, LinearCacheWriter};
use portolan_core::well_known::VIRTUAL_HOST;
use portolan_core::{ResourceError, TypeUrl};
use portolan_engine::Response;
use portolan_testkit::{Pair, PlainClient, Setup, Shelf};

use crate::Op;
use crate::universe::{Asked, COUNT, Content, identifiers, meant, name, resource};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Shelf,
    Linear,
}

enum Store {
    Shelf(Shelf),
    Linear(LinearCacheWriter),
}

pub(crate) struct World {
    type_url: TypeUrl,
    store: Store,
    pair: Pair<PlainClient>,
    published: BTreeMap<usize, Content>,
    /// What the client wants, in canonical form.
    wants: BTreeSet<String>,
    wildcard: bool,
    held: BTreeMap<usize, Content>,
    /// What the client has from an earlier stream. If it had it by an alias alone, nothing is said of it where there are no
    /// aliases any more, nor where it has lost that alias: nobody knows by which.
    may_linger: BTreeSet<usize>,
    /// Whether there were no aliases at some time since all was said.
    was_without_aliases: bool,
    /// What there was at some time since then.
    was_published: BTreeSet<usize>,
    /// What was given up on this stream. What was under way of it may come after something else covers it, and nobody
    /// would say that it is gone.
    given_up: BTreeSet<String>,
    read: usize,
    /// What happened since all was said, if it was one thing.
    since: Since,
}

enum Since {
    Nothing,
    One(Op),
    More,
}

type Outcome = Result<(), String>;

impl World {
    pub(crate) fn new(type_url: TypeUrl, source: Source, cut: bool) -> Self {
        let config = match cut {
            true => Setup::default_config().with_max_response(400),
            false => Setup::default_config(),
        };
        let setup = Setup::default().with_config(config.with_legacy_wildcard(false));
        let client = PlainClient::delta();
        let (store, pair) = match source {
            Source::Shelf => {
                let shelf = Shelf::new();
                let pair = Pair::open(client, &shelf, setup);
                (Store::Shelf(shelf), pair)
            }
            Source::Linear => {
                let (writer, reader) = LinearCache::new(type_url.clone()).split();
                let published = writer.replace_all([]);
                let _ = published.expect("nothing cannot clash");
                let pair = Pair::open(client, &reader, setup);
                (Store::Linear(writer), pair)
            }
        };
        Self {
            type_url,
            store,
            pair,
            published: BTreeMap::new(),
            wants: BTreeSet::new(),
            wildcard: false,
            held: BTreeMap::new(),
            may_linger: BTreeSet::new(),
            was_without_aliases: true,
            was_published: BTreeSet::new(),
            given_up: BTreeSet::new(),
            read: 0,
            since: Since::Nothing,
        }
    }

    pub(crate) fn transcript(&self) -> String {
        self.pair.transcript().lines().join("\n")
    }

    pub(crate) fn apply(&mut self, op: &Op) -> Outcome {
        self.pair.note(format!("{op:?}"));
        self.since = match (&self.since, op) {
            (_, Op::Rest) => return self.rest(),
            (Since::Nothing, op) => Since::One(op.clone()),
            _ => Since::More,
        };
        match op {
            Op::Publish(edits) => self.publish(edits),
            Op::Ask {
                subscribe,
                unsubscribe,
            } => self.ask(subscribe, unsubscribe),
            Op::Drive => self.pair.drive(),
            Op::Advance(ms) => self.pair.advance(Duration::from_millis(*ms)),
            Op::Reading(on) => self.pair.set_reading(*on),
            Op::Room(is_some) => self.pair.set_window(if *is_some { usize::MAX } else { 0 }),
            Op::Acks(on) => self.pair.client.set_acks(*on),
            Op::Reconnect { claims } => self.reconnect(*claims),
            Op::Rest => {}
        }
        let before = self.held.clone();
        self.take_responses(&before)
    }

    fn publish(&mut self, edits: &[(usize, Option<Content>)]) {
        for (number, content) in edits {
            match content {
                Some(content) => drop(self.published.insert(*number, *content)),
                None => drop(self.published.remove(number)),
            }
        }
        self.was_without_aliases |= self.is_without_aliases();
        self.was_published.extend(self.published.keys());
        let url = &self.type_url;
        let put = |(number, content): &(usize, Option<Content>)| {
            let put = content.map(|content| resource(url, *number, content));
            (name(url, *number), put)
        };
        let edits = edits.iter().map(put);
        match &self.store {
            Store::Shelf(shelf) => drop(shelf.edit(|snapshot| {
                for (name, put) in edits {
                    match put {
                        Some(put) => drop(snapshot.upsert(put).expect("it has a name")),
                        None => drop(snapshot.remove(url, &name)),
                    }
                }
            })),
            Store::Linear(writer) => {
                let published = writer.batch(|batch| {
                    for (name, put) in edits {
                        match put {
                            Some(put) => drop(batch.upsert(put)?),
                            None => drop(batch.remove(name)),
                        }
                    }
                    Ok::<_, ResourceError>(())
                });
                let _ = published.expect("it has a name");
            }
        }
    }

    fn ask(&mut self, subscribe: &[Asked], unsubscribe: &[Asked]) {
        let texts =
            |asked: &[Asked]| -> Vec<_> { asked.iter().map(|a| a.text(&self.type_url)).collect() };
        let (sub, unsub) = (texts(subscribe), texts(unsubscribe));
        let request = PlainClient::delta_request(
            &self.type_url,
            sub.iter().map(String::as_str),
            unsub.iter().map(String::as_str),
        );
        self.pair.client.send(request);
        let before = self.wants.clone();
        for asked in subscribe {
            self.wildcard |= *asked == Asked::Star;
            if *asked != Asked::Star {
                self.wants.insert(meant(&self.type_url, *asked));
            }
        }
        for asked in unsubscribe {
            self.wildcard &= *asked != Asked::Star;
            let given_up = meant(&self.type_url, *asked);
            // With what it gives up a client may drop what it has of it, whatever else it holds.
            self.given_up.insert(given_up.clone());
            if self.wants.remove(&given_up) && before.contains(&given_up) {
                let url = &self.type_url;
                self.held.retain(|number, content| {
                    !identifiers(url, *number, *content).contains(&given_up)
                });
            }
        }
        self.drop_unwanted();
    }

    fn drop_unwanted(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.retain(|number, content| self.covers(*number, *content));
        self.held = held;
        let held = &self.held;
        self.may_linger.retain(|number| held.contains_key(number));
    }

    /// Comes back with what it wants, if it wants anything.
    fn reconnect(&mut self, claims: bool) {
        self.pair.connect();
        self.given_up.clear();
        if !claims {
            self.held.clear();
        }
        self.may_linger = self.held.keys().copied().collect();
        if self.wants.is_empty() && !self.wildcard {
            self.held.clear();
            return;
        }
        let names = self.wants.iter().map(String::as_str);
        let names = names.chain(self.wildcard.then_some("*"));
        let versions: Vec<_> = self
            .held
            .iter()
            .map(|(number, content)| {
                let held = resource(&self.type_url, *number, *content).build();
                let held = held.expect("it was published");
                (held.name().to_string(), held.version().to_string())
            })
            .collect();
        let versions = versions.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        self.pair.client.resume(&self.type_url, names, versions);
    }

    /// Reads what came.
    fn take_responses(&mut self, before: &BTreeMap<usize, Content>) -> Outcome {
        let received = self.pair.client.received();
        let came: Vec<Response> = received[self.read..].to_vec();
        self.read = received.len();
        for response in came {
            for sent in response.resources.iter() {
                let number = self.number(sent.name())?;
                let content = (0..3).flat_map(all).find(|content| {
                    let candidate = resource(&self.type_url, number, *content).build();
                    candidate.is_ok_and(|candidate| candidate.same_content(sent))
                });
                let content = content.ok_or("it was never published")?;
                self.check_reason(number, content, before)?;
                match self.covers(number, content) {
                    true => self.held.insert(number, content),
                    false => self.held.remove(&number),
                };
                self.may_linger.remove(&number);
            }
            for gone in response.removed.iter().chain(&response.bodyless) {
                if let Ok(number) = self.number(gone) {
                    self.held.remove(&number);
                    self.may_linger.remove(&number);
                }
            }
        }
        Ok(())
    }

    /// Where one thing happened since all was said, nothing is sent that has nothing to do with it.
    fn check_reason(
        &self,
        number: usize,
        content: Content,
        before: &BTreeMap<usize, Content>,
    ) -> Outcome {
        let is_right = match &self.since {
            Since::One(Op::Publish(_)) => before.get(&number) != Some(&content),
            Since::One(Op::Ask {
                subscribe,
                unsubscribe,
            }) => {
                let mut asked = subscribe.iter().chain(unsubscribe);
                let identifiers = identifiers(&self.type_url, number, content);
                asked.any(|a| *a == Asked::Star || identifiers.contains(&meant(&self.type_url, *a)))
            }
            Since::One(Op::Reconnect { .. }) | Since::More | Since::Nothing => true,
            Since::One(_) => false,
        };
        match is_right {
            true => Ok(()),
            false => Err(format!("{number} comes for no reason")),
        }
    }

    fn rest(&mut self) -> Outcome {
        let before = self.held.clone();
        self.pair.set_reading(true);
        self.pair.set_window(usize::MAX);
        self.pair.client.set_acks(true);
        for _ in 0..4 {
            self.pair.advance(Duration::from_secs(6));
        }
        self.take_responses(&before)?;
        self.since = Since::Nothing;
        let silent = self.was_without_aliases && self.type_url != VIRTUAL_HOST;
        for number in 0..COUNT {
            let published = self.published.get(&number).copied();
            let wanted = published.filter(|content| self.covers(number, *content));
            let held = self.held.get(&number).copied();
            let was_given_up = held.is_some_and(|content| {
                let identifiers = identifiers(&self.type_url, number, content);
                !identifiers.is_disjoint(&self.given_up)
            });
            let lingers = wanted.is_none() && was_given_up
                || wanted.is_none()
                    && self.may_linger.contains(&number)
                    && (silent || self.was_published.contains(&number));
            // A client does not see what is on demand.
            let seen = |c: Option<Content>| c.map(|c| (c.revision, c.aliases));
            if seen(held) != seen(wanted) && !lingers {
                return Err(format!("{number}: has {held:?}, not {wanted:?}"));
            }
            if wanted.is_none() {
                self.held.remove(&number);
            }
        }
        self.given_up.clear();
        self.may_linger.clear();
        self.was_without_aliases = self.is_without_aliases();
        self.was_published = self.published.keys().copied().collect();
        Ok(())
    }

    fn is_without_aliases(&self) -> bool {
        !self.published.values().any(|c| c.aliases.contains(&true))
    }

    fn covers(&self, number: usize, content: Content) -> bool {
        let identifiers = identifiers(&self.type_url, number, content);
        (self.wildcard && !content.on_demand)
            || identifiers
                .iter()
                .any(|identifier| self.wants.contains(identifier))
    }

    /// The number of a name, however it is written.
    fn number(&self, written: &str) -> Result<usize, String> {
        let is_it = |number: &usize| {
            *name(&self.type_url, *number) == *portolan_core::Name::canonical(written)
        };
        (0..COUNT)
            .find(is_it)
            .ok_or_else(|| format!("{written} is no name"))
    }
}

/// All contents of a revision.
fn all(revision: u8) -> impl Iterator<Item = Content> {
    (0..16_u8).map(move |bits| Content {
        revision,
        aliases: std::array::from_fn(|at| bits >> at & 1 == 1),
        on_demand: bits >> 3 == 1,
    })
}
