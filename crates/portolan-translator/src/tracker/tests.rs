use std::collections::BTreeSet;

use portolan_core::well_known::{CLUSTER, LISTENER};
use portolan_core::{TypeUrl, Version};
use proptest::prelude::*;

use super::*;

const FOREVER: Duration = Duration::from_secs(3600);

type Tracker = DeliveryTracker<&'static str>;
type Outcomes = BTreeMap<Arc<str>, NodeOutcome>;

fn generation(number: u64) -> Generation {
    (0..number).fold(Generation::default(), |generation, _| generation.next())
}

fn open(tracker: &Tracker, view: u64, node: &str) {
    tracker.opened(&"g", ViewId::new(view), &Node::new(node));
}

fn close(tracker: &Tracker, view: u64) {
    tracker.closed(&"g", ViewId::new(view));
}

fn settle(tracker: &Tracker, view: u64, number: u64, rejecting: bool) {
    let settlement = Settlement::new(generation(number), rejecting);
    tracker.settled(&"g", ViewId::new(view), settlement);
}

fn deliver(tracker: &Tracker, view: u64, type_url: &TypeUrl, outcome: DeliveryOutcome<'_>) {
    let (node, version) = (Node::default(), Version::from("v"));
    let delivery = Delivery::new(0, &node, type_url, &version, generation(1), outcome);
    tracker.delivered(&"g", ViewId::new(view), &delivery);
}

fn begin(tracker: &Tracker, number: u64) -> Wait<'_, &'static str> {
    let wait = tracker.begin(&WaitScope::all());
    wait.aim(&"g", generation(number));
    wait
}

fn end(wait: Wait<'_, &'static str>) -> Outcomes {
    wait.end().remove("g").unwrap_or_default()
}

fn is_over(wait: &Wait<'_, &'static str>) -> bool {
    let mut settled = std::pin::pin!(wait.settled());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    settled.as_mut().poll(&mut context).is_ready()
}

fn nacked(rejections: &[(&TypeUrl, &str)]) -> NodeOutcome {
    let rejections = rejections.iter();
    NodeOutcome::Nacked {
        rejections: rejections
            .map(|(url, text)| Rejection::new((*url).clone(), text))
            .collect(),
    }
}

#[test]
fn a_node_has_accepted_what_all_its_streams_accepted() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    open(&tracker, 2, "a");
    settle(&tracker, 1, 3, false);
    let wait = begin(&tracker, 3);
    assert!(!is_over(&wait));
    settle(&tracker, 2, 3, false);
    assert!(is_over(&wait));
    assert_eq!(end(wait)["a"], NodeOutcome::Acked);
}

#[test]
fn what_was_accepted_before_anybody_waited_is_accepted() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    settle(&tracker, 1, 3, false);
    let wait = begin(&tracker, 3);
    assert!(is_over(&wait));
    assert_eq!(end(wait)["a"], NodeOutcome::Acked);
}

#[test]
fn an_older_publication_settles_nothing() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    settle(&tracker, 1, 2, false);
    let wait = begin(&tracker, 3);
    settle(&tracker, 1, 2, true);
    assert!(!is_over(&wait));
    assert_eq!(end(wait)["a"], NodeOutcome::Pending);
}

#[test]
fn a_node_that_skips_the_publication_is_superseded() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    let wait = begin(&tracker, 3);
    deliver(&tracker, 1, &CLUSTER, DeliveryOutcome::Nacked("no"));
    settle(&tracker, 1, 5, true);
    assert!(is_over(&wait));
    let expected = NodeOutcome::Superseded {
        by: generation(5),
        rejections: vec![Rejection::new(CLUSTER, "no")],
    };
    assert_eq!(end(wait)["a"], expected);
}

#[test]
fn what_a_node_settled_on_first_counts() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    open(&tracker, 2, "a");
    let wait = begin(&tracker, 3);
    settle(&tracker, 1, 3, false);
    settle(&tracker, 1, 4, true);
    settle(&tracker, 2, 3, false);
    settle(&tracker, 2, 4, true);
    assert_eq!(end(wait)["a"], NodeOutcome::Acked);
}

