use proptest::prelude::*;

use super::config::Timing;
use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn machine(leading_edge: bool) -> Debounce {
    Debounce::new(DebounceConfig::default().with_leading_edge(leading_edge))
}

/// A run, and the changes that it served.
#[derive(Debug)]
struct Run {
    at: Duration,
    since: Duration,
    served: Vec<(Duration, Lane)>,
}

/// Plays changes, sorted by time, with a driver that polls after each change and exactly when asked to.
fn play(debounce: &mut Debounce, changes: &[(Duration, Lane)]) -> Vec<Run> {
    let (mut runs, mut open) = (Vec::new(), Vec::new());
    let mut poll = |debounce: &mut Debounce, at, open: &mut Vec<_>| {
        if let Some(since) = debounce.poll_run(at) {
            let served = std::mem::take(open);
            runs.push(Run { at, since, served });
        }
    };
    for &(at, lane) in changes {
        while let Some(due) = debounce.poll_timeout().filter(|due| *due < at) {
            poll(debounce, due, &mut open);
        }
        debounce.change(at, lane);
        open.push((at, lane));
        poll(debounce, at, &mut open);
    }
    while let Some(due) = debounce.poll_timeout() {
        poll(debounce, due, &mut open);
    }
    assert!(open.is_empty(), "{open:?} were never served");
    runs
}

fn run_times(debounce: &mut Debounce, changes: &[u64], lane: Lane) -> Vec<u64> {
    let changes: Vec<_> = changes.iter().map(|at| (ms(*at), lane)).collect();
    let runs = play(debounce, &changes);
    runs.iter()
        .map(|run| run.at.as_millis().try_into().unwrap())
        .collect()
}

/// What holds for every sequence of changes.
fn check(config: &DebounceConfig, runs: &[Run]) {
    let shortest = Lane::ALL.map(|lane| {
        let Timing { quiet, max } = config.timing(lane);
        quiet.min(max)
    });
    let shortest = shortest.into_iter().min().unwrap();
    for run in runs {
        assert_eq!(
            Some(run.since),
            run.served.first().map(|first| first.0),
            "a run serves something, and knows since when it waited"
        );
        for (at, lane) in &run.served {
            let max = config.timing(*lane).max;
            assert!(
                run.at - *at <= max,
                "{lane:?} at {at:?} waited too long: {run:?}"
            );
        }
    }
    for pair in runs.windows(2) {
        assert!(
            pair[1].at - pair[0].at >= shortest,
            "runs too close: {pair:?}"
        );
        let lanes: Vec<_> = pair[1].served.iter().map(|(_, lane)| *lane).collect();
        if !lanes.contains(&Lane::Endpoints) {
            let Timing { quiet, max } = config.timing(Lane::Config);
            assert!(pair[1].at - pair[0].at >= quiet.min(max), "{pair:?}");
        }
    }
}

#[test]
fn the_first_change_after_quiet_goes_at_once() {
    assert_eq!(run_times(&mut machine(true), &[7], Lane::Config), [7]);
    assert_eq!(
        run_times(&mut machine(true), &[7, 107], Lane::Config),
        [7, 107]
    );
}

#[test]
fn without_the_leading_edge_the_first_change_waits_for_quiet() {
    assert_eq!(run_times(&mut machine(false), &[7], Lane::Config), [107]);
}

#[test]
fn changes_soon_after_a_run_wait_for_quiet() {
    assert_eq!(
        run_times(&mut machine(true), &[0, 1, 60], Lane::Config),
        [0, 160]
    );
}

#[test]
fn a_steady_stream_runs_once_per_maximum() {
    let steady: Vec<u64> = (0..3000).step_by(10).collect();
    let runs = run_times(&mut machine(true), &steady, Lane::Config);
    assert_eq!(runs, [0, 1010, 2020, 3030]);
}

#[test]
fn the_maximum_counts_from_the_first_change_that_waits() {
    let mut debounce = machine(false);
    debounce.change(ms(500), Lane::Config);
    for at in (550..1500).step_by(50) {
        debounce.change(ms(at), Lane::Config);
        assert_eq!(debounce.poll_run(ms(at)), None);
    }
    assert_eq!(debounce.poll_timeout(), Some(ms(1500)));
    assert_eq!(debounce.poll_run(ms(1500)), Some(ms(500)));
}

#[test]
fn endpoint_changes_wait_less() {
    let steady: Vec<u64> = (0..205).step_by(5).collect();
    let runs = run_times(&mut machine(true), &steady, Lane::Endpoints);
    assert_eq!(runs, [0, 105, 210]);
}

