mod alternatives;

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::well_known::CLUSTER;
use crate::{EntryForm, NoReferences, ResourceError, ResourceFailure};

fn resource(name: &str, body: u8) -> Resource {
    Resource::builder(CLUSTER, name, vec![body; 3])
        .build()
        .unwrap()
}

fn numbered(n: usize) -> ResourceSet {
    ResourceSet::new((0..n).map(|i| resource(&format!("r-{i:06}"), 0))).unwrap()
}

type Model = BTreeMap<String, u8>;

fn contents(set: &ResourceSet) -> Model {
    set.iter()
        .map(|r| (r.name().to_string(), r.body()[0]))
        .collect()
}

/// One edit: names come from a small alphabet, so that edits meet; `None` removes.
fn edits() -> impl Strategy<Value = Vec<(u16, Option<u8>)>> {
    vec((0..400u16, proptest::option::weighted(0.7, 0..3u8)), 0..300)
}

fn apply(set: &ResourceSet, model: &mut Model, edits: &[(u16, Option<u8>)]) -> ResourceSet {
    let mut edit = set.edit();
    for (key, body) in edits {
        let name = format!("{key:03}");
        match body {
            Some(body) => {
                edit.upsert(resource(&name, *body));
                model.insert(name, *body);
            }
            None => {
                edit.remove(name.as_str());
                model.remove(&name);
            }
        }
    }
    edit.finish().unwrap()
}

fn failed(name: &str, text: &str) -> Resource {
    Resource::failed(CLUSTER, name, ResourceFailure::unavailable(text)).unwrap()
}

#[test]
fn what_only_grew_or_changed_keeps_all() {
    let before = ResourceSet::new([resource("a", 1), resource("b", 1)]).unwrap();
    let edited = |edit: &dyn Fn(&mut ResourceSetEdit)| {
        let mut changes = before.edit();
        edit(&mut changes);
        changes.finish().unwrap()
    };
    let more = edited(&|edit| {
        edit.upsert(resource("a", 2)).upsert(resource("c", 1));
    });
    let less = edited(&|edit| {
        edit.remove("b");
    });
    assert!(before.keeps_all_of(&before) && more.keeps_all_of(&before));
    assert!(!less.keeps_all_of(&before) && !less.keeps_all_of(&more));
    assert!(!before.keeps_all_of(&more) && more.keeps_all_of(&less));
    // Whichever it was edited from.
    let alone = ResourceSet::new([resource("a", 1)]).unwrap();
    assert!(less.keeps_all_of(&alone) && !alone.keeps_all_of(&before));
}

#[test]
fn errors_are_entries_and_no_resources() {
    let before = ResourceSet::new([resource("a", 1), failed("b", "1"), failed("c", "1")]).unwrap();
    assert_eq!((before.len(), before.entries_len()), (1, 3));
    assert_eq!(
        (before.wildcard_len(), before.is_all_wildcard()),
        (1, false)
    );
    assert!(before.get("b").is_none() && !before.contains("b") && before.entry("b").is_some());
    assert_eq!(before.iter().count(), 1);
    let only = ResourceSet::new([failed("b", "1")]).unwrap();
    assert!(only.is_empty() && !only.same_content(&ResourceSet::empty()));

    let mut edit = before.edit();
    edit.upsert(failed("a", "1"))
        .upsert(resource("b", 1))
        .remove("c");
    let after = edit.finish().unwrap();
    assert_eq!((after.len(), after.entries_len()), (1, 2));
    for diff in [
        after.diff_from(&before),
        Arc::new(Diff::between(&before, &after)),
    ] {
        let upserts: Vec<_> = diff.upserts().iter().map(|r| r.name().as_str()).collect();
        assert_eq!(upserts, ["a", "b"]);
        assert_eq!(diff.removals(), ["c".into()]);
        assert!(diff.touches_others());
        let mut selection = Selection::upserts(&diff);
        let taken = selection.take_failed();
        assert_eq!((taken.len(), selection.len()), (1, 1));
        assert!(taken[0].same_content(after.entry("a").unwrap()));
    }
    let mut again = after.edit();
    again.upsert(failed("a", "1"));
    let again = again.finish().unwrap();
    assert!(again.same_content(&after) && again.diff_from(&after).is_empty());
}

