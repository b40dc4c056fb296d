use portolan_core::{Generation, Snapshot};
use proptest::prelude::*;

use super::*;
use crate::Change;

const LINGER: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn revision(number: u64) -> Revision {
    (0..number).fold(Revision::default(), |revision, _| revision.next())
}

type TestSchedule = Schedule<&'static str, u64>;
type TestChange = Change<&'static str, u64>;

const MOST_DETAILS: usize = 3;

fn schedule(newest: u64, groups: &[&'static str]) -> TestSchedule {
    let mut schedule = Schedule::new(LINGER, MOST_DETAILS);
    if newest > 0 {
        hand_in(&mut schedule, newest);
    }
    for group in groups {
        schedule.came(*group, at(0));
    }
    schedule
}

/// Hands in a model and a change without releasing it.
fn change(schedule: &mut TestSchedule, number: u64, change: TestChange) {
    let mut notices = Notices::new();
    notices.add(change, revision(number), usize::MAX);
    schedule.hand_in(revision(number), notices);
}

fn hand_in(schedule: &mut TestSchedule, number: u64) {
    change(schedule, number, Change::config());
    schedule.release(at(0));
}

fn next(schedule: &mut TestSchedule) -> Option<Turn<&'static str>> {
    schedule.next(at(0)).map(|(turn, _)| turn)
}

fn run(schedule: &mut TestSchedule, ending: Ending) -> Option<Forgotten<&'static str>> {
    let turn = next(schedule).unwrap();
    schedule.finish(&turn, ending, None)
}

/// Works off the queue, and says who had a turn.
fn work_off(schedule: &mut TestSchedule) -> Vec<&'static str> {
    let mut turns = Vec::new();
    while let Some(turn) = next(schedule) {
        assert_eq!(schedule.finish(&turn, Ending::Current, None), None);
        turns.push(turn.group);
    }
    turns
}

/// The work of the next turn, which goes well.
fn work(schedule: &mut TestSchedule) -> String {
    let (turn, assignment) = schedule.next(at(0)).unwrap();
    assert_eq!(schedule.finish(&turn, Ending::Current, None), None);
    describe(&assignment)
}

fn describe(assignment: &Assignment<u64>) -> String {
    match &assignment.work {
        Work::Everything => "everything".to_owned(),
        Work::Endpoints => "endpoints".to_owned(),
        Work::Details(details) => format!("{details:?}"),
    }
}

#[test]
fn a_group_that_comes_is_translated_at_once() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(next(&mut schedule).unwrap().revision, revision(1));
    assert!(schedule.next(at(0)).is_none());
}

#[test]
fn without_a_model_there_is_nothing_to_translate() {
    assert!(schedule(0, &["a"]).is_idle());
}

#[test]
fn a_running_group_gets_the_newer_model_after_its_turn() {
    let mut schedule = schedule(1, &["a"]);
    let turn = next(&mut schedule).unwrap();
    hand_in(&mut schedule, 2);
    hand_in(&mut schedule, 3);
    assert!(
        schedule.next(at(0)).is_none(),
        "never two turns of one group at once"
    );
    assert_eq!(schedule.finish(&turn, Ending::Current, None), None);
    assert_eq!(next(&mut schedule).unwrap().revision, revision(3));
}

#[test]
fn a_turn_with_a_model_that_is_released_later_serves_it() {
    let mut schedule = schedule(1, &["a"]);
    change(&mut schedule, 2, Change::config());
    let turn = next(&mut schedule).unwrap();
    schedule.release(at(0));
    assert_eq!(schedule.finish(&turn, Ending::Current, None), None);
    assert!(schedule.is_idle());
}

#[test]
fn a_slow_group_holds_up_no_other() {
    let mut schedule = schedule(1, &["slow", "a"]);
    let slow = next(&mut schedule).unwrap();
    assert_eq!(slow.group, "slow");
    assert_eq!(run(&mut schedule, Ending::Current), None);
    hand_in(&mut schedule, 2);
    assert_eq!(next(&mut schedule).unwrap().group, "a");
}