#[test]
fn one_stream_that_rejects_speaks_for_the_node() {
    let tracker = Tracker::new();
    for view in 1..=3 {
        open(&tracker, view, "a");
    }
    let wait = begin(&tracker, 3);
    settle(&tracker, 1, 3, false);
    deliver(
        &tracker,
        2,
        &CLUSTER,
        DeliveryOutcome::Nacked("no such filter"),
    );
    settle(&tracker, 2, 3, true);
    settle(&tracker, 3, 4, false);
    assert_eq!(end(wait)["a"], nacked(&[(&CLUSTER, "no such filter")]));
}

#[test]
fn a_node_that_comes_back_is_followed() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    let wait = begin(&tracker, 3);
    close(&tracker, 1);
    assert!(!is_over(&wait), "it may come back");
    open(&tracker, 2, "a");
    settle(&tracker, 2, 3, false);
    assert!(is_over(&wait));
    assert_eq!(end(wait)["a"], NodeOutcome::Acked);
}

#[test]
fn a_node_that_stays_away_is_gone() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    open(&tracker, 2, "b");
    let wait = begin(&tracker, 3);
    settle(&tracker, 2, 3, false);
    close(&tracker, 1);
    close(&tracker, 2);
    let outcomes = end(wait);
    assert_eq!(outcomes["a"], NodeOutcome::Gone);
    assert_eq!(
        outcomes["b"],
        NodeOutcome::Acked,
        "it had it before it went"
    );
    assert!(tracker.shard(&"g").is_empty());
}

#[test]
fn a_stream_that_ends_is_not_waited_for() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    open(&tracker, 2, "a");
    let wait = begin(&tracker, 3);
    settle(&tracker, 1, 3, false);
    close(&tracker, 2);
    assert!(is_over(&wait));
    assert_eq!(end(wait)["a"], NodeOutcome::Acked);
}

#[test]
fn nodes_that_come_later_are_not_waited_for() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    let wait = begin(&tracker, 3);
    open(&tracker, 2, "b");
    settle(&tracker, 1, 3, false);
    assert!(is_over(&wait));
    assert_eq!(end(wait).len(), 1);
}

#[test]
fn a_scope_is_all_or_some_groups_or_some_nodes() {
    let tracker = Tracker::new();
    for (view, (group, node)) in [("g", "a"), ("g", "b"), ("h", "b"), ("i", "c")]
        .into_iter()
        .enumerate()
    {
        tracker.opened(&group, ViewId::new(view as u64), &Node::new(node));
    }
    let in_scope = |scope: WaitScope<&'static str>| -> Vec<String> {
        let outcomes = tracker.begin(&scope).end().into_iter();
        let nodes = outcomes.flat_map(|(group, nodes)| {
            nodes.into_keys().map(move |node| format!("{group}/{node}"))
        });
        nodes.collect()
    };
    assert_eq!(in_scope(WaitScope::all()), ["g/a", "g/b", "h/b", "i/c"]);
    assert_eq!(in_scope(WaitScope::groups(["g", "x"])), ["g/a", "g/b"]);
    assert_eq!(in_scope(WaitScope::nodes(["b", "x"])), ["g/b", "h/b"]);
    assert!(in_scope(WaitScope::nodes([""; 0])).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_last_node_or_the_deadline() {
    let tracker = Arc::new(Tracker::new());
    open(&tracker, 1, "a");
    let waiting = tokio::spawn({
        let tracker = Arc::clone(&tracker);
        async move { tracker.wait(&"g", generation(1), FOREVER).await }
    });
    tokio::task::yield_now().await;
    settle(&tracker, 1, 1, false);
    assert_eq!(waiting.await.unwrap()["a"], NodeOutcome::Acked);
    let outcomes = tracker.wait(&"g", generation(2), FOREVER).await;
    assert_eq!(outcomes["a"], NodeOutcome::Pending);
    assert!(
        tracker
            .wait(&"nobody", generation(1), FOREVER)
            .await
            .is_empty()
    );
}

#[test]
fn a_wait_that_is_dropped_leaves_nothing() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    drop(begin(&tracker, 1));
    close(&tracker, 1);
    assert!(tracker.shard(&"g").is_empty());
}

#[test]
fn nodes_that_nobody_waits_for_any_more_hold_up_nobody() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    let wait = begin(&tracker, 1);
    wait.give_up(&"g");
    assert!(is_over(&wait));
    assert!(end(wait).is_empty());
}

