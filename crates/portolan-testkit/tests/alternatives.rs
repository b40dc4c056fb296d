//! Random clients that subscribe names and a wildcard with dynamic parameters, against an oracle of what they should have.
//!
//! At rest a client has, in the version that is published, each resource that one of its subscriptions is meant to have,
//! and nothing else that its subscriptions could stand for. Nothing comes to it that none of them is meant to have.

mod seeded;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use portolan_core::well_known::{CLUSTER, ROUTE};
use portolan_core::{
    Constraints, DynamicParameters, Name, Resource, ResourceBuilder, TypeUrl, Version,
    wrapped_entry,
};
use portolan_engine::{DeltaRequest, Locator, Request, SotwRequest, Variant};
use portolan_testkit::{Pair, PlainClient, Shelf};
use proptest::collection::vec;
use proptest::prelude::*;

/// What may be asked for: the second stands for everything.
const STEMS: [&str; 3] = ["a", "*", "b"];

/// A stem and the number of parameters.
type Asked = (usize, usize);

#[derive(Clone, Debug)]
enum Op {
    /// The alternatives of a stem become these, in this revision.
    Publish(usize, usize, u8),
    /// In delta these are subscribed, and those given up; in state of the world all is asked for that this leaves.
    Ask(Vec<Asked>, Vec<Asked>),
    /// The client comes back: in state of the world with the version of what it has, or with nothing.
    Reconnect { claims: bool },
}

fn parameters(number: usize) -> Vec<(&'static str, &'static str)> {
    let all: [&[_]; 5] = [
        &[],
        &[("env", "p")],
        &[("env", "t")],
        &[("env", "p"), ("v", "1")],
        &[("x", "1")],
    ];
    all[number].to_vec()
}

/// Alternatives that go together.
fn family(number: usize) -> Vec<Option<Constraints>> {
    let (p, t) = (
        || Constraints::value("env", "p"),
        || Constraints::value("env", "t"),
    );
    let v = || Constraints::exists("v");
    match number {
        0 => vec![],
        1 => vec![None],
        2 => vec![Some(p()), Some(t())],
        3 => vec![Some(p()), Some(!p())],
        4 => {
            let upgraded = Constraints::all_of([p(), v()]);
            let others = Constraints::all_of([p(), !v()]);
            vec![Some(upgraded), Some(others)]
        }
        _ => vec![Some(Constraints::any_of([p(), t()]))],
    }
}

