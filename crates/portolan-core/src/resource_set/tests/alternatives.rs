use super::*;
use crate::Constraints;

fn constrained(name: &str, value: &str) -> Resource {
    let builder = Resource::builder(CLUSTER, name, vec![1]);
    let constraints = Constraints::value("env", value);
    builder.constraints(constraints).build().unwrap()
}

#[test]
fn what_has_a_time_to_live_or_constraints_is_counted_through_all_changes() {
    let brief = |name: &str| {
        let builder = Resource::builder(CLUSTER, name, vec![1]);
        builder.ttl(Duration::from_secs(1)).build().unwrap()
    };
    let old = ResourceSet::new([brief("a"), brief("b"), constrained("c", "p")]).unwrap();
    assert!(old.is_timed() && old.has_alternatives());
    let mut edit = old.edit();
    edit.upsert(resource("a", 1)).remove("b");
    let forever = edit.finish().unwrap();
    assert!(!forever.is_timed() && forever.has_alternatives());
    let mut edit = old.edit();
    edit.remove(constrained("c", "p").name().clone());
    let alone = edit.finish().unwrap();
    assert!(alone.is_timed() && !alone.has_alternatives());
}

#[test]
fn c321_alternatives_are_refused_whichever_came_first() {
    let refused = |set: Result<ResourceSet, ResourceError>| {
        matches!(set, Err(ResourceError::AlternativesDiffer { .. }))
    };
    assert!(refused(ResourceSet::new([
        constrained("a", "p"),
        resource("a", 1)
    ])));
    for (first, then) in [
        (constrained("a", "p"), resource("a", 1)),
        (resource("a", 1), constrained("a", "p")),
    ] {
        let mut edit = ResourceSet::new([first]).unwrap().edit();
        edit.upsert(then);
        assert!(refused(edit.finish()));
    }
}

#[test]
fn a_selection_tells_whether_it_may_have_alternatives() {
    let plain = numbered(2);
    let mixed = ResourceSet::new([resource("a", 1), constrained("b", "p")]).unwrap();
    let empty = ResourceSet::empty();
    for (set, has) in [(&plain, false), (&mixed, true)] {
        let of_diff = Selection::upserts(&set.diff_from(&empty));
        let of_all = Selection::of(set.iter().cloned());
        assert_eq!(of_diff.has_alternatives(), has);
        assert_eq!(of_all.has_alternatives(), has);
        assert!(!Selection::wildcard(set).has_alternatives());
    }
}