#[test]
fn rejections_that_were_made_good_are_not_told() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    deliver(&tracker, 1, &CLUSTER, DeliveryOutcome::Nacked("old"));
    deliver(&tracker, 1, &CLUSTER, DeliveryOutcome::Nacked("new"));
    deliver(
        &tracker,
        1,
        &LISTENER,
        DeliveryOutcome::Nacked("port in use"),
    );
    deliver(&tracker, 1, &LISTENER, DeliveryOutcome::Acked);
    settle(&tracker, 1, 1, true);
    assert_eq!(end(begin(&tracker, 1))["a"], nacked(&[(&CLUSTER, "new")]));

    // In delta what was rejected may still be, though other resources of the type were accepted.
    deliver(&tracker, 1, &CLUSTER, DeliveryOutcome::Acked);
    settle(&tracker, 1, 2, true);
    let both = nacked(&[(&CLUSTER, "new"), (&LISTENER, "port in use")]);
    assert_eq!(end(begin(&tracker, 2))["a"], both);

    settle(&tracker, 1, 3, false);
    settle(&tracker, 1, 4, true);
    assert_eq!(end(begin(&tracker, 4))["a"], nacked(&[]));
}

#[test]
fn a_stream_that_rejects_many_types_is_remembered_for_some() {
    let tracker = Tracker::new();
    open(&tracker, 1, "a");
    for number in 0..100 {
        let type_url = TypeUrl::from(format!("type.googleapis.com/acme.v1.T{number}"));
        deliver(&tracker, 1, &type_url, DeliveryOutcome::Nacked("no"));
    }
    settle(&tracker, 1, 1, true);
    match end(begin(&tracker, 1)).remove("a") {
        Some(NodeOutcome::Nacked { rejections }) => {
            assert_eq!(rejections.len(), 8);
            assert_eq!(rejections[7].type_url().message_name(), "acme.v1.T99");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn threads_that_meet_leave_nothing_behind_and_every_wait_ends() {
    let tracker = Tracker::new();
    let groups = ["g", "h", "i"];
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let tracker = &tracker;
            scope.spawn(move || {
                for round in 0..500 {
                    let view = ViewId::new(thread * 1000 + round);
                    let group = groups[(thread + round) as usize % groups.len()];
                    tracker.opened(&group, view, &Node::new(format!("n{}", round % 7)));
                    for number in 1..4 {
                        tracker.settled(&group, view, Settlement::new(generation(number), false));
                    }
                    tracker.closed(&group, view);
                }
            });
            scope.spawn(move || {
                for _ in 0..500 {
                    let wait = tracker.begin(&WaitScope::all());
                    for group in wait.groups() {
                        wait.aim(group, generation(thread % 4));
                    }
                    let over = is_over(&wait);
                    let mut outcomes = wait.end().into_values().flat_map(BTreeMap::into_values);
                    assert!(!over || outcomes.all(|outcome| outcome.is_accepted()));
                }
            });
        }
    });
    assert!(tracker.shards.iter().all(|shard| lock(shard).is_empty()));
}

#[derive(Clone, Debug)]
enum Step {
    Open(usize),
    Close(usize),
    Settle {
        view: usize,
        skip: u64,
        rejecting: bool,
    },
    Publish,
    Begin,
    Aim(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let view = any::<usize>();
    prop_oneof![
        2 => (0..NODES.len()).prop_map(Step::Open),
        2 => view.prop_map(Step::Close),
        6 => (view, 0..3_u64, any::<bool>())
            .prop_map(|(view, skip, rejecting)| Step::Settle { view, skip, rejecting }),
        2 => Just(Step::Publish),
        1 => Just(Step::Begin),
        2 => view.prop_map(Step::Aim),
    ]
}

const NODES: [&str; 3] = ["a", "b", "c"];

/// A wait, whom it is for, and what publication it was aimed at and when.
type Waiting<'a> = (
    Wait<'a, &'static str>,
    BTreeSet<&'static str>,
    Option<(u64, usize)>,
);

/// A stream's life, by the number of the step in which something happened.
#[derive(Debug)]
struct Life {
    node: &'static str,
    opened: usize,
    closed: usize,
    settled: Vec<(usize, u64, bool)>,
}

impl Life {
    fn is_open(&self, at: usize) -> bool {
        self.opened <= at && at < self.closed
    }

