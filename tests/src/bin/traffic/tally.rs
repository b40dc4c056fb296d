//! What a run came to.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

use crate::lab::Counts;
use crate::load::{Answer, Outcome};

/// Failures that are no further apart belong to one outage.
const APART: Duration = Duration::from_millis(100);

/// The share of the requests that were due which makes a loss of none worth telling.
const PACE: f64 = 0.8;

/// For how long there may be no request, if a loss of none is to be worth telling: what is wrong for as long as messages
/// go to and fro must not hide there.
const PAUSE: Duration = Duration::from_millis(100);

/// Counts of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) total: usize,
    pub(crate) failed: usize,
    /// Failed requests by what was wrong.
    pub(crate) kinds: BTreeMap<String, usize>,
    /// From the first to the last of paced requests that failed one after the other.
    pub(crate) outage: Duration,
    /// Requests that this program gave up.
    pub(crate) unanswered: usize,
    /// The longest time in which no paced request was started.
    pub(crate) pause: Duration,
    paced: usize,
    due: f64,
}

impl Tally {
    pub(crate) fn of(outcomes: &[(Outcome, Counts)]) -> Self {
        let mut tally = Self::default();
        for (outcome, counts) in outcomes {
            tally.count(outcome, *counts);
        }
        tally
    }

    fn count(&mut self, outcome: &Outcome, counts: Counts) {
        self.due += outcome.due;
        let mut ends = Vec::new();
        for record in &outcome.records {
            self.paced += usize::from(record.kind.is_paced());
            let is_broken = matches!(record.answer, Answer::Transport(_));
            if is_broken && counts == Counts::Status {
                continue;
            }
            self.total += 1;
            self.unanswered += usize::from(record.answer == Answer::None);
            if !record.answer.is_failure() {
                continue;
            }
            self.failed += 1;
            let kind = record.answer.failure().unwrap_or_default();
            *self.kinds.entry(kind).or_default() += 1;
            if record.kind.is_paced() {
                ends.push(record.ended);
            }
        }
        self.outage = self.outage.max(longest(ends));
        self.pause = self.pause.max(pause(outcome));
    }

    /// Adds the losses of another run of the same.
    pub(crate) fn add(&mut self, other: Self) {
        self.total += other.total;
        self.failed += other.failed;
        self.outage = self.outage.max(other.outage);
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
    }

    /// The paced requests that were made, as a share of those that were due.
    pub(crate) fn pace(&self) -> f64 {
        self.paced as f64 / self.due.max(1.0)
    }

    /// Whether there was the load that was asked for, more or less, so that a loss of none says something.
    pub(crate) fn kept_pace(&self) -> bool {
        self.pace() >= PACE && self.pause <= PAUSE && self.unanswered == 0
    }

    /// Whether nothing was lost, and that means nothing.
    pub(crate) fn says_nothing(&self) -> bool {
        self.failed == 0 && !self.kept_pace()
    }
}

/// How a run fell behind, to be read behind its tally.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'a>(pub(crate) &'a Tally);

impl Display for Pace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(tally) = self;
        if tally.kept_pace() {
            return Ok(());
        }
        let (pace, pause) = (tally.pace() * 100.0, tally.pause.as_millis());
        write!(
            f,
            " BEHIND: {pace:.0} % of the pace, no request for {pause} ms"
        )?;
        match tally.unanswered {
            0 => Ok(()),
            unanswered => write!(f, ", {unanswered} given up"),
        }
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.failed, self.total)?;
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let kinds: Vec<_> = kinds
            .iter()
            .map(|(kind, n)| format!("{kind} {n}"))
            .collect();
        if !kinds.is_empty() {
            write!(f, ": {}; {} ms", kinds.join(", "), self.outage.as_millis())?;
        }
        Ok(())
    }
}

fn longest(mut ends: Vec<Instant>) -> Duration {
    ends.sort();
    let outages = ends.chunk_by(|a, b| b.duration_since(*a) <= APART);
    let length = |outage: &[Instant]| match outage {
        [first, .., last] => last.duration_since(*first),
        _ => Duration::ZERO,
    };
    outages.map(length).max().unwrap_or_default()
}

fn pause(outcome: &Outcome) -> Duration {
    let paced = outcome.records.iter().filter(|r| r.kind.is_paced());
    let mut starts: Vec<_> = paced.map(|record| record.started).collect();
    starts.extend([outcome.during.start, outcome.during.end]);
    starts.sort();
    let pauses = starts
        .windows(2)
        .map(|pair| pair[1].duration_since(pair[0]));
    pauses.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Kind, Record};

    fn outcome(answers: impl IntoIterator<Item = (u64, Answer)>, due: f64) -> Outcome {
        let start = Instant::now();
        let records = answers.into_iter().map(|(at, answer)| Record {
            kind: Kind::Kept,
            started: start + Duration::from_millis(at),
            ended: start + Duration::from_millis(at),
            answer,
        });
        let records: Vec<_> = records.collect();
        let end = records.last().map_or(start, |record| record.started);
        Outcome {
            records,
            due,
            during: start..end,
        }
    }

    fn answered(status: u16, body: &str) -> Answer {
        Answer::Response(status, body.to_owned())
    }

    #[test]
    fn statuses_of_a_server_and_broken_connections_are_failures() {
        let answers = [
            (0, answered(200, "one")),
            (10, answered(404, "")),
            (20, answered(500, "")),
            (30, answered(503, "by Envoy: DI,NC cluster_not_found")),
            (40, Answer::Transport("connect: refused".to_owned())),
        ];
        let all = Tally::of(&[(outcome(answers.clone(), 5.0), Counts::All)]);
        assert_eq!((all.total, all.failed), (5, 3));
        let kinds: Vec<_> = all.kinds.into_keys().collect();
        assert_eq!(kinds, ["500", "NC", "connect: refused"]);
        let status = Tally::of(&[(outcome(answers, 5.0), Counts::Status)]);
        assert_eq!((status.total, status.failed), (4, 2));
    }

    #[test]
    fn an_outage_ends_where_nothing_fails_for_a_while() {
        let at = [0, 90, 150, 400, 420].map(|at| (at, answered(503, "")));
        let tally = Tally::of(&[(outcome(at, 5.0), Counts::All)]);
        assert_eq!(tally.outage, Duration::from_millis(150));
    }

    #[test]
    fn what_was_not_asked_or_not_waited_for_is_no_failure_but_told() {
        let few = Tally::of(&[(outcome([(0, answered(200, ""))], 10.0), Counts::All)]);
        assert_eq!((few.failed, few.kept_pace()), (0, false));
        assert!(few.says_nothing());
        assert!(Pace(&few).to_string().contains("BEHIND: 10 % of the pace"));
        let given_up = Tally::of(&[(outcome([(0, Answer::None)], 1.0), Counts::All)]);
        assert_eq!((given_up.failed, given_up.kept_pace()), (0, false));
    }

    #[test]
    fn a_time_without_requests_hides_losses_at_any_pace() {
        let often = |at: [u64; 3]| {
            let answers = at.map(|at| (at, answered(200, "")));
            Tally::of(&[(outcome(answers, 3.0), Counts::All)])
        };
        assert!(!often([0, 90, 180]).says_nothing());
        assert!(often([0, 10, 180]).says_nothing());
    }
}
