//! The short form that CI runs.

use std::fmt::{self, Display};
use std::process::ExitCode;

use portolan_tests::Bootstrap;

use crate::mode::Mode;
use crate::tally::{Pace, Tally};
use crate::{Bench, scenarios};

/// Tells a caller that this machine is too busy to say anything.
const CANNOT_TELL: u8 = 3;

/// What is run, and whether requests must be lost: that they are where they must be shows that a loss would be seen.
const RUNS: [(&str, Mode, Expected); 4] = [
    ("endpoints_late", Mode::Ordered, Expected::Losses),
    ("endpoints_late", Mode::Safe, Expected::Nothing),
    ("move_and_retire", Mode::Safe, Expected::Nothing),
    ("all_names", Mode::Safe, Expected::Nothing),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Losses,
}

/// Runs each over both variants at once.
pub(crate) async fn run(bench: &Bench) -> ExitCode {
    let (mut wrong, mut unsure) = (false, false);
    for (name, mode, expected) in RUNS {
        let Some(scenario) = scenarios::ALL.iter().find(|s| s.name == name) else {
            eprintln!("error: there is no scenario {name}");
            return ExitCode::FAILURE;
        };
        let both = tokio::join!(
            bench.run(scenario, Bootstrap::SOTW, mode),
            bench.run(scenario, Bootstrap::DELTA, mode),
        );
        for (protocol, result) in [("sotw", both.0), ("delta", both.1)] {
            let line = format!("{name:<22} {:<8} {protocol:<14}", mode.name());
            let verdict = match result {
                Ok(tally) => {
                    let verdict = judge(&tally, expected);
                    println!("{line} {verdict:<7} {tally}{}", Pace(&tally));
                    verdict
                }
                Err(error) => {
                    println!("{line} wrong   {error}");
                    Verdict::Wrong
                }
            };
            wrong |= verdict == Verdict::Wrong;
            unsure |= verdict == Verdict::Unsure;
        }
    }
    match (wrong, unsure) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => CANNOT_TELL.into(),
        (false, false) => ExitCode::SUCCESS,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    /// There was too little load for the absence of losses to mean anything.
    Unsure,
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unsure => "unsure",
        })
    }
}

fn judge(tally: &Tally, expected: Expected) -> Verdict {
    match (expected, tally.failed) {
        (Expected::Nothing, 1..) => Verdict::Wrong,
        (Expected::Losses, 1..) => Verdict::Right,
        (_, 0) if !tally.kept_pace() => Verdict::Unsure,
        (Expected::Nothing, 0) => Verdict::Right,
        (Expected::Losses, 0) => Verdict::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Counts;
    use crate::load::{Answer, Kind, Outcome, Record};

    fn tally(status: u16, due: f64) -> Tally {
        let now = std::time::Instant::now();
        let record = Record {
            kind: Kind::Kept,
            started: now,
            ended: now,
            answer: Answer::Response(status, String::new()),
        };
        let records = vec![record];
        let during = now..now;
        let outcome = Outcome {
            records,
            due,
            during,
        };
        Tally::of(&[(outcome, Counts::All)])
    }

    #[test]
    fn a_loss_counts_at_any_pace_and_none_only_under_load() {
        let cases = [
            (503, 1.0, Verdict::Wrong, Verdict::Right),
            (503, 9.0, Verdict::Wrong, Verdict::Right),
            (200, 1.0, Verdict::Right, Verdict::Wrong),
            (200, 9.0, Verdict::Unsure, Verdict::Unsure),
        ];
        for (status, due, safe, ordered) in cases {
            let tally = tally(status, due);
            assert_eq!(judge(&tally, Expected::Nothing), safe);
            assert_eq!(judge(&tally, Expected::Losses), ordered);
        }
    }
}
