//! The whole server and real protocol clients on a network that is simulated: with latency, held-up packets, lost packets,
//! crashes and slow readers, on a virtual clock, by dice with a fixed seed.
//!
//! Whatever happened: when the network is whole again, each client has what is published, and when the clients have
//! gone, nothing of them is left.

mod client;
mod dice;
mod link;
mod model;
mod server;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use self::world::World;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// How many seeds to run, and which is the first. `NETWORK_SEEDS` says otherwise: `20`, or `7..8` for one.
fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("NETWORK_SEEDS").unwrap_or_else(|_| "20".to_owned());
    let (from, to) = asked.split_once("..").unwrap_or(("0", &asked));
    let number = |text: &str| text.parse().expect("NETWORK_SEEDS is a number or a range");
    number(from)..number(to)
}

#[test]
fn clients_end_with_what_is_published_and_leave_nothing_behind() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        hook(panic);
    }));
    let (mut streams, mut rejections) = (0, 0);
    for seed in seeds() {
        let mut world = World::new(seed);
        let end = world.play();
        let panics = PANICS.load(Ordering::Relaxed);
        if end.is_err() || panics > 0 {
            let log = world.log.join("\n  ");
            panic!("seed {seed}: {end:?}, {panics} panics\n  {log}");
        }
        let (opened, rejected) = world.counts();
        streams += opened;
        rejections += rejected;
    }
    println!("{streams} streams, {rejections} rejections");
    // A seed may be kind; ten are not.
    let seeds = seeds().count() as u64;
    let eventful = streams > seeds * world::CLIENTS && rejections > 0;
    assert!(eventful || seeds < 10, "nothing was lost or rejected");
}
