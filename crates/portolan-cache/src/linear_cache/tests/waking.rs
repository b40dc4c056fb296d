use std::task::Wake;

use portolan_core::well_known::CLUSTER;
use portolan_core::{Constraints, ViewId};

use super::*;
use crate::linear_cache::streams::{MAX_BEHIND, MAX_NAMED};
use crate::linear_cache::wants::MAX_WATCHED;

#[test]
fn publishing_wakes_the_announcer_and_no_stream() {
    let (writer, reader) = cache_of(&["a"]);
    let stream = Stream::of(&reader, &["a"]);
    let announcer = Arc::new(Wakes::default());
    for body in ["2", "3"] {
        reader.register_announcer(Waker::from(Arc::clone(&announcer)));
        let _ = writer.upsert(resource("a", body)).unwrap();
    }
    assert_eq!(announcer.count(), 1, "the streams are in line already");
    assert_eq!(stream.wakes(), 0);
    drain(&reader);
    assert_eq!(stream.wakes(), 1);
}

#[test]
fn what_concerns_nobody_wakes_no_announcer() {
    let (writer, reader) = cache_of(&["a"]);
    let _stream = Stream::of(&reader, &["a"]);
    let announcer = Arc::new(Wakes::default());
    reader.register_announcer(Waker::from(Arc::clone(&announcer)));
    let _ = writer.upsert(resource("b", "1")).unwrap();
    assert_eq!(announcer.count(), 0);
}

#[test]
fn a_change_wakes_who_subscribes_it_and_nobody_else() {
    let (writer, reader) = cache_of(&["a", "b", "c"]);
    let wants: [&[&str]; 6] = [&["a"], &["b"], &["a", "b"], &["absent"], &["*"], &[]];
    let streams = wants.map(|wanted| Stream::of(&reader, wanted));
    let wakes = || streams.each_ref().map(Stream::wakes);
    let _ = writer.upsert(resource("a", "2")).unwrap();
    drain(&reader);
    assert_eq!(wakes(), [1, 0, 1, 0, 1, 0]);
    for stream in &streams {
        let _ = stream.view.load();
    }
    let _ = writer.remove("b");
    drain(&reader);
    assert_eq!(wakes(), [1, 1, 2, 0, 2, 0]);
    let _ = writer.upsert(resource("absent", "1")).unwrap();
    drain(&reader);
    assert_eq!(wakes(), [1, 1, 2, 1, 2, 0], "who was woken has yet to look");
}

#[test]
fn c312_a_change_of_an_alternative_wakes_who_subscribes_its_stem() {
    let (writer, reader) = cache_of(&["b"]);
    let streams = [&["a"], &["b"]].map(|wanted: &[&str; 1]| Stream::of(&reader, wanted));
    let prod = Constraints::value("env", "prod");
    let alternative = resource("a", "1").constraints(prod.clone());
    let _ = writer.upsert(alternative).unwrap();
    drain(&reader);
    assert_eq!(streams.each_ref().map(Stream::wakes), [1, 0]);
    let _ = streams[0].view.load();
    let _ = writer.remove(Name::from("a").with_constraints(&prod));
    drain(&reader);
    assert_eq!(streams.each_ref().map(Stream::wakes), [2, 0]);
}

#[test]
fn a_change_wakes_who_subscribes_an_alias_or_the_glob_of_it_before_or_after() {
    let url =
        |last: &str| format!("xdstp://a/envoy.config.endpoint.v3.ClusterLoadAssignment/{last}");
    let (writer, reader) = cache_of(&["a"]);
    let _ = writer.upsert(resource("b", "1").alias("x")).unwrap();
    let _ = writer.upsert(resource(&url("d/b"), "1")).unwrap();
    let globs = [url("d/*"), url("*"), url("e/*?k=v")];
    let wants: [&[&str]; 5] = [&["x"], &["y"], &[&globs[0]], &[&globs[1]], &[&globs[2]]];
    let streams = wants.map(|wanted| Stream::of(&reader, wanted));
    let woken = || {
        drain(&reader);
        streams.each_ref().map(|stream| {
            let _ = stream.view.load();
            stream.wakes()
        })
    };
    let _ = writer.upsert(resource("a", "2")).unwrap();
    assert_eq!(woken(), [0, 0, 0, 0, 0]);
    let _ = writer.upsert(resource("b", "2").alias("y")).unwrap();
    assert_eq!(woken(), [1, 1, 0, 0, 0]);
    let _ = writer.upsert(resource("b", "3").alias("y")).unwrap();
    assert_eq!(woken(), [1, 2, 0, 0, 0]);
    let _ = writer.remove("b");
    assert_eq!(woken(), [1, 3, 0, 0, 0]);
    let _ = writer.upsert(resource(&url("d/c"), "1")).unwrap();
    assert_eq!(woken(), [1, 3, 1, 0, 0]);
    let _ = writer.remove(url("d/b"));
    assert_eq!(woken(), [1, 3, 2, 0, 0]);
    let _ = writer.upsert(resource(&url("e/c?k=v"), "1")).unwrap();
    assert_eq!(woken(), [1, 3, 2, 0, 1]);
}

