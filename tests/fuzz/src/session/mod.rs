mod ops;
mod store;

use std::time::Duration;

use portolan_core::well_known::ENDPOINT;
use portolan_core::{ResourceType, ResourceTypes};
use portolan_engine::{Event, Limits, Scope, SessionConfig, Variant};
use portolan_testkit::{Pair, PlainClient, Setup};

use self::ops::{apply, publish_again};
use self::store::Store;
use crate::input::Input;

pub(crate) use self::ops::{EMPTY, GLOB, LOCATED, OTHER_SPELLING, STAR, TYPES, URL, how, op};
pub(crate) use self::store::SOURCES;

/// So many that each limit is reached by a few operations, and each kind of thing happens to each name.
const MAX_OPS: usize = 300;
const MAX_TYPES: usize = 9;
const MAX_NAMES: usize = 48;
const MAX_NACK_TEXT: usize = 24;

/// A session, a client of any manners, and a publisher. The input's first byte says how the session is set up, the
/// second which source it reads from, the others are what happens. Whatever it is, each response keeps the laws of
/// [`Pair`], the bounds hold, and when all is read and said, equal content again is answered with nothing.
pub fn session(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = input.byte();
    let mut world = World::new(flags, input.byte());
    for _ in 0..MAX_OPS {
        if input.is_empty() {
            break;
        }
        apply(&mut world, &mut input);
        world.check_bounds();
    }
    world.settle();
    if world.pair.error().is_some() {
        return;
    }
    let said = world.pair.client.received().len();
    publish_again(&mut world.store);
    world.pair.advance(Duration::from_secs(10));
    let lines = world.pair.transcript().lines();
    let tail = &lines[lines.len().saturating_sub(20)..];
    assert_eq!(
        world.pair.client.received().len(),
        said,
        "equal content is no news: {tail:#?}"
    );
}

/// What the first byte of an input says.
pub(crate) mod flag {
    pub(crate) const DELTA: u8 = 1;
    pub(crate) const SINGLE: u8 = 2;
    pub(crate) const LATENCY: u8 = 4;
    pub(crate) const SPLIT: u8 = 8;
    pub(crate) const STRICT_WILDCARD: u8 = 16;
    pub(crate) const NO_REANSWER: u8 = 32;
    /// The client acknowledges nothing by itself.
    pub(crate) const SILENT: u8 = 64;
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) pair: Pair<PlainClient>,
    store: Store,
    pub(super) variant: Variant,
}

impl World {
    fn new(flags: u8, source: u8) -> Self {
        let has = |flag: u8| flags & flag != 0;
        let limits = Limits::default()
            .with_types(MAX_TYPES)
            .with_names(MAX_NAMES)
            .with_name_bytes(2048)
            .with_unacked(3)
            .with_nack_text(MAX_NACK_TEXT);
        let config = Setup::default_config()
            .with_types(types())
            .with_limits(limits)
            .with_legacy_wildcard(!has(flag::STRICT_WILDCARD))
            .with_reanswer(!has(flag::NO_REANSWER));
        let config = match has(flag::SPLIT) {
            true => config.with_max_response(100),
            false => config,
        };
        let variant = match has(flag::DELTA) {
            true => Variant::Delta,
            false => Variant::Sotw,
        };
        let store = Store::new(source);
        let client = match has(flag::SILENT) {
            true => PlainClient::new(variant).without_acks(),
            false => PlainClient::new(variant),
        };
        let setup = setup(config, has(flag::SINGLE), has(flag::LATENCY));
        Self {
            pair: Pair::open(client, store.source(), setup),
            store,
            variant,
        }
    }

    fn check_bounds(&mut self) {
        if let Some(session) = self.pair.session() {
            let names = session.subscribed_names();
            assert!(names <= MAX_NAMES, "{names} names");
        }
        for event in self.pair.take_events() {
            if let Event::Nacked { message, .. } = &event {
                assert!(message.len() <= MAX_NACK_TEXT, "{message}");
            }
        }
    }

    /// Lets everything arrive, on both sides.
    fn settle(&mut self) {
        self.pair.set_reading(true);
        self.pair.set_sending(true);
        self.pair.set_window(usize::MAX);
        self.pair.client.set_acks(true);
        for _ in 0..4 {
            self.pair.advance(Duration::from_secs(6));
            self.check_bounds();
        }
    }
}

fn types() -> ResourceTypes {
    ResourceTypes::well_known()
}

fn setup(config: SessionConfig, single: bool, latency: bool) -> Setup {
    let setup = Setup::default().with_config(config);
    let setup = match single {
        true => setup.with_scope(Scope::Single(endpoints())),
        false => setup,
    };
    match latency {
        true => setup.with_latency(Duration::from_millis(10)),
        false => setup,
    }
}

fn endpoints() -> ResourceType {
    types().get(ENDPOINT.as_str())
}
