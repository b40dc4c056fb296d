use super::*;

#[test]
fn nothing_is_left_of_streams_that_are_gone() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let many: Vec<_> = (0..2_000).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let mut streams = vec![
        Stream::open(&reader),
        Stream::of(&reader, &["a", "b"]),
        Stream::of(&reader, &["*"]),
        Stream::of(&reader, &many),
    ];
    // Names before a wildcard, and after one.
    streams[1].interest(&[], &[], true);
    streams[2].interest(&["a"], &[], false);
    assert_eq!(writer.streams(), 4);
    let _ = writer.upsert(resource("a", "2")).unwrap();
    let wakes: Vec<_> = streams.iter().map(|s| Arc::clone(&s.wakes)).collect();
    let before: Vec<_> = wakes.iter().map(|w| w.count()).collect();
    streams.clear();
    drain(&reader);
    assert_eq!(wakes.iter().map(|w| w.count()).collect::<Vec<_>>(), before);
    assert!(wakes.iter().all(|w| Arc::strong_count(w) == 1));
    assert_eq!(writer.streams(), 0);
    assert!(writer.store().streams().is_vacant());
}

#[test]
fn nothing_is_left_of_names_that_are_given_up() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let mut stream = Stream::of(&reader, &["a", "b"]);
    let _ = writer.upsert(resource("a", "2")).unwrap();
    stream.interest(&[], &["a", "b"], false);
    drain(&reader);
    assert!(writer.store().streams().watches_nothing());
    assert_eq!(stream.wakes(), 0);
}

#[test]
fn the_handles_may_go_in_any_order() {
    let (writer, reader) = cache_of(&["a"]);
    let stream = Stream::of(&reader, &["a"]);
    drop((writer, reader));
    assert_eq!(stream.look().len(), 1);
}
