//! Runs each fuzz target over its seeds and damaged copies of them, the same in every run. A fuzzer finds more; this
//! finds what is broken at once, and that the targets still run.

mod damage;

use std::sync::atomic::{AtomicUsize, Ordering};

use portolan_fuzz_targets::{TARGETS, Target};

use self::damage::Damage;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Damaged copies per target. `FUZZ_SMOKE_RUNS` says otherwise.
fn runs() -> usize {
    let runs = std::env::var("FUZZ_SMOKE_RUNS").ok();
    runs.and_then(|text| text.parse().ok()).unwrap_or(400)
}

/// Runs a target. A panic that the code under test contains counts as well.
fn run(target: &Target, input: &[u8]) {
    (target.run)(input);
    let panics = PANICS.load(Ordering::Relaxed);
    assert_eq!(panics, 0, "{}: {:?}", target.name, input.escape_ascii());
}

#[test]
fn no_law_is_broken_by_seeds_and_damaged_seeds() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        hook(panic);
    }));
    for target in &TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        seeds.iter().for_each(|seed| run(target, seed));
        let mut damage = Damage::new(1);
        for _ in 0..runs() {
            run(target, &damage.input(&seeds));
        }
    }
}