fn op() -> impl Strategy<Value = Op> {
    let asked = || vec((0..STEMS.len(), 0..5_usize), 0..4);
    prop_oneof![
        4 => (prop::sample::select(vec![0_usize, 2]), 0..6_usize, 0..2_u8)
            .prop_map(|(stem, family, revision)| Op::Publish(stem, family, revision)),
        4 => (asked(), asked()).prop_map(|(s, u)| Op::Ask(s, u)),
        1 => any::<bool>().prop_map(|claims| Op::Reconnect { claims }),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Vec<Op>>> {
    vec(vec(op(), 0..4), 1..12)
}

fn locator((stem, number): Asked) -> Locator {
    let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
    let parameters = parameters(number).into_iter();
    Locator::new(
        bytes(STEMS[stem]),
        parameters.map(|(k, v)| (bytes(k), bytes(v))),
    )
}

fn locators(asked: impl IntoIterator<Item = Asked>) -> Vec<Locator> {
    asked.into_iter().map(locator).collect()
}

struct World {
    type_url: TypeUrl,
    shelf: Shelf,
    pair: Pair<PlainClient>,
    variant: Variant,
    asked: BTreeSet<Asked>,
    /// What was asked for at any time since all was said.
    asked_lately: BTreeSet<Asked>,
    held: BTreeMap<Name, Version>,
    /// Whether the client tells, on this stream, what version it has accepted.
    claims: bool,
    read: usize,
}

impl World {
    fn new(variant: Variant, type_url: TypeUrl) -> Self {
        let shelf = Shelf::new();
        shelf.edit(|_| {});
        let client = match variant {
            Variant::Delta => PlainClient::delta(),
            _ => PlainClient::sotw().without_acks(),
        };
        let mut world = Self {
            type_url,
            pair: Pair::new(client, &shelf),
            shelf,
            variant,
            asked: BTreeSet::new(),
            asked_lately: BTreeSet::new(),
            held: BTreeMap::new(),
            claims: true,
            read: 0,
        };
        world.ask(&[(2, 0)], &[]);
        world
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Publish(stem, number, revision) => self.publish(STEMS[stem], number, revision),
            Op::Ask(subscribe, unsubscribe) => self.ask(&subscribe, &unsubscribe),
            Op::Reconnect { claims } => {
                self.rest();
                self.pair.connect();
                self.claims = claims && self.variant == Variant::Sotw;
                if !self.claims {
                    self.held.clear();
                }
                let asked: Vec<_> = self.asked.iter().copied().collect();
                // Who names nothing on a new stream would have everything.
                let asked = if asked.is_empty() {
                    vec![(2, 0)]
                } else {
                    asked
                };
                self.ask(&asked, &[]);
            }
        }
    }

    fn publish(&self, stem: &str, number: usize, revision: u8) {
        let url = &self.type_url;
        self.shelf.edit(|snapshot| {
            for constraints in (0..6).flat_map(family).flatten() {
                snapshot.remove(url, &Name::from(stem).with_constraints(&constraints));
            }
            snapshot.remove(url, stem);
            for constraints in family(number) {
                let resource = Resource::builder(url, stem, format!("rev={revision}"));
                let constrained = |resource: ResourceBuilder| match constraints {
                    Some(constraints) => resource.constraints(constraints),
                    None => resource,
                };
                let put = snapshot.upsert(constrained(resource));
                put.expect("they go together");
            }
        });
    }

    fn ask(&mut self, subscribe: &[Asked], unsubscribe: &[Asked]) {
        self.asked.extend(subscribe);
        self.asked.retain(|asked| !unsubscribe.contains(asked));
        self.asked_lately.extend(&self.asked);
        let request: Request = if self.variant == Variant::Delta {
            let mut request = DeltaRequest::default();
            request.type_url = self.type_url.to_string();
            request.locators_subscribe = locators(subscribe.iter().copied());
            request.locators_unsubscribe = locators(unsubscribe.iter().copied());
            request.into()
        } else {
            self.sotw_request().into()
        };
        self.pair.client.send(request);
    }

    fn sotw_request(&mut self) -> SotwRequest {
        let mut request = self.pair.client.sotw_request(&self.type_url, [""; 0]);
        if !self.claims && request.nonce.is_empty() {
            request.version.clear();
        }
        request.locators = locators(self.asked.iter().copied());
        request
    }

    /// All is said and acknowledged, and the client has what it should.
    fn rest(&mut self) {
        loop {
            self.pair.drive();
            self.pair.advance(Duration::from_secs(60));
            let received = self.pair.client.received();
            if received.len() == self.read {
                break;
            }
            for response in &received[self.read..] {
                if self.variant == Variant::Sotw && self.type_url == CLUSTER {
                    // Each answer holds everything.
                    self.held.clear();
                }
                for resource in response.resources.iter() {
                    assert!(
                        stands_for(&self.asked_lately, resource.name()),
                        "{} was not asked for\n{}",
                        resource.name(),
                        self.pair.transcript()
                    );
                    self.held
                        .insert(resource.name().clone(), resource.version().clone());
                }
                response
                    .removed
                    .iter()
                    .for_each(|name| drop(self.held.remove(name)));
            }
            self.read = received.len();
            if self.variant == Variant::Sotw {
                let request = self.sotw_request();
                self.pair.client.send(request);
            }
        }
        // What a client has that it does not want, it drops without a word, as it does in state of the world with what is
        // gone.
        let wanted = self.wanted();
        self.held.retain(|name, _| match self.variant {
            Variant::Delta => stands_for(&self.asked, name),
            _ => wanted.contains_key(name),
        });
        assert_eq!(
            self.held,
            wanted,
            "asked for {:?}\n{}",
            self.asked,
            self.pair.transcript()
        );
        self.asked_lately.clone_from(&self.asked);
    }

    /// What the subscriptions stand for.
    fn wanted(&self) -> BTreeMap<Name, Version> {
        let snapshot = self.shelf.snapshot().expect("something is published");
        let mut wanted = BTreeMap::new();
        for (stem, number) in &self.asked {
            let parameters: DynamicParameters = parameters(*number).into_iter().collect();
            let set = snapshot.set(&self.type_url);
            let all = set.into_iter().flat_map(|set| set.iter());
            let named = all.filter(|r| STEMS[*stem] == "*" || r.name().stem() == STEMS[*stem]);
            for resource in named.filter(|r| r.is_for(&parameters)) {
                wanted.insert(resource.name().clone(), resource.version().clone());
            }
        }
        wanted
    }
}

/// What is read of a response says which alternatives came only where it holds their constraints.
#[test]
fn c313_c327_who_sends_locators_in_state_of_the_world_is_sent_wrappers() {
    let mut world = World::new(Variant::Sotw, ROUTE);
    world.publish("a", 2, 1);
    world.ask(&[(0, 1)], &[]);
    world.rest();
    let sent = world.pair.client.received().last().unwrap();
    let alternative = sent.resources.iter().next().unwrap();
    let entry = wrapped_entry(alternative, &sent.version, None);
    assert_eq!(sent.parts().concat(), entry);
}

/// Whether some of this may stand for a resource of that name, which tells whom it is meant for.
fn stands_for(asked: &BTreeSet<Asked>, name: &Name) -> bool {
    let constraints = name.constraints();
    asked.iter().any(|(stem, number)| {
        let parameters: DynamicParameters = parameters(*number).into_iter().collect();
        (STEMS[*stem] == "*" || STEMS[*stem] == name.stem())
            && constraints.as_ref().is_none_or(|c| c.matches(&parameters))
    })
}

fn play(ops: Vec<Vec<Op>>, variant: Variant, type_url: TypeUrl) {
    let mut world = World::new(variant, type_url);
    for ops in ops {
        ops.into_iter().for_each(|op| world.apply(op));
        world.rest();
    }
}

proptest! {
    #![proptest_config(seeded::config(150))]

    #[test]
    fn c312_c322_a_delta_client_has_what_is_meant_for_it(ops in ops()) {
        play(ops, Variant::Delta, ROUTE);
    }

    #[test]
    fn c312_c324_a_state_of_the_world_client_has_what_is_meant_for_it(ops in ops()) {
        play(ops, Variant::Sotw, ROUTE);
    }

    #[test]
    fn c312_so_it_is_where_an_answer_holds_everything(ops in ops()) {
        play(ops, Variant::Sotw, CLUSTER);
    }
}