#[test]
fn an_endpoint_change_takes_waiting_config_changes_along() {
    let mut debounce = machine(true);
    let changes = [(0, Lane::Config), (20, Lane::Config), (40, Lane::Endpoints)];
    let changes = changes.map(|(at, lane)| (ms(at), lane));
    let runs = play(&mut debounce, &changes);
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[1].at, runs[1].since), (ms(40), ms(20)));
}

#[test]
fn changes_of_one_moment_share_the_leading_run() {
    let mut debounce = machine(true);
    debounce.change(ms(5), Lane::Config);
    debounce.change(ms(5), Lane::Config);
    assert_eq!(debounce.poll_run(ms(5)), Some(ms(5)));
    assert_eq!(debounce.poll_run(ms(5)), None);
}

#[test]
fn a_late_driver_runs_once_for_all_that_is_due() {
    let mut debounce = machine(true);
    debounce.change(ms(0), Lane::Config);
    debounce.change(ms(700), Lane::Endpoints);
    assert_eq!(debounce.poll_run(ms(5000)), Some(ms(0)));
    assert_eq!(debounce.poll_timeout(), None);
}

#[test]
fn a_maximum_below_the_quiet_time_stands_in_for_it() {
    let config = DebounceConfig::default()
        .with_quiet(ms(100))
        .with_max(ms(30));
    let mut debounce = Debounce::new(config.with_leading_edge(false));
    assert_eq!(run_times(&mut debounce, &[0, 10, 20], Lane::Config), [30]);
}

#[test]
fn endless_times_do_not_overflow() {
    let config = DebounceConfig::default()
        .with_quiet(Duration::MAX)
        .with_max(Duration::MAX);
    let mut debounce = Debounce::new(config.with_leading_edge(false));
    debounce.change(ms(1), Lane::Config);
    debounce.change(ms(2), Lane::Config);
    assert_eq!(debounce.poll_timeout(), Some(Duration::MAX));
}

/// Every pattern of nine moments, each with no change or one of either lane.
#[test]
fn every_short_sequence_keeps_the_bounds() {
    let config = DebounceConfig::default()
        .with_quiet(ms(3))
        .with_max(ms(5))
        .with_endpoint_quiet(ms(1))
        .with_endpoint_max(ms(2));
    for pattern in 0..3_u32.pow(9) {
        let digit = |at: u32| pattern / 3_u32.pow(at) % 3;
        let lane_at = |at| match digit(at) {
            0 => None,
            1 => Some((ms(at.into()), Lane::Config)),
            _ => Some((ms(at.into()), Lane::Endpoints)),
        };
        let changes: Vec<_> = (0..9).filter_map(lane_at).collect();
        for leading_edge in [true, false] {
            let config = config.clone().with_leading_edge(leading_edge);
            check(&config, &play(&mut Debounce::new(config.clone()), &changes));
        }
    }
}

proptest! {
    #[test]
    fn every_sequence_keeps_the_bounds(
        gaps in prop::collection::vec((0_u64..250, any::<bool>()), 0..200),
        times in prop::array::uniform4(0_u64..400),
        leading_edge: bool,
    ) {
        let config = DebounceConfig::default()
            .with_quiet(ms(times[0]))
            .with_max(ms(times[1]))
            .with_endpoint_quiet(ms(times[2]))
            .with_endpoint_max(ms(times[3]))
            .with_leading_edge(leading_edge);
        let mut now = 0;
        let changes: Vec<_> = gaps
            .into_iter()
            .map(|(gap, endpoints)| {
                now += gap;
                (ms(now), if endpoints { Lane::Endpoints } else { Lane::Config })
            })
            .collect();
        check(&config, &play(&mut Debounce::new(config.clone()), &changes));
    }

    /// A driver that comes late serves what is due when it comes, and no run of its own is lost or invented.
    #[test]
    fn a_driver_that_comes_late_serves_every_change_once(
        steps in prop::collection::vec((0_u64..300, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let mut debounce = machine(true);
        let (mut now, mut first_open) = (0, None);
        for (gap, changes, polls) in steps {
            now += gap;
            if changes {
                debounce.change(ms(now), Lane::Config);
                first_open.get_or_insert_with(|| ms(now));
            }
            if polls {
                let overdue = first_open.is_some_and(|first| ms(now) - first >= ms(1000));
                let run = debounce.poll_run(ms(now));
                prop_assert!(run.is_some() || !overdue);
                if run.is_some() {
                    prop_assert_eq!(run, first_open.take());
                }
            }
            prop_assert_eq!(debounce.poll_timeout().is_some(), first_open.is_some());
        }
    }
}