#[test]
fn what_is_pending_is_nothing_yet_and_no_news() {
    let pending = |name: &str| Resource::pending(CLUSTER, name).unwrap();
    let empty = ResourceSet::new([resource("a", 1)]).unwrap();
    let mut edit = empty.edit();
    edit.upsert(pending("b")).upsert(pending("c"));
    let waiting = edit.finish().unwrap();
    assert_eq!((waiting.len(), waiting.entries_len()), (1, 1));
    assert!(waiting.entry("b").is_none() && waiting.is_pending("b") && !waiting.is_pending("a"));
    assert_eq!(
        waiting.pending().map(|n| n.as_str()).collect::<Vec<_>>(),
        ["b", "c"]
    );
    assert!(!waiting.same_content(&empty));
    let diffs = |new: &ResourceSet, old: &ResourceSet| {
        [new.diff_from(old), Arc::new(Diff::between(old, new))]
    };
    for diff in diffs(&waiting, &empty) {
        assert!(diff.is_empty());
    }
    let mut edit = waiting.edit();
    edit.upsert(resource("b", 1))
        .remove("c")
        .upsert(pending("a"));
    let settled = edit.finish().unwrap();
    for diff in diffs(&settled, &waiting) {
        let upserts: Vec<_> = diff.upserts().iter().map(|r| r.name().as_str()).collect();
        assert_eq!(upserts, ["b"]);
        assert_eq!(diff.removals(), ["a".into(), "c".into()]);
        assert!(diff.touches_others());
    }
    assert!(!settled.has_pending() || settled.is_pending("a"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_set_behaves_like_an_ordered_map(rounds in vec(edits(), 1..6)) {
        let (mut set, mut model) = (ResourceSet::empty(), Model::new());
        for round in rounds {
            let (old, old_model) = (set.clone(), model.clone());
            set = apply(&set, &mut model, &round);

            prop_assert_eq!(&contents(&set), &model);
            prop_assert_eq!(&contents(&old), &old_model, "the old value changed");
            prop_assert_eq!(set.len(), model.len());
            prop_assert!(set.chunks().iter().all(|c| (1..=chunk::MAX_CHUNK).contains(&c.resources().len())));
            for key in 0..400 {
                let name = format!("{key:03}");
                prop_assert_eq!(set.get(&name).map(|r| r.body()[0]), model.get(&name).copied());
            }

            // What was noted when the set was edited, and what a comparison finds.
            for diff in [set.diff_from(&old), Arc::new(Diff::between(&old, &set))] {
                let upserts: Vec<_> = diff.upserts().iter().map(|r| r.name().to_string()).collect();
                let removals: Vec<_> = diff.removals().iter().map(ToString::to_string).collect();
                let changed = model.iter().filter(|(n, b)| old_model.get(*n) != Some(b));
                prop_assert_eq!(upserts, changed.map(|(n, _)| n.clone()).collect::<Vec<_>>());
                let gone = old_model.keys().filter(|n| !model.contains_key(*n));
                prop_assert_eq!(removals, gone.cloned().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_version_depends_on_content_and_not_on_history(rounds in vec(edits(), 1..5)) {
        let (mut set, mut model) = (ResourceSet::empty(), Model::new());
        for round in rounds {
            set = apply(&set, &mut model, &round);
        }
        let fresh = ResourceSet::new(model.iter().rev().map(|(n, b)| resource(n, *b))).unwrap();
        prop_assert_eq!(fresh.version(), set.version());
        prop_assert!(fresh.same_content(&set));
    }

    #[test]
    fn encoded_parts_are_the_concatenated_entries(round in edits()) {
        let set = apply(&ResourceSet::empty(), &mut Model::new(), &round);
        for form in [EntryForm::Sotw, EntryForm::Delta] {
            let expected: Vec<u8> = set.iter().flat_map(|r| r.entry(form)).collect();
            let diff = set.diff_from(&ResourceSet::empty());
            for selection in [
                Selection::wildcard(&set),
                Selection::upserts(&diff),
                Selection::of(set.iter().cloned()),
            ] {
                prop_assert_eq!(&selection.parts(form).concat(), &expected);
                prop_assert_eq!(selection.iter().count(), selection.len());
                prop_assert_eq!(selection.encoded_len(form), expected.len());
                for max in [1, 300, 5_000, 1_000_000] {
                    let split = selection.clone().split(form, max);
                    let bytes: Vec<_> = split.iter().flat_map(|s| s.parts(form)).collect();
                    prop_assert_eq!(&bytes.concat(), &expected);
                    for part in &split {
                        prop_assert!(part.len() == 1 || part.encoded_len(form) <= max);
                        prop_assert!(!part.is_empty() || expected.is_empty());
                        for resource in set.iter() {
                            let there = part.iter().any(|r| r.name() == resource.name());
                            prop_assert_eq!(part.get(resource.name()).is_some(), there);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_change_touches_one_chunk_and_shares_the_others() {
    let old = numbered(10_000);
    let mut edit = old.edit();
    edit.upsert(resource("r-005000", 1));
    let new = edit.finish().unwrap();
    let shared = |a: &Arc<Chunk>| old.chunks().iter().any(|b| Arc::ptr_eq(a, b));
    let own = new.chunks().iter().filter(|c| !shared(c)).count();
    assert_eq!(own, 1);
}

#[test]
fn what_a_wildcard_covers_is_counted_through_all_changes() {
    let with = |name: &str, on_demand: bool| {
        let resource = Resource::builder(CLUSTER, name, vec![1]).on_demand(on_demand);
        resource.build().unwrap()
    };
    let mut set = numbered(300);
    for (name, on_demand) in [
        ("r-000001", Some(true)),
        ("r-000299", Some(true)),
        ("s", Some(true)),
        ("t", Some(false)),
        ("r-000001", Some(false)),
        ("r-000299", None),
        ("r-000150", None),
    ] {
        let mut edit = set.edit();
        match on_demand {
            Some(on_demand) => edit.upsert(with(name, on_demand)),
            None => edit.remove(name),
        };
        set = edit.finish().unwrap();
        assert_eq!(set.len(), set.iter().count());
        let covered = set.iter().filter(|r| !r.on_demand()).count();
        assert_eq!(set.wildcard_len(), covered, "after {name}");
    }
}

#[test]
fn a_glob_stands_for_a_name_whose_last_segment_is_empty() {
    let directory = "xdstp://a/envoy.config.cluster.v3.Cluster/d/";
    let inside = format!("{directory}x");
    let set = ResourceSet::new([resource(directory, 1), resource(&inside, 1)]).unwrap();
    let glob = format!("{directory}*");
    let members: Vec<_> = set
        .identified_by(&glob)
        .map(|r| r.name().as_str())
        .collect();
    assert_eq!(members, [directory, &inside]);
}

#[test]
fn a_set_shows_all_that_it_holds() {
    let pending = Resource::pending(CLUSTER, "c").unwrap();
    let set = ResourceSet::new([resource("a", 1), failed("b", "no"), pending]).unwrap();
    let shown = format!("{set:?}");
    for name in ["a@", "b: ", "c: pending"] {
        assert!(shown.contains(&format!("Resource({name}")), "{shown}");
    }
}

#[test]
fn replacing_all_by_equal_content_gives_the_same_value() {
    let set = numbered(1_000);
    let same = set.iter().map(|r| (r.name().clone(), r.clone())).collect();
    assert_eq!(set.replaced_by(same).id(), set.id());
}

#[test]
fn removing_what_is_not_there_gives_the_same_value() {
    let set = numbered(10);
    let mut edit = set.edit();
    edit.remove("nobody");
    assert_eq!(edit.finish().unwrap().id(), set.id());
}

#[test]
fn chunks_that_ran_empty_are_joined() {
    let mut set = numbered(10_000);
    let mut edit = set.edit();
    for i in (0..10_000).filter(|i| i % 20 != 0) {
        edit.remove(format!("r-{i:06}"));
    }
    set = edit.finish().unwrap();
    assert_eq!(set.len(), 500);
    assert!(set.chunks().len() <= 20, "{} chunks", set.chunks().len());
}

#[test]
fn an_edited_set_knows_what_was_edited() {
    let old = numbered(100);
    let mut edit = old.edit();
    let same_but_for_ttl =
        Resource::builder(CLUSTER, "r-000001", vec![0; 3]).ttl(Duration::from_secs(1));
    edit.upsert(same_but_for_ttl.build().unwrap());
    edit.upsert(resource("r-000002", 1));
    edit.remove("r-000003");
    let new = edit.finish().unwrap();
    let noted = new.memo().get(old.id()).expect("nobody had to ask");
    let names: Vec<_> = noted.names().map(Name::as_str).collect();
    assert_eq!(names, ["r-000002", "r-000003"]);
    assert!(
        numbered(100)
            .memo()
            .get(ResourceSet::empty().id())
            .is_none()
    );
}

#[test]
fn a_difference_is_timed_when_something_new_or_changed_has_a_time_to_live() {
    let old = numbered(10);
    let living = |body| {
        let builder = Resource::builder(CLUSTER, "r-000001", vec![body; 3]);
        builder.ttl(Duration::from_secs(1)).build().unwrap()
    };
    let with = |resource| {
        let mut edit = old.edit();
        edit.upsert(resource);
        edit.finish().unwrap()
    };
    for (new, timed) in [
        (with(living(1)), true),
        (with(living(0)), false),
        (with(resource("r-000001", 1)), false),
    ] {
        let upserts = Selection::upserts(&new.diff_from(&old));
        assert_eq!(upserts.is_timed(), timed);
    }
}

#[test]
fn an_edit_shows_what_was_edited_and_keeps_the_value_where_nothing_was() {
    let old = numbered(3);
    let mut edit = old.edit();
    edit.upsert(resource("r-000001", 1)).remove("r-000002");
    let body = |name| edit.get(name).map(|r| r.body()[0]);
    assert_eq!(body("r-000000"), Some(0));
    assert_eq!(body("r-000001"), Some(1));
    assert_eq!(body("r-000002"), None);
    for name in ["r-000001", "r-000002"] {
        edit.upsert(old.get(name).unwrap().clone());
    }
    assert_eq!(edit.finish().unwrap().id(), old.id());
}

#[test]
fn a_difference_is_empty_where_nothing_came_changed_or_went() {
    let (two, three) = (numbered(2), numbered(3));
    assert!(!three.diff_from(&two).is_empty());
    assert!(!two.diff_from(&three).is_empty());
    assert!(numbered(2).diff_from(&two).is_empty());
}

#[test]
fn a_difference_tells_whether_it_is_about_what_is_on_demand() {
    let on_demand = Resource::builder(CLUSTER, "od", vec![0]).on_demand(true);
    let old = numbered(2);
    let touches = |edit: ResourceSetEdit, from: &ResourceSet| {
        edit.finish().unwrap().diff_from(from).touches_on_demand()
    };
    let mut edit = old.edit();
    edit.upsert(resource("r-000001", 1));
    assert!(!touches(edit, &old));
    let mut edit = old.edit();
    edit.upsert(on_demand.build().unwrap());
    let with = edit.finish().unwrap();
    assert!(with.diff_from(&old).touches_on_demand());
    assert!(!with.diff_from(&old).touches_others());
    let mut edit = with.edit();
    edit.remove("od");
    assert!(touches(edit, &with));
}

#[test]
fn a_set_does_not_differ_from_itself() {
    let set = numbered(100);
    assert!(set.diff_from(&set).is_empty());
    assert!(
        set.memo().get(set.id()).is_none(),
        "and needs no place to remember that"
    );
}

#[test]
fn a_difference_is_remembered_by_value_and_bounded() {
    let old = numbered(100);
    let mut edit = old.edit();
    edit.upsert(resource("r-000001", 1));
    let new = edit.finish().unwrap();
    assert!(Arc::ptr_eq(&new.diff_from(&old), &new.diff_from(&old)));
    let first = new.diff_from(&old);
    for i in 0..4 {
        let mut other = old.edit();
        other.remove(format!("r-{i:06}"));
        let _ = new.diff_from(&other.finish().unwrap());
    }
    assert!(
        !Arc::ptr_eq(&first, &new.diff_from(&old)),
        "four newer answers replaced it"
    );
}

#[test]
fn a_wildcard_leaves_out_what_is_on_demand() {
    let hidden = Resource::builder(CLUSTER, "b", &b"x"[..])
        .on_demand(true)
        .build()
        .unwrap();
    let set = ResourceSet::new([resource("a", 1), hidden]).unwrap();
    let wildcard = Selection::wildcard(&set);
    assert_eq!(
        wildcard
            .iter()
            .map(|r| r.name().as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert_eq!(wildcard.len(), 1);
    let a = set.get("a").unwrap().entry(EntryForm::Sotw);
    assert_eq!(wildcard.parts(EntryForm::Sotw).concat(), a);
    assert!(set.diff_from(&ResourceSet::empty()).touches_on_demand());
}

#[test]
fn chunks_that_fit_stay_shared_when_a_selection_is_split() {
    let set = numbered(10_000);
    let whole = Selection::wildcard(&set);
    let shared = whole.parts(EntryForm::Delta);
    let split = whole.split(EntryForm::Delta, 100_000);
    assert!(split.len() > 5);
    let parts: Vec<_> = split
        .iter()
        .flat_map(|s| s.parts(EntryForm::Delta))
        .collect();
    let addresses = |parts: &[bytes::Bytes]| parts.iter().map(|p| p.as_ptr()).collect::<Vec<_>>();
    assert_eq!(addresses(&parts), addresses(&shared));
}

#[test]
fn a_part_of_a_set_knows_its_length() {
    let resources = (0..1_000).map(|i| {
        let builder = Resource::builder(CLUSTER, format!("r-{i:06}"), vec![0; 3]);
        builder.on_demand(i % 3 == 0).build().unwrap()
    });
    let whole = Selection::wildcard(&ResourceSet::new(resources).unwrap());
    let split = whole.clone().split(EntryForm::Sotw, 10_000);
    assert!(split.len() > 1);
    for part in split.iter().chain([&whole]) {
        assert_eq!(part.len(), part.iter().count());
    }
    assert_eq!(split.iter().map(Selection::len).sum::<usize>(), whole.len());
}

#[test]
fn a_selection_is_cut_no_sooner_than_it_must() {
    let form = EntryForm::Delta;
    let set = numbered(1_000);
    let (chunk, each) = (&set.chunks()[0], set.chunks()[0].lens().get(form));
    let whole = Selection::wildcard(&set);
    let two = whole.clone().split(form, 2 * each);
    assert_eq!(two[0].len(), 2 * chunk.resources().len());
    let one = whole.split(form, each);
    let shared = chunk.encoded(form).as_ptr();
    assert_eq!(one[0].parts(form)[0].as_ptr(), shared);

    let one = resource("r-000000", 0).entry_len(form);
    assert_eq!(numbered_parts(5, 2 * one), [2, 2, 1]);
    assert_eq!(numbered_parts(5, 2 * one - 1), [1; 5]);
}

fn numbered_parts(n: usize, max: usize) -> Vec<usize> {
    let selection = Selection::of(numbered(n).iter().cloned());
    let parts = selection.split(EntryForm::Delta, max);
    parts.iter().map(Selection::len).collect()
}

#[test]
fn c043_duplicates_and_strangers_are_refused() {
    let twice = ResourceSet::new([resource("a", 1), resource("a", 2)]);
    assert!(matches!(twice, Err(ResourceError::Duplicate { name, .. }) if &*name == "a"));
    let stranger = Resource::builder("type.googleapis.com/x.Y", "b", &b""[..])
        .build()
        .unwrap();
    let mixed = ResourceSet::new([resource("a", 1), stranger]);
    assert!(matches!(mixed, Err(ResourceError::WrongType { .. })));
}

#[test]
fn small_entries_travel_together_and_large_ones_alone() {
    let large = Resource::builder(CLUSTER, "large", vec![0; 40_000])
        .build()
        .unwrap();
    let body = large.entry(EntryForm::Sotw);
    let parts = Selection::of([resource("a", 0), resource("b", 0), large, resource("m", 0)])
        .parts(EntryForm::Sotw);
    assert_eq!(parts.len(), 3);
    assert_eq!(
        parts[1].as_ptr(),
        body.as_ptr(),
        "the large entry was copied"
    );
}

#[test]
fn whatever_travels_together_nothing_is_lost_or_told_twice() {
    // Pieces of some entries each, and one entry that is a piece, in all orders.
    for at in 0..12 {
        let sized = |i: usize| if i == at { 40_000 } else { 4_000 };
        let resources = (0..12).map(|i| {
            let builder = Resource::builder(CLUSTER, format!("{i:02}"), vec![0; sized(i)]);
            builder.build().unwrap()
        });
        let all: Vec<_> = resources.collect();
        let entries: Vec<_> = all.iter().map(|r| r.entry(EntryForm::Sotw)).collect();
        let parts = Selection::of(all).parts(EntryForm::Sotw);
        assert_eq!(parts.concat(), entries.concat());
        assert!(parts.len() > 2, "{} pieces", parts.len());
    }
}

#[test]
fn what_is_encoded_is_counted() {
    let before = encoded_chunks();
    let _ = Selection::wildcard(&numbered(500)).parts(EntryForm::Sotw);
    assert!(encoded_chunks() >= before + 4);
}

#[test]
fn who_refers_to_what_needs_no_references() {
    assert!(!numbered(3).refers_to(&NoReferences, &CLUSTER, "r-000001"));
}