#[test]
fn a_failed_group_is_not_tried_again_with_the_same_model() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    assert!(schedule.went(&"a", at(1)).is_none());
    schedule.came("a", at(2));
    assert!(schedule.is_idle());
    hand_in(&mut schedule, 2);
    assert!(!schedule.is_idle());
}

#[test]
fn a_group_that_went_is_kept_up_to_date_for_a_while() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Current), None);
    assert_eq!(schedule.went(&"a", at(5)), None);
    hand_in(&mut schedule, 2);
    assert_eq!(run(&mut schedule, Ending::Current), None);
    assert_eq!(schedule.poll_timeout(), Some(at(65)));
    assert_eq!(schedule.expire(at(64)), []);
    let forgotten = Forgotten {
        group: "a",
        published: true,
    };
    assert_eq!(schedule.expire(at(65)), [forgotten]);
    hand_in(&mut schedule, 3);
    assert!(schedule.is_idle());
}

#[test]
fn a_group_that_came_back_stays() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Current), None);
    assert_eq!(schedule.went(&"a", at(0)), None);
    schedule.came("a", at(59));
    assert_eq!(schedule.expire(at(1000)), []);
}

#[test]
fn a_group_that_goes_before_its_turn_is_forgotten_at_once() {
    let mut schedule = schedule(1, &["a"]);
    let forgotten = Forgotten {
        group: "a",
        published: false,
    };
    assert_eq!(schedule.went(&"a", at(0)), Some(forgotten));
    assert!(schedule.is_idle());
}

#[test]
fn a_group_that_failed_keeps_its_last_good_until_it_is_translated_again() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Current), None);
    assert_eq!(schedule.went(&"a", at(0)), None);
    hand_in(&mut schedule, 2);
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    assert_eq!(schedule.expire(at(60)), []);
    assert_eq!(schedule.poll_timeout(), None);
    hand_in(&mut schedule, 3);
    let forgotten = Forgotten {
        group: "a",
        published: true,
    };
    assert_eq!(run(&mut schedule, Ending::Current), Some(forgotten));
}

#[test]
fn a_running_group_is_forgotten_only_after_its_turn() {
    let mut schedule = schedule(1, &["a"]);
    let turn = next(&mut schedule).unwrap();
    assert_eq!(schedule.went(&"a", at(0)), None);
    assert_eq!(schedule.expire(at(60)), []);
    let forgotten = Forgotten {
        group: "a",
        published: false,
    };
    assert_eq!(
        schedule.finish(&turn, Ending::Failed, None),
        Some(forgotten)
    );
}

#[test]
fn groups_without_a_thread_are_tried_again() {
    let mut schedule = schedule(1, &["a", "b"]);
    assert_eq!(run(&mut schedule, Ending::NotTried), None);
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    assert!(schedule.is_idle());
    schedule.retry_not_tried();
    assert_eq!(next(&mut schedule).unwrap().group, "a");
    assert!(schedule.next(at(0)).is_none());
}

#[test]
fn a_turn_knows_since_when_its_group_waited() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Current), None);
    change(&mut schedule, 3, Change::config());
    schedule.release(at(7));
    schedule.release(at(8));
    assert_eq!(schedule.next(at(9)).unwrap().0.since, at(7));
}

#[test]
fn a_change_that_names_groups_is_none_of_the_others_business() {
    let mut schedule = schedule(1, &["a", "b"]);
    assert_eq!(work_off(&mut schedule), ["a", "b"]);
    change(
        &mut schedule,
        2,
        Change::config().in_groups(["b", "nobody"]),
    );
    assert!(schedule.is_idle(), "it is not released");
    schedule.release(at(0));
    assert_eq!(schedule.behind(), BTreeMap::from([("b", revision(2))]));
    assert_eq!(work_off(&mut schedule), ["b"]);
    hand_in(&mut schedule, 3);
    assert_eq!(work_off(&mut schedule), ["a", "b"]);
}

