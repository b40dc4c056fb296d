use portolan_core::well_known::CLUSTER;
use portolan_core::{Constraints, Generation, Published, ResourceError};

use super::*;

fn generation(published: Published) -> (bool, u64) {
    match published {
        Published::Changed(generation) => (true, generation.get()),
        other => (false, other.generation().get()),
    }
}

#[test]
fn writes_are_numbered_and_what_changes_nothing_is_no_publication() {
    let (writer, _) = cache();
    let upsert = |body: &str| generation(writer.upsert(resource("a", body)).unwrap());
    assert_eq!(upsert("1"), (true, 1));
    assert_eq!(upsert("1"), (false, 1));
    assert_eq!(upsert("2"), (true, 2));
    assert_eq!(generation(writer.remove("b")), (false, 2));
    assert_eq!(generation(writer.remove("a")), (true, 3));
    assert_eq!(generation(writer.replace_all([]).unwrap()), (false, 3));
    assert!(writer.is_empty() && writer.resources().is_some());
}

#[test]
fn nothing_is_published_before_something_is_put_in_or_all_is_replaced() {
    // B31, B32
    let (writer, reader) = cache();
    let stream = Stream::open(&reader);
    assert_eq!(generation(writer.remove("a")), (false, 0));
    let edited = writer.batch(|edit| {
        edit.remove("a");
        Ok::<_, ResourceError>(())
    });
    assert_eq!(generation(edited.unwrap()), (false, 0));
    assert!(stream.view.load().is_none() && writer.resources().is_none());
    assert_eq!(generation(writer.replace_all([]).unwrap()), (true, 1));
    assert_eq!(stream.look(), []);
}

#[test]
fn a_batch_is_one_publication_or_none() {
    let (writer, _) = cache_of(&["a", "b"]);
    let failed = writer.batch(|edit| {
        edit.upsert(resource("a", "2"))?.remove("b");
        edit.upsert(resource("", "1")).map(drop)
    });
    assert!(matches!(failed, Err(ResourceError::Unnamed { .. })));
    assert_eq!(writer.len(), 2);
    assert_eq!(writer.get("a").unwrap().body(), &b"1"[..]);
    let edited = writer.batch(|edit| {
        edit.upsert(resource("a", "2"))?.remove("b").remove("c");
        edit.upsert(resource("c", "1")).map(drop)
    });
    assert_eq!(generation(edited.unwrap()), (true, 2));
    assert_eq!(writer.len(), 2);
    assert_eq!(writer.get("a").unwrap().body(), &b"2"[..]);
}

#[test]
fn c321_alternatives_that_do_not_go_together_are_refused() {
    let (writer, _) = cache_of(&["b"]);
    let of = |value: &str| Constraints::value("env", value);
    let alternative = |constraints| resource("a", "1").constraints(constraints);
    let _ = writer.upsert(alternative(of("prod"))).unwrap();
    let _ = writer.upsert(alternative(of("test"))).unwrap();
    let overlaps = writer.upsert(alternative(Constraints::exists("env")));
    assert!(matches!(
        overlaps,
        Err(ResourceError::AlternativesOverlap { .. })
    ));
    let differs = writer.upsert(resource("a", "1"));
    assert!(matches!(
        differs,
        Err(ResourceError::AlternativesDiffer { .. })
    ));
    assert_eq!(writer.len(), 3);
    let replaced = writer.batch(|edit| {
        edit.upsert(resource("a", "2"))?;
        for value in ["prod", "test"] {
            edit.remove(Name::from("a").with_constraints(&of(value)));
        }
        Ok::<_, ResourceError>(())
    });
    assert!(replaced.is_ok() && writer.get("a").is_some());
    assert_eq!(writer.len(), 2);
    let all = [of("prod"), Constraints::exists("env")].map(alternative);
    assert!(writer.replace_all(all).is_err());
    assert_eq!(writer.len(), 2);
}

#[test]
fn a_resource_of_another_type_is_refused() {
    let (writer, _) = cache_of(&["a"]);
    let cluster = || Resource::builder(CLUSTER, "a", &b"1"[..]);
    let refused = writer.upsert(cluster()).unwrap_err();
    assert!(matches!(refused, ResourceError::WrongType { .. }));
    assert!(writer.replace_all([cluster()]).is_err());
    assert_eq!(writer.len(), 1);
}

