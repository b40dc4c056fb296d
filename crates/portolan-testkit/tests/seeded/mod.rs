use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// As many cases as `PROPTEST_CASES` says, or these; from the seed in `PROPTEST_RNG_SEED`, or always the same.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}