#[test]
fn the_first_model_is_for_everyone_whomever_it_names() {
    let mut schedule = schedule(0, &["a", "b"]);
    change(&mut schedule, 1, Change::config().in_groups(["b"]));
    schedule.release(at(0));
    assert_eq!(work_off(&mut schedule), ["a", "b"]);
}

#[test]
fn a_group_is_behind_until_its_turn_with_what_concerns_it() {
    let mut schedule = schedule(1, &["a", "b"]);
    work_off(&mut schedule);
    change(&mut schedule, 2, Change::config().in_groups(["a"]));
    change(&mut schedule, 3, Change::config().in_groups(["b"]));
    let behind = [("a", revision(2)), ("b", revision(3))];
    assert_eq!(schedule.behind(), BTreeMap::from(behind));
    schedule.release(at(0));
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    assert_eq!(schedule.behind(), BTreeMap::from([behind[1]]));
    assert_eq!(schedule.attempted(&"a"), Some(revision(3)));
}

#[test]
fn a_group_is_given_what_was_said_of_changes_since_its_publication() {
    let mut schedule = schedule(1, &["a"]);
    change(&mut schedule, 2, Change::config().with_detail(20));
    assert_eq!(work(&mut schedule), "everything", "it had nothing");
    change(&mut schedule, 3, Change::config().with_detail(30));
    change(
        &mut schedule,
        4,
        Change::endpoints().in_groups(["a"]).with_detail(40),
    );
    change(
        &mut schedule,
        5,
        Change::config().in_groups(["b"]).with_detail(50),
    );
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "[30, 40]");
}

#[test]
fn a_group_that_has_nothing_is_given_everything_whatever_is_said() {
    let mut schedule = schedule(0, &["a"]);
    change(&mut schedule, 1, Change::config().with_detail(10));
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "everything");
}

#[test]
fn what_is_said_during_a_turn_is_for_the_next() {
    let mut schedule = schedule(1, &["a"]);
    work_off(&mut schedule);
    change(&mut schedule, 2, Change::config().with_detail(20));
    schedule.release(at(0));
    change(&mut schedule, 3, Change::config().with_detail(30));
    let (turn, assignment) = schedule.next(at(0)).unwrap();
    assert_eq!(
        describe(&assignment),
        "[20, 30]",
        "the newest model shows both"
    );
    change(&mut schedule, 4, Change::config().with_detail(40));
    schedule.release(at(0));
    assert_eq!(schedule.finish(&turn, Ending::Current, None), None);
    assert_eq!(work(&mut schedule), "[40]");
}

#[test]
fn a_change_without_details_is_a_change_of_everything() {
    let mut schedule = schedule(1, &["a"]);
    work_off(&mut schedule);
    change(&mut schedule, 2, Change::config().with_detail(20));
    change(&mut schedule, 3, Change::config());
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "everything");
}

#[test]
fn endpoints_alone_are_translated_where_nothing_else_changed() {
    let mut schedule = schedule(1, &["a"]);
    work_off(&mut schedule);
    change(&mut schedule, 2, Change::endpoints());
    change(&mut schedule, 3, Change::endpoints().with_detail(30));
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "endpoints");
    let others = [Change::config(), Change::config().with_detail(40)];
    for (number, other) in [4, 6].into_iter().zip(others) {
        change(&mut schedule, number, Change::endpoints().in_groups(["a"]));
        change(&mut schedule, number + 1, other);
        schedule.release(at(0));
        assert_eq!(work(&mut schedule), "everything");
    }
}

