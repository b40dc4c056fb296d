use std::time::Duration;

use portolan_core::{Constraints, Lookup, Name, ResourceFailure};

use super::*;

#[test]
fn of_one_name_the_first_part_stands() {
    let ([a, b, c], mux) = union();
    a.publish(endpoints(&[("x", "a"), ("y", "a")]));
    b.publish(endpoints(&[("y", "b"), ("z", "b")]));
    c.publish(endpoints(&[("z", "c"), ("x", "c")]));
    let view = open(&mux, "n");
    let whole = [("x", "a"), ("y", "a"), ("z", "b")];
    assert_eq!(seen(&*view), pairs(&whole));
    a.publish(endpoints(&[("x", "a")]));
    assert_eq!(seen(&*view), pairs(&[("x", "a"), ("y", "b"), ("z", "b")]));
    a.publish(endpoints(&[]));
    b.publish(endpoints(&[]));
    assert_eq!(seen(&*view), pairs(&[("x", "c"), ("z", "c")]));
}

#[test]
fn c321_of_one_name_all_alternatives_are_of_one_part() {
    let ([a, b], mux) = union();
    let of = |value: &str| Name::from("x").with_constraints(&Constraints::value("env", value));
    let (prod, test) = (of("prod"), of("test"));
    let names = |view: &dyn View| {
        let set = set(view, &ENDPOINT);
        set.iter().map(|r| r.name().clone()).collect::<Vec<_>>()
    };
    a.publish(endpoints(&[(prod.as_str(), "a")]));
    b.publish(endpoints(&[
        (prod.as_str(), "b"),
        (test.as_str(), "b"),
        ("y", "b"),
    ]));
    let view = open(&mux, "n");
    assert_eq!(names(&*view), [prod.clone(), "y".into()]);
    a.publish(endpoints(&[]));
    assert_eq!(names(&*view), [prod, test, "y".into()]);
    a.publish(endpoints(&[("x", "a")]));
    assert_eq!(names(&*view), [Name::from("x"), "y".into()]);
}

#[test]
fn streams_share_one_merged_value_however_they_came_to_it() {
    let ([a, b], mux) = union();
    a.publish(endpoints(&[("a", "1")]));
    b.publish(endpoints(&[("b", "1")]));
    let follows = open(&mux, "n");
    let skips = open(&mux, "n");
    let first = set(&*follows, &ENDPOINT);
    assert_eq!(set(&*skips, &ENDPOINT).id(), first.id());
    a.publish(endpoints(&[("a", "2")]));
    assert_ne!(set(&*follows, &ENDPOINT).id(), first.id());
    b.publish(endpoints(&[("b", "2")]));
    let third = set(&*follows, &ENDPOINT);
    assert_eq!(set(&*skips, &ENDPOINT).id(), third.id());
    assert_eq!(set(&*open(&mux, "new"), &ENDPOINT).id(), third.id());
}

#[test]
fn a_value_outlives_its_streams_for_those_that_come_next() {
    let ([a, b], mux) = union();
    a.publish(endpoints(&[("a", "1")]));
    b.publish(endpoints(&[("b", "1")]));
    let first = set(&*open(&mux, "n"), &ENDPOINT);
    assert_eq!(set(&*open(&mux, "n"), &ENDPOINT).id(), first.id());
}

#[test]
fn a_change_is_told_as_the_difference_that_it_is() {
    let ([a, b], mux) = union();
    let many: Vec<_> = (0..1_000).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let all = endpoints(&many);
    a.publish(endpoints(&[("a", "1"), ("b", "1")]));
    b.publish(all.clone());
    let view = open(&mux, "n");
    let first = set(&*view, &ENDPOINT);
    a.publish(endpoints(&[("b", "1"), ("5", "2")]));
    let mut edit = all.edit();
    edit.upsert(resource(&ENDPOINT, "7", "2")).unwrap();
    b.publish(edit.build());
    let second = set(&*view, &ENDPOINT);
    let diff = second.diff_from(&first);
    let upserts: Vec<_> = diff.upserts().iter().map(|r| r.name().as_str()).collect();
    assert_eq!(upserts, ["5", "7"]);
    assert_eq!(*diff.removals(), [Name::from("a")]);
}

#[test]
fn versions_are_those_of_the_content() {
    let ([a, b], mux) = union();
    a.publish(endpoints(&[("a", "1"), ("b", "1")]));
    b.publish(endpoints(&[("b", "2"), ("c", "1")]));
    let merged = set(&*open(&mux, "n"), &ENDPOINT);
    let plain = endpoints(&[("a", "1"), ("b", "1"), ("c", "1")]);
    let plain = plain.set(&ENDPOINT).unwrap();
    assert_eq!(merged.version(), plain.version());
}

#[test]
fn a_time_to_live_that_changes_is_passed_on() {
    let ([a, b], mux) = union();
    let timed = |seconds| {
        let mut timed = Snapshot::builder();
        let ttl = Duration::from_secs(seconds);
        timed
            .insert(resource(&ENDPOINT, "a", "1").ttl(ttl))
            .unwrap();
        timed.build()
    };
    a.publish(timed(30));
    b.publish(endpoints(&[("b", "1")]));
    let view = open(&mux, "n");
    let first = set(&*view, &ENDPOINT);
    a.publish(timed(60));
    let second = set(&*view, &ENDPOINT);
    let ttl = second.get("a").and_then(Resource::ttl);
    assert_eq!(ttl, Some(Duration::from_secs(60)));
    assert_eq!(second.diff_from(&first).retimed().len(), 1);
}

#[test]
fn an_error_stands_and_hides_as_a_resource_does() {
    let ([a, b], mux) = union();
    let mut failed = Snapshot::builder();
    let failure = ResourceFailure::unavailable("not now");
    failed.fail(ENDPOINT, "a", failure.clone()).unwrap();
    failed.fail(ENDPOINT, "b", failure).unwrap();
    a.publish(endpoints(&[("a", "1")]));
    b.publish(failed.build());
    let view = open(&mux, "n");
    let publication = load(&*view);
    let found = ["a", "b"].map(|name| publication.snapshot().lookup(&ENDPOINT, name));
    assert!(matches!(found, [Lookup::Present(_), Lookup::Error(_)]));
    a.publish(endpoints(&[]));
    let publication = load(&*view);
    let found = publication.snapshot().lookup(&ENDPOINT, "a");
    assert!(matches!(found, Lookup::Error(_)));
}

#[test]
fn a_name_that_is_pending_in_a_part_is_not_told_to_be_absent() {
    let ([a, b], mux) = union();
    a.publish(endpoints(&[("a", "1")]));
    b.publish(endpoints(&[]));
    let view = open(&mux, "n");
    let is_pending = |view: &dyn View| {
        let publication = load(view);
        let found = publication.snapshot().lookup(&ENDPOINT, "b");
        matches!(found, Lookup::Pending)
    };
    assert!(!is_pending(&*view));
    let mut waits = Snapshot::builder();
    waits.pending(ENDPOINT, "b").unwrap();
    b.publish(waits.build());
    assert!(is_pending(&*view));
    assert!(is_pending(&*open(&mux, "new")));
    b.publish(endpoints(&[]));
    assert!(!is_pending(&*view));
}
