use portolan_core::well_known::{LISTENER, ROUTE, SECRET};
use portolan_core::{Lookup, RefusalKind};

use super::*;

#[test]
fn each_type_is_that_of_its_part() {
    let (ends, others, mux) = by_type();
    ends.publish(snapshot(&[(ENDPOINT, "a", "1"), (CLUSTER, "stray", "1")]));
    others.publish(snapshot(&[(CLUSTER, "a", "1"), (ENDPOINT, "stray", "1")]));
    let view = open(&mux, "n");
    assert_eq!(seen(&*view), pairs(&[("a", "1")]));
    assert_eq!(contents(&set(&*view, &CLUSTER)), pairs(&[("a", "1")]));
    assert!(set(&*view, &LISTENER).is_empty());
}

#[test]
fn what_a_part_has_is_the_same_value_in_the_whole() {
    let (ends, others, mux) = by_type();
    let (mine, theirs) = (endpoints(&[("a", "1")]), clusters(&["a"]));
    ends.publish(mine.clone());
    others.publish(theirs.clone());
    let view = open(&mux, "n");
    let id = |set: Option<&ResourceSet>| set.map(ResourceSet::id);
    let publication = load(&*view);
    let whole = publication.snapshot();
    assert_eq!(id(whole.set(&ENDPOINT)), id(mine.set(&ENDPOINT)));
    assert_eq!(id(whole.set(&CLUSTER)), id(theirs.set(&CLUSTER)));
    let other = load(&*open(&mux, "n"));
    assert_eq!(other.snapshot().id(), whole.id(), "it is put together once");
}

#[test]
fn a_part_that_has_not_spoken_leaves_its_types_pending() {
    let (ends, others, mux) = by_type();
    let view = open(&mux, "n");
    assert!(view.load().is_none(), "nobody has published anything");
    ends.publish(endpoints(&[]));
    let publication = load(&*view);
    let snapshot = publication.snapshot();
    assert!(matches!(snapshot.lookup(&ENDPOINT, "a"), Lookup::Absent));
    assert!(matches!(snapshot.lookup(&CLUSTER, "a"), Lookup::Pending));
    others.publish(clusters(&[]));
    assert!(set(&*view, &CLUSTER).is_empty());
    ends.clear();
    let publication = load(&*view);
    let snapshot = publication.snapshot();
    assert!(matches!(snapshot.lookup(&ENDPOINT, "a"), Lookup::Pending));
    assert!(matches!(snapshot.lookup(&CLUSTER, "a"), Lookup::Absent));
    let last = publication.generation();
    others.clear();
    assert!(view.load().is_none());
    others.publish(clusters(&["a"]));
    assert_eq!(load(&*view).generation(), last.next(), "numbers go on");
}

#[test]
fn a_union_speaks_when_all_its_parts_do() {
    let ([a, b], mux) = union();
    let view = open(&mux, "n");
    a.publish(endpoints(&[("a", "1")]));
    let speaks = || load(&*view).snapshot().set(&ENDPOINT).is_some();
    assert!(!speaks());
    let mut partial = Snapshot::builder();
    partial.only([LISTENER]);
    b.publish(partial.build());
    assert!(!speaks(), "one of them speaks of other types only");
    b.publish(endpoints(&[("b", "1")]));
    assert_eq!(seen(&*view), pairs(&[("a", "1"), ("b", "1")]));
    a.clear();
    assert!(!speaks());
}

#[test]
fn a_union_of_all_types_speaks_for_what_all_its_parts_speak_for() {
    let parts = [Own::default(), Own::default()];
    let mut mux = MuxCache::builder();
    let ids = parts.clone().map(|part| mux.part("", Arc::new(part)));
    mux.otherwise(ids).route(SECRET, []);
    let mux = mux.build();
    parts[0].publish(clusters(&["a"]));
    let view = open(&mux, "n");
    assert!(load(&*view).snapshot().set(&CLUSTER).is_none());
    let mut partial = Snapshot::builder();
    partial.only([CLUSTER, ENDPOINT, SECRET]);
    partial.insert(resource(&ENDPOINT, "b", "1")).unwrap();
    parts[1].publish(partial.build());
    assert_eq!(contents(&set(&*view, &CLUSTER)), pairs(&[("a", "1")]));
    assert_eq!(seen(&*view), pairs(&[("b", "1")]));
    let publication = load(&*view);
    for url in [LISTENER, SECRET, "another".into()] {
        assert!(publication.snapshot().set(&url).is_none(), "{url}");
    }
}