#[test]
fn after_a_failure_everything_is_translated() {
    let mut schedule = schedule(1, &["a"]);
    work_off(&mut schedule);
    change(&mut schedule, 2, Change::config().with_detail(20));
    schedule.release(at(0));
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    change(&mut schedule, 3, Change::config().with_detail(30));
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "everything");
    change(&mut schedule, 4, Change::config().with_detail(40));
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "[40]");
}

#[test]
fn without_a_thread_nothing_is_lost() {
    let mut schedule = schedule(1, &["a"]);
    work_off(&mut schedule);
    change(&mut schedule, 2, Change::config().with_detail(20));
    schedule.release(at(0));
    assert_eq!(run(&mut schedule, Ending::NotTried), None);
    schedule.retry_not_tried();
    assert_eq!(work(&mut schedule), "[20]");
}

#[test]
fn a_group_that_is_told_too_much_is_translated_in_full() {
    let mut schedule = schedule(1, &["a"]);
    work_off(&mut schedule);
    for number in 2..=5 {
        change(&mut schedule, number, Change::config().with_detail(number));
    }
    schedule.release(at(0));
    assert_eq!(work(&mut schedule), "everything");
}

#[test]
fn an_allowance_is_for_the_groups_that_the_change_concerns() {
    let mut schedule = schedule(1, &["a", "b"]);
    work_off(&mut schedule);
    change(
        &mut schedule,
        2,
        Change::config().in_groups(["a"]).allow_mass_deletion(),
    );
    hand_in(&mut schedule, 3);
    let asks_guard = [(); 2].map(|()| {
        let (turn, assignment) = schedule.next(at(0)).unwrap();
        assert_eq!(schedule.finish(&turn, Ending::Current, None), None);
        (turn.group, assignment.asks_guard)
    });
    assert_eq!(asks_guard, [("a", AsksGuard::No), ("b", AsksGuard::Yes)]);
}

#[test]
fn a_turn_knows_what_was_published_last() {
    let mut schedule = schedule(1, &["a"]);
    let shown = Shown {
        generation: Generation::default().next(),
        value: [Snapshot::empty().id(); 2],
    };
    let turn = next(&mut schedule).unwrap();
    assert_eq!(schedule.finish(&turn, Ending::Current, Some(shown)), None);
    hand_in(&mut schedule, 2);
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    hand_in(&mut schedule, 3);
    let (_, assignment) = schedule.next(at(0)).unwrap();
    assert_eq!(assignment.shown, Some(shown));
}