/// Between the two locks of a stream that begins to want everything, a label may find it behind.
#[test]
fn a_label_does_not_take_the_streams_out_of_line() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let stream = Stream::of(&reader, &["a"]);
    let _ = writer.upsert(resource("b", "2")).unwrap();
    writer.store().streams().set_broad(ViewId::new(0), true);
    writer.label("v1");
    let _ = writer.upsert(resource("a", "2")).unwrap();
    drain(&reader);
    assert_eq!(stream.wakes(), 1);
}

#[test]
fn what_is_equal_wakes_nobody() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let streams = [Stream::of(&reader, &["a"]), Stream::of(&reader, &["*"])];
    let _ = writer.upsert(resource("a", "1")).unwrap();
    let _ = writer.remove("c");
    let _ = writer
        .replace_all(["b", "a"].map(|name| resource(name, "1")))
        .unwrap();
    writer.label("v9");
    drain(&reader);
    assert_eq!(streams.each_ref().map(Stream::wakes), [0, 0]);
}

#[test]
fn replacing_all_wakes_only_who_subscribes_what_differs() {
    let (writer, reader) = cache_of(&["a", "b", "c"]);
    let streams = ["a", "b", "c", "d"].map(|name| Stream::of(&reader, &[name]));
    let next = [resource("a", "1"), resource("b", "2"), resource("d", "1")];
    let _ = writer.replace_all(next).unwrap();
    drain(&reader);
    assert_eq!(streams.each_ref().map(Stream::wakes), [0, 1, 1, 1]);
}

#[test]
fn a_stream_is_woken_once_until_it_loads_and_not_if_it_has_loaded() {
    let (writer, reader) = cache_of(&["a"]);
    let (lazy, eager) = (Stream::of(&reader, &["a"]), Stream::of(&reader, &["a"]));
    for body in ["2", "3"] {
        let _ = writer.upsert(resource("a", body)).unwrap();
        let _ = eager.view.load();
        drain(&reader);
    }
    assert_eq!((lazy.wakes(), eager.wakes()), (1, 0));
    assert_eq!(lazy.look(), [("a".to_owned(), "3".to_owned())]);
}

#[test]
fn names_that_are_given_up_wake_no_more() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let mut stream = Stream::of(&reader, &["a", "b"]);
    stream.interest(&[], &["a"], false);
    let _ = writer.upsert(resource("a", "2")).unwrap();
    drain(&reader);
    assert_eq!(stream.wakes(), 0);
    stream.interest(&[], &[], true);
    stream.interest(&[], &[], false);
    let _ = stream.view.load();
    let before = stream.wakes();
    let _ = writer.upsert(resource("a", "3")).unwrap();
    drain(&reader);
    assert_eq!(stream.wakes(), before, "the wildcard has ended");
    let _ = writer.upsert(resource("b", "3")).unwrap();
    drain(&reader);
    assert_eq!(stream.wakes(), before + 1, "what was named is named still");
}

#[test]
fn what_changed_before_it_was_wanted_is_not_missed() {
    let (writer, reader) = cache_of(&["a"]);
    let wants: [fn(&mut Stream); 3] = [
        |stream| stream.interest(&["a"], &[], false),
        |stream| stream.interest(&[], &[], true),
        |stream| {
            stream.interest(&["b"], &[], false);
            stream.interest(&["a"], &["b"], false);
        },
    ];
    for (round, want) in wants.iter().enumerate() {
        let mut stream = Stream::of(&reader, &[]);
        let _ = writer
            .upsert(resource("a", &format!("changed {round}")))
            .unwrap();
        want(&mut stream);
        assert_eq!(stream.wakes(), 1);
        drain(&reader);
        assert_eq!(stream.wakes(), 1);
    }
    let mut narrowing = Stream::of(&reader, &["*"]);
    let _ = writer.upsert(resource("a", "again")).unwrap();
    narrowing.interest(&["a"], &[], false);
    drain(&reader);
    assert_eq!(narrowing.wakes(), 1, "nobody had come to wake it");
}

#[test]
fn interest_in_another_type_is_none() {
    let (writer, reader) = cache_of(&["a"]);
    let mut stream = Stream::of(&reader, &[]);
    let added = names(&["a"]);
    let view = &mut stream.view;
    view.interest(&Interest::new(&CLUSTER, &added, &[], true));
    let _ = writer.upsert(resource("a", "2")).unwrap();
    drain(&reader);
    assert_eq!(stream.wakes(), 0);
}