#[test]
fn two_of_one_name_do_not_replace_all() {
    let (writer, _) = cache_of(&["a"]);
    let twice = ["1", "2"].map(|body| resource("b", body));
    let refused = writer.replace_all(twice).unwrap_err();
    assert!(matches!(refused, ResourceError::Duplicate { .. }));
    assert!(writer.get("a").is_some());
}

#[test]
fn what_is_equal_keeps_its_value() {
    let (writer, _) = cache_of(&["a", "b"]);
    let before = writer.resources().unwrap();
    let _ = writer.replace_all(["a", "b"].map(|name| resource(name, "1")));
    assert_eq!(writer.resources().unwrap().id(), before.id());
    let next = [resource("a", "1"), resource("b", "2")];
    let _ = writer.replace_all(next);
    let diff = writer.resources().unwrap().diff_from(&before);
    assert_eq!(
        diff.names().collect::<Vec<_>>(),
        ["b"].map(Name::from).iter().collect::<Vec<_>>()
    );
}

#[test]
fn a_version_of_the_callers_is_part_of_a_resource() {
    let (writer, _) = cache();
    let upsert = |version: &str| {
        let published = writer.upsert(resource("a", "1").version(version));
        generation(published.unwrap())
    };
    assert_eq!(upsert("v1"), (true, 1));
    assert_eq!(upsert("v1"), (false, 1));
    assert_eq!(upsert("v2"), (true, 2));
    assert_eq!(*writer.get("a").unwrap().version(), "v2");
}

#[test]
fn a_label_decorates_until_it_is_cleared() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader);
    let shown = || {
        let loaded = stream.view.load().unwrap();
        let version = loaded.snapshot().version_info(&ENDPOINT);
        (loaded.generation().get(), version.to_string())
    };
    writer.label("v1");
    let _ = writer.upsert(resource("a", "1"));
    assert_eq!(shown(), (1, "v1".to_owned()));
    writer.label("v2");
    assert_eq!(shown(), (1, "v2".to_owned()));
    let _ = writer.replace_all([resource("b", "1")]);
    assert_eq!(shown(), (2, "v2".to_owned()));
    writer.clear();
    let _ = writer.upsert(resource("a", "1"));
    let version = writer.resources().unwrap().version().to_string();
    assert_eq!(shown(), (3, version));
}

#[test]
fn what_is_published_speaks_for_its_type_alone() {
    let (_writer, reader) = cache_of(&["a"]);
    let loaded = Stream::open(&reader).view.load().unwrap();
    assert!(loaded.snapshot().set(&ENDPOINT).is_some());
    assert!(loaded.snapshot().set(&CLUSTER).is_none());
}

#[test]
fn numbers_go_on_after_clearing() {
    let (writer, reader) = cache_of(&["a"]);
    writer.clear();
    assert!(writer.resources().is_none());
    assert!(Stream::open(&reader).view.load().is_none());
    assert_eq!(generation(writer.remove("a")), (false, 1));
    let next = writer.upsert(resource("a", "1")).unwrap();
    assert_eq!(next.generation(), Generation::default().next().next());
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the cache has no threads, but its users do"
)]
fn writers_do_not_undo_each_other() {
    let (writer, _) = cache_of(&[]);
    let write = |thread: usize| {
        for round in 0..100 {
            let name = format!("{thread}-{}", round % 10);
            match round % 3 {
                2 => drop(writer.remove(name)),
                _ => drop(writer.upsert(resource(&name, &round.to_string()))),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = [0, 1, 2].map(|thread| scope.spawn(move || write(thread)));
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    let of = |thread: usize| {
        let resources = writer.resources().unwrap();
        let prefix = format!("{thread}-");
        let own = resources.iter().filter(|r| r.name().starts_with(&prefix));
        own.map(|r| (r.name()[2..].to_owned(), r.body()))
            .collect::<Vec<_>>()
    };
    assert!(!of(0).is_empty());
    assert_eq!(of(0), of(1));
    assert_eq!(of(1), of(2));
}

#[test]
fn a_batch_leaves_what_was_written_meanwhile() {
    let (writer, _) = cache_of(&["a"]);
    let edited = writer.batch(|edit| {
        let _ = writer.upsert(resource("b", "1"))?;
        edit.upsert(resource("a", "2")).map(drop)
    });
    assert_eq!(generation(edited.unwrap()), (true, 3));
    assert_eq!(writer.len(), 2);
}