#[test]
fn a_part_may_be_chosen_by_node() {
    let parts = [Own::default(), Own::default()];
    let mut mux = MuxCache::builder();
    let [blue, green] = parts.clone().map(|part| mux.part("", Arc::new(part)));
    mux.route_by([ROUTE, ENDPOINT], move |node, _, url| {
        match (node.id(), *url == ENDPOINT) {
            ("none", _) => None,
            ("blue", _) | (_, true) => Some(blue),
            _ => Some(green),
        }
    });
    let mux = mux.build();
    let tables = |body| snapshot(&[(ROUTE, "a", body), (ENDPOINT, "a", body)]);
    parts[0].publish(tables("blue"));
    parts[1].publish(tables("green"));
    let blue = open(&mux, "blue");
    assert_eq!([0, 1].map(|part: usize| parts[part].views()), [1, 0]);
    assert_eq!(contents(&set(&*blue, &ROUTE)), pairs(&[("a", "blue")]));
    let green = open(&mux, "green");
    assert_eq!(contents(&set(&*green, &ROUTE)), pairs(&[("a", "green")]));
    assert_eq!(seen(&*green), pairs(&[("a", "blue")]));
    assert!(load(&*green).snapshot().set(&CLUSTER).is_none());
    assert!(open(&mux, "none").load().is_none());
}

#[test]
fn what_is_declared_last_counts_and_a_route_goes_before_a_choice() {
    let parts = [Own::default(), Own::default()];
    let mut mux = MuxCache::builder();
    let [a, b] = parts.clone().map(|part| mux.part("", Arc::new(part)));
    mux.route(ENDPOINT, [b]).route(ENDPOINT, [a, a]);
    mux.route_by([ENDPOINT, CLUSTER], move |_, _, _| Some(b));
    let mux = mux.build();
    parts[0].publish(endpoints(&[("a", "1")]));
    parts[1].publish(endpoints(&[("b", "1")]));
    assert_eq!(seen(&*open(&mux, "n")), pairs(&[("a", "1")]));
}

#[test]
fn one_part_that_refuses_refuses_the_stream() {
    let (ends, others, mux) = by_type();
    others.refuse();
    let waker = Waker::noop().clone();
    let refused = mux.open(&Arc::new(Node::new("n")), &Peer::unknown(), waker);
    assert_eq!(refused.unwrap_err().kind(), RefusalKind::Denied);
    assert_eq!(ends.views(), 0, "what was opened before is closed");
}

#[test]
fn a_label_is_shown_where_the_parts_agree() {
    let ([a, b], mux) = union();
    let labelled = |name: &str, label: &str| {
        let mut labelled = endpoints(&[(name, "1")]).edit();
        labelled.label(ENDPOINT, label).label(CLUSTER, label);
        labelled.build()
    };
    let view = open(&mux, "n");
    a.publish(labelled("a", "v1"));
    b.publish(labelled("b", "v1"));
    let first = load(&*view);
    assert_eq!(first.snapshot().version_info(&ENDPOINT), "v1");
    let mut again = labelled("b", "v1").edit();
    again.label(ENDPOINT, "v2");
    b.redecorate(again.build());
    let second = load(&*view);
    assert!(second.snapshot().label(&ENDPOINT).is_none());
    assert_eq!(second.snapshot().version_info(&CLUSTER), "v1");
    assert_eq!(second.generation(), first.generation(), "labels decorate");
}

#[test]
fn a_publication_of_a_part_is_one_of_the_stream() {
    let (ends, others, mux) = by_type();
    let view = open(&mux, "n");
    ends.publish(endpoints(&[("a", "1")]));
    let first = load(&*view);
    assert_eq!(load(&*view).generation(), first.generation());
    others.publish(clusters(&["a"]));
    ends.publish(endpoints(&[("a", "1")]));
    let second = load(&*view);
    assert_eq!(second.generation(), first.generation().next());
    assert_eq!(second.type_generation(&ENDPOINT), first.generation());
    assert_eq!(second.type_generation(&CLUSTER), second.generation());
}

/// Endpoints are read first, so that both writes fall between the two reads.
#[test]
fn parts_are_seen_as_they_were_at_one_moment() {
    let (ends, others, mux) = by_type();
    ends.publish(endpoints(&[]));
    others.publish(clusters(&[]));
    let view = open(&mux, "n");
    let writers = (ends.clone(), others);
    ends.after_load(move || {
        writers.0.publish(endpoints(&[("a", "1")]));
        writers.1.publish(clusters(&["a"]));
    });
    assert_eq!(set(&*view, &CLUSTER).len(), 1);
    assert_eq!(seen(&*view), pairs(&[("a", "1")]));
    let once = load(&*view);
    assert_eq!(once.generation().get(), 1, "it was never shown half of it");
}

#[test]
fn a_mux_may_be_a_part() {
    let (ends, others, inner) = by_type();
    let own = Own::default();
    let mut mux = MuxCache::builder();
    let inner = mux.part("inner", Arc::new(inner));
    let first = mux.part("own", Arc::new(own.clone()));
    mux.otherwise([inner]).route(ENDPOINT, [first, inner]);
    let mux = mux.build();
    ends.publish(endpoints(&[("a", "1"), ("b", "1")]));
    others.publish(clusters(&["a"]));
    own.publish(endpoints(&[("b", "2")]));
    let view = open(&mux, "n");
    assert_eq!(seen(&*view), pairs(&[("a", "1"), ("b", "2")]));
    assert_eq!(set(&*view, &CLUSTER).len(), 1);
}