#[test]
fn nothing_published_wakes_nobody_and_the_first_publication_everybody() {
    let (writer, reader) = cache();
    let streams = [Stream::of(&reader, &["a"]), Stream::of(&reader, &["*"])];
    let wakes = || streams.each_ref().map(Stream::wakes);
    let _ = writer.remove("a");
    writer.label("v1");
    drain(&reader);
    assert_eq!(wakes(), [0, 0]);
    let _ = writer.replace_all([]).unwrap();
    drain(&reader);
    assert_eq!(
        wakes(),
        [1, 1],
        "whoever asked is told that there is nothing"
    );
    for stream in &streams {
        assert_eq!(stream.look(), []);
    }
    writer.clear();
    drain(&reader);
    assert_eq!(wakes(), [1, 1]);
    let _ = writer.upsert(resource("b", "1")).unwrap();
    drain(&reader);
    assert_eq!(wakes(), [2, 2]);
}

#[test]
fn a_budget_bounds_the_wakes_and_nobody_keeps_another_waiting() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let hot: Vec<_> = (0..200).map(|_| Stream::of(&reader, &["a"])).collect();
    let broad: Vec<_> = (0..200).map(|_| Stream::of(&reader, &["*"])).collect();
    let cold = Stream::of(&reader, &["b"]);
    let woken = |streams: &[Stream]| streams.iter().map(Stream::wakes).sum::<usize>();
    for name in ["a", "b"] {
        let _ = writer.upsert(resource(name, "2")).unwrap();
    }
    assert_eq!(reader.announce(100), Announced::More);
    assert_eq!(woken(&hot) + woken(&broad) + cold.wakes(), 100);
    assert_eq!(cold.wakes(), 1);
    assert!(woken(&hot) > 30 && woken(&broad) > 30);
    drain(&reader);
    assert_eq!((woken(&hot), woken(&broad), cold.wakes()), (200, 200, 1));
}

#[test]
fn a_stream_of_very_many_names_is_woken_by_all_changes() {
    let (writer, reader) = cache_of(&["a"]);
    let many: Vec<_> = (0..=MAX_WATCHED).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let (most, more) = (&many[1..], &many[..]);
    let streams = [Stream::of(&reader, most), Stream::of(&reader, more)];
    let _ = writer.upsert(resource("a", "2")).unwrap();
    drain(&reader);
    assert_eq!(streams.each_ref().map(Stream::wakes), [0, 1]);
}

#[test]
fn a_publication_of_very_many_changes_wakes_everybody() {
    let (writer, reader) = cache_of(&["a"]);
    let stream = Stream::of(&reader, &["a"]);
    let change = |count: usize, body: &str| {
        let edited = writer.batch(|edit| {
            (0..count).try_for_each(|n| edit.upsert(resource(&n.to_string(), body)).map(drop))
        });
        let _ = edited.unwrap();
        drain(&reader);
    };
    change(MAX_NAMED, "1");
    assert_eq!(stream.wakes(), 0);
    change(MAX_NAMED + 1, "2");
    assert_eq!(stream.wakes(), 1);
}

#[test]
fn a_stream_that_nothing_concerns_lets_go_of_old_values_after_a_while() {
    let (writer, reader) = cache_of(&["a"]);
    let stream = Stream::of(&reader, &["a"]);
    let (step, mut changes) = (MAX_NAMED / 2, 0);
    while stream.wakes() == 0 {
        let edited = writer.batch(|edit| {
            let mut others = (0..step).map(|n| resource(&n.to_string(), &changes.to_string()));
            others.try_for_each(|resource| edit.upsert(resource).map(drop))
        });
        let _ = edited.unwrap();
        drain(&reader);
        changes += step;
        assert!(changes <= 2 * MAX_BEHIND, "it keeps what it saw for ever");
    }
    assert!(changes > MAX_BEHIND, "it was woken after {changes}");
}

#[test]
fn wakers_run_outside_all_locks_and_may_panic() {
    /// A waker that uses the cache, as an inline executor's would.
    struct Inline(LinearCacheWriter, LinearCacheReader);

    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            let _ = self.0.upsert(resource("a", "inline")).unwrap();
            let mut stream = Stream::of(&self.1, &["a"]);
            stream.interest(&["b"], &["a"], false);
            panic!("a waker's own fault");
        }
    }

    let (writer, reader) = cache_of(&["a"]);
    let inline = Waker::from(Arc::new(Inline(writer.clone(), reader.clone())));
    let node = Arc::new(Node::new("node"));
    let mut view = reader.open(&node, &Peer::unknown(), inline).unwrap();
    let wanted = names(&["a"]);
    view.interest(&Interest::new(&ENDPOINT, &wanted, &[], false));
    let other = Stream::of(&reader, &["a"]);
    let _ = writer.upsert(resource("a", "2")).unwrap();
    drain(&reader);
    assert_eq!(other.wakes(), 1);
    assert_eq!(other.look(), [("a".to_owned(), "inline".to_owned())]);
}