#[derive(Clone, Debug)]
enum Step {
    Came(&'static str),
    Went(&'static str),
    HandIn {
        groups: Vec<&'static str>,
        detailed: bool,
    },
    Release,
    Next,
    Finish(Ending),
    Expire,
    Retry,
}

const GROUPS: [&str; 3] = ["a", "b", "c"];

fn step() -> impl Strategy<Value = Step> {
    let group = prop::sample::select(&GROUPS[..]);
    let ending = prop::sample::select(vec![Ending::Current, Ending::Failed, Ending::NotTried]);
    // Of no groups: for all.
    let groups = prop::sample::subsequence(&GROUPS[..], 0..3);
    let hand_in = (groups, any::<bool>());
    prop_oneof![
        group.clone().prop_map(Step::Came),
        group.prop_map(Step::Went),
        hand_in.prop_map(|(groups, detailed)| Step::HandIn { groups, detailed }),
        Just(Step::Release),
        Just(Step::Next),
        ending.prop_map(Step::Finish),
        Just(Step::Expire),
        Just(Step::Retry),
    ]
}

/// What each group's publication shows, if a translation of everything shows every change up to its model, and one of
/// details those that it was told.
#[derive(Default)]
struct Shows {
    newest: u64,
    /// The changes, by number, that concern a group that is here.
    wanted: BTreeMap<&'static str, BTreeSet<u64>>,
    shown: BTreeMap<&'static str, BTreeSet<u64>>,
    running: Vec<(Turn<&'static str>, Assignment<u64>)>,
}

impl Shows {
    fn hand_in(&mut self, schedule: &mut TestSchedule, groups: &[&'static str], detailed: bool) {
        self.newest += 1;
        let mut handed_in = match groups {
            [] => Change::config(),
            groups => Change::config().in_groups(groups.iter().copied()),
        };
        if detailed {
            handed_in = handed_in.with_detail(self.newest);
        }
        change(schedule, self.newest, handed_in);
        for (name, wanted) in &mut self.wanted {
            if groups.is_empty() || groups.contains(name) {
                wanted.insert(self.newest);
            }
        }
    }

    /// The last turn that began ends.
    fn finish(&mut self, schedule: &mut TestSchedule, ending: Ending) {
        let Some((turn, assignment)) = self.running.pop() else {
            return;
        };
        if ending == Ending::Current {
            let shown = self.shown.entry(turn.group).or_default();
            match assignment.work {
                Work::Details(details) => shown.extend(details.iter().map(|said| **said)),
                _ => shown.extend(1..=turn.revision.get()),
            }
        }
        if let Some(forgotten) = schedule.finish(&turn, ending, None) {
            self.forget(&forgotten);
        }
    }

    fn forget(&mut self, forgotten: &Forgotten<&'static str>) {
        self.wanted.remove(forgotten.group);
        self.shown.remove(forgotten.group);
    }
}

proptest! {
    /// Whatever happened: no group runs twice at once; once all went well again, every group's publication shows every
    /// change that concerned it, and only the groups that are here are left.
    #[test]
    fn every_group_is_shown_what_concerns_it(steps in prop::collection::vec(step(), 0..120)) {
        let mut schedule = Schedule::new(at(1), MOST_DETAILS);
        let (mut here, mut shows) = (BTreeSet::new(), Shows::default());
        for (now, step) in steps.into_iter().enumerate() {
            let now = at(now as u64);
            match step {
                Step::Came(group) if here.insert(group) => {
                    schedule.came(group, now);
                    shows.wanted.entry(group).or_default();
                }
                Step::Went(group) if here.remove(group) => {
                    if let Some(forgotten) = schedule.went(&group, now) {
                        shows.forget(&forgotten);
                    }
                }
                Step::HandIn { groups, detailed } => shows.hand_in(&mut schedule, &groups, detailed),
                Step::Release => schedule.release(now),
                Step::Next => if let Some((turn, assignment)) = schedule.next(now) {
                    prop_assert!(shows.running.iter().all(|(other, _)| other.group != turn.group));
                    shows.running.push((turn, assignment));
                },
                Step::Finish(ending) => shows.finish(&mut schedule, ending),
                Step::Expire => for forgotten in schedule.expire(now) {
                    shows.forget(&forgotten);
                },
                Step::Retry => schedule.retry_not_tried(),
                Step::Came(_) | Step::Went(_) => {}
            }
            prop_assert!(here.iter().all(|group| schedule.groups.contains_key(group)));
            prop_assert!(schedule.leaving.len() <= schedule.groups.len());
            prop_assert!(schedule.named.len() <= schedule.groups.len());
        }
        while !shows.running.is_empty() {
            shows.finish(&mut schedule, Ending::Current);
        }
        // One more change, which those that failed take as an occasion, while the others are told of it alone.
        shows.hand_in(&mut schedule, &[], true);
        schedule.release(at(1000));
        while let Some(next) = schedule.next(at(1000)) {
            shows.running.push(next);
            shows.finish(&mut schedule, Ending::Current);
        }
        prop_assert!(schedule.behind().is_empty());
        for (group, wanted) in &shows.wanted {
            prop_assert!(wanted.is_subset(&shows.shown[group]), "{} lacks some of {:?}", group, wanted);
        }
        for forgotten in schedule.expire(Duration::MAX) {
            shows.forget(&forgotten);
        }
        prop_assert!(schedule.groups.keys().eq(&here));
    }
}