    /// Where the stream had come to rest at a time, for somebody who waits for `target` since `aimed`: where it was
    /// then, or else the first place that is far enough.
    fn rest(&self, target: u64, aimed: usize, at: usize) -> Option<(u64, bool)> {
        let before = self.settled.iter().rev().find(|(step, ..)| *step <= aimed);
        let after = self
            .settled
            .iter()
            .filter(|(step, ..)| aimed < *step && *step <= at);
        let far_enough = |(_, number, _): &&(usize, u64, bool)| *number >= target;
        let rest = before.into_iter().chain(after).find(far_enough);
        rest.map(|(_, number, rejecting)| (*number, *rejecting))
    }
}

/// What became of a publication at a node, found out from the lives of all streams.
fn expected(lives: &[Life], node: &str, aimed: Option<(u64, usize)>, now: usize) -> String {
    let streams: Vec<_> = lives.iter().filter(|life| life.node == node).collect();
    if let Some((target, aimed)) = aimed {
        for at in aimed..=now {
            let open: Vec<_> = streams.iter().filter(|life| life.is_open(at)).collect();
            let rests: Option<Vec<_>> = open
                .iter()
                .map(|life| life.rest(target, aimed, at))
                .collect();
            let Some(rests) = rests.filter(|rests| !rests.is_empty()) else {
                continue;
            };
            let newest = rests.iter().map(|rest| rest.0).max().unwrap_or(target);
            return match rests.contains(&(target, true)) {
                true => "rejected".to_owned(),
                false if newest > target => format!("superseded by {newest}"),
                false => "accepted".to_owned(),
            };
        }
    }
    match streams.iter().any(|life| life.is_open(now)) {
        true => "pending".to_owned(),
        false => "gone".to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_wait_finds_out_what_hindsight_says(steps in prop::collection::vec(step(), 0..80)) {
        let tracker = Tracker::new();
        let mut lives: Vec<Life> = Vec::new();
        let mut waits: Vec<Waiting<'_>> = Vec::new();
        let (mut newest, mut now) = (1, 0);
        for step in steps {
            now += 1;
            let open: Vec<_> = (0..lives.len()).filter(|at| lives[*at].is_open(now)).collect();
            let pick = |index: usize| open.get(index % open.len().max(1)).copied();
            match step {
                Step::Open(node) => {
                    self::open(&tracker, lives.len() as u64, NODES[node]);
                    lives.push(Life { node: NODES[node], opened: now, closed: usize::MAX, settled: Vec::new() });
                }
                Step::Close(index) => if let Some(at) = pick(index) {
                    close(&tracker, at as u64);
                    lives[at].closed = now;
                },
                Step::Settle { view, skip, rejecting } => if let Some(at) = pick(view) {
                    let last = lives[at].settled.last().map_or(1, |last| last.1);
                    let number = (last + skip).min(newest);
                    settle(&tracker, at as u64, number, rejecting);
                    lives[at].settled.push((now, number, rejecting));
                },
                Step::Publish => newest += 1,
                Step::Begin => {
                    let nodes = open.iter().map(|at| lives[*at].node).collect();
                    waits.push((tracker.begin(&WaitScope::all()), nodes, None));
                }
                Step::Aim(index) => {
                    let unaimed = waits.iter_mut().filter(|(.., aimed)| aimed.is_none());
                    let mut unaimed: Vec<_> = unaimed.collect();
                    let at = index % unaimed.len().max(1);
                    if let Some((wait, _, aimed)) = unaimed.get_mut(at) {
                        wait.aim(&"g", generation(newest));
                        *aimed = Some((newest, now));
                    }
                }
            }
        }
        for (wait, nodes, aimed) in waits {
            let over = is_over(&wait);
            let outcomes = wait.end().remove("g").unwrap_or_default();
            let found: BTreeMap<_, _> = outcomes.iter().map(|(node, outcome)| {
                let text = outcome.to_string();
                (&**node, text.split(',').next().unwrap_or_default().to_owned())
            }).collect();
            let hindsight: BTreeMap<_, _> =
                nodes.iter().map(|node| (*node, expected(&lives, node, aimed, now))).collect();
            prop_assert_eq!(over, hindsight.values().all(|outcome| !["pending", "gone"].contains(&&**outcome)));
            prop_assert_eq!(found, hindsight);
        }
        for at in (0..lives.len()).filter(|at| lives[*at].is_open(now)) {
            close(&tracker, at as u64);
        }
        prop_assert!(tracker.shard(&"g").is_empty(), "something is left");
    }
}
