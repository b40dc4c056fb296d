use proptest::prelude::*;

use super::*;

const LINGER: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn revision(number: u64) -> Revision {
    (0..number).fold(Revision::default(), |revision, _| revision.next())
}

fn schedule(newest: u64, groups: &[&'static str]) -> Schedule<&'static str> {
    let mut schedule = Schedule::new(LINGER);
    schedule.set_newest(revision(newest));
    schedule.release(at(0));
    for group in groups {
        schedule.came(*group, 0, at(0));
    }
    schedule
}

fn hand_in(schedule: &mut Schedule<&'static str>, number: u64) {
    schedule.set_newest(revision(number));
    schedule.release(at(0));
}

fn run(schedule: &mut Schedule<&'static str>, ending: Ending) -> Option<Forgotten<&'static str>> {
    let turn = schedule.next(at(0)).unwrap();
    schedule.finish(&turn, ending)
}

#[test]
fn a_group_that_comes_is_translated_at_once() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(schedule.next(at(0)).unwrap().revision, revision(1));
    assert!(schedule.next(at(0)).is_none());
}

#[test]
fn without_a_model_there_is_nothing_to_translate() {
    assert!(schedule(0, &["a"]).is_idle());
}

#[test]
fn a_running_group_gets_the_newer_model_after_its_turn() {
    let mut schedule = schedule(1, &["a"]);
    let turn = schedule.next(at(0)).unwrap();
    hand_in(&mut schedule, 2);
    hand_in(&mut schedule, 3);
    assert!(
        schedule.next(at(0)).is_none(),
        "never two turns of one group at once"
    );
    assert_eq!(schedule.finish(&turn, Ending::Current), None);
    assert_eq!(schedule.next(at(0)).unwrap().revision, revision(3));
}

#[test]
fn a_turn_with_a_model_that_is_released_later_serves_it() {
    let mut schedule = schedule(1, &["a"]);
    schedule.set_newest(revision(2));
    let turn = schedule.next(at(0)).unwrap();
    schedule.release(at(0));
    assert_eq!(schedule.finish(&turn, Ending::Current), None);
    assert!(schedule.is_idle());
}

#[test]
fn a_slow_group_holds_up_no_other() {
    let mut schedule = schedule(1, &["slow", "a"]);
    let slow = schedule.next(at(0)).unwrap();
    assert_eq!(slow.group, "slow");
    assert_eq!(run(&mut schedule, Ending::Current), None);
    hand_in(&mut schedule, 2);
    assert_eq!(schedule.next(at(0)).unwrap().group, "a");
}

#[test]
fn a_failed_group_is_not_tried_again_with_the_same_model() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    assert!(schedule.went(&"a", at(1)).is_none());
    schedule.came("a", 0, at(2));
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
    schedule.came("a", 0, at(59));
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
    let turn = schedule.next(at(0)).unwrap();
    assert_eq!(schedule.went(&"a", at(0)), None);
    assert_eq!(schedule.expire(at(60)), []);
    let forgotten = Forgotten {
        group: "a",
        published: false,
    };
    assert_eq!(schedule.finish(&turn, Ending::Failed), Some(forgotten));
}

#[test]
fn groups_without_a_thread_are_tried_again() {
    let mut schedule = schedule(1, &["a", "b"]);
    assert_eq!(run(&mut schedule, Ending::NotTried), None);
    assert_eq!(run(&mut schedule, Ending::Failed), None);
    assert!(schedule.is_idle());
    schedule.retry_not_tried();
    assert_eq!(schedule.next(at(0)).unwrap().group, "a");
    assert!(schedule.next(at(0)).is_none());
}

#[test]
fn a_turn_knows_since_when_its_group_waited() {
    let mut schedule = schedule(1, &["a"]);
    assert_eq!(run(&mut schedule, Ending::Current), None);
    schedule.set_newest(revision(3));
    schedule.release(at(7));
    schedule.release(at(8));
    assert_eq!(schedule.next(at(9)).unwrap().since, at(7));
}

#[derive(Clone, Debug)]
enum Step {
    Came(&'static str),
    Went(&'static str),
    HandIn,
    Release,
    Next,
    Finish(Ending),
    Expire,
    Retry,
}

fn step() -> impl Strategy<Value = Step> {
    let group = prop::sample::select(vec!["a", "b", "c"]);
    let ending = prop::sample::select(vec![Ending::Current, Ending::Failed, Ending::NotTried]);
    prop_oneof![
        group.clone().prop_map(Step::Came),
        group.prop_map(Step::Went),
        Just(Step::HandIn),
        Just(Step::Release),
        Just(Step::Next),
        ending.prop_map(Step::Finish),
        Just(Step::Expire),
        Just(Step::Retry),
    ]
}

proptest! {
    /// Whatever happened: no group runs twice at once, once the queue is worked off every group had a turn with the
    /// newest released model, and once all went well again only the groups that are here are left.
    #[test]
    fn every_group_gets_the_newest_model(steps in prop::collection::vec(step(), 0..120)) {
        let mut schedule = Schedule::new(at(1));
        let (mut here, mut running) = (BTreeSet::new(), Vec::<Turn<_>>::new());
        for (now, step) in steps.into_iter().enumerate() {
            let now = at(now as u64);
            match step {
                Step::Came(group) if here.insert(group) => schedule.came(group, 0, now),
                Step::Went(group) if here.remove(group) => drop(schedule.went(&group, now)),
                Step::HandIn => schedule.set_newest(schedule.newest.next()),
                Step::Release => schedule.release(now),
                Step::Next => if let Some(turn) = schedule.next(now) {
                    prop_assert!(running.iter().all(|other| other.group != turn.group));
                    running.push(turn);
                },
                Step::Finish(ending) => if let Some(turn) = running.pop() {
                    drop(schedule.finish(&turn, ending));
                },
                Step::Expire => drop(schedule.expire(now)),
                Step::Retry => schedule.retry_not_tried(),
                Step::Came(_) | Step::Went(_) => {}
            }
            prop_assert!(here.iter().all(|group| schedule.groups.contains_key(group)));
            prop_assert!(schedule.leaving.len() <= schedule.groups.len());
        }
        while let Some(turn) = running.pop().or_else(|| schedule.next(at(1000))) {
            drop(schedule.finish(&turn, Ending::Current));
        }
        let released = schedule.released;
        prop_assert_eq!(schedule.first_behind(None, released, 0), None);
        schedule.expire(Duration::MAX);
        schedule.set_newest(schedule.newest.next());
        schedule.release(at(1000));
        while let Some(turn) = schedule.next(at(1000)) {
            drop(schedule.finish(&turn, Ending::Current));
        }
        prop_assert!(schedule.groups.keys().eq(&here));
    }
}
