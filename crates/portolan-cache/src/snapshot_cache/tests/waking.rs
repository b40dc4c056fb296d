use std::task::Wake;

use super::*;

#[test]
fn publishing_wakes_the_announcer_and_no_stream() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let announcer = Arc::new(Wakes::default());
    reader.register_announcer(Waker::from(Arc::clone(&announcer)));
    let _ = writer.set(&key("a"), snapshot("1"));
    assert_eq!((announcer.count(), stream.wakes()), (1, 0));
    reader.register_announcer(Waker::from(Arc::clone(&announcer)));
    let _ = writer.set(&key("a"), snapshot("2"));
    assert_eq!(announcer.count(), 1, "the group is in line already");
    drain(&reader);
    assert_eq!(stream.wakes(), 1);
}

#[test]
fn nothing_to_announce_wakes_no_announcer() {
    let (writer, reader) = cache();
    let announcer = Arc::new(Wakes::default());
    reader.register_announcer(Waker::from(Arc::clone(&announcer)));
    let _ = writer.set(&key("a"), snapshot("1"));
    assert_eq!(announcer.count(), 0, "there are no streams");
}

#[test]
fn an_announcer_is_woken_once_however_often_it_registered() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let announcers = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
    for _ in 0..3 {
        for announcer in &announcers {
            reader.register_announcer(Waker::from(Arc::clone(announcer)));
        }
    }
    let _ = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    let _ = stream.view.load();
    let _ = writer.set(&key("a"), snapshot("2"));
    assert_eq!(announcers.map(|a| a.count()), [1, 1]);
}

#[test]
fn a_registered_announcer_takes_over_what_another_left() {
    let (writer, reader) = cache();
    let _streams = [Stream::open(&reader, "a"), Stream::open(&reader, "a")];
    let _ = writer.set(&key("a"), snapshot("1"));
    let other = Arc::new(Wakes::default());
    reader.register_announcer(Waker::from(Arc::clone(&other)));
    assert_eq!(reader.announce(1), Announced::More);
    assert_eq!(other.count(), 1);
}

#[test]
fn a_stream_is_woken_once_until_it_loads() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    for content in ["1", "2", "3"] {
        let _ = writer.set(&key("a"), snapshot(content));
        drain(&reader);
    }
    assert_eq!(stream.wakes(), 1);
    assert_eq!(stream.body().as_deref(), Some("3"));
    let _ = writer.set(&key("a"), snapshot("4"));
    drain(&reader);
    assert_eq!(stream.wakes(), 2);
}

#[test]
fn a_stream_that_loaded_by_itself_is_not_woken() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let _ = writer.set(&key("a"), snapshot("1"));
    let _ = stream.view.load();
    drain(&reader);
    assert_eq!(stream.wakes(), 0);
}

#[test]
fn a_budget_bounds_the_wakes_and_the_rest_follows() {
    let (writer, reader) = cache();
    let streams: Vec<_> = (0..200).map(|_| Stream::open(&reader, "a")).collect();
    let _ = writer.set(&key("a"), snapshot("1"));
    let woken = || streams.iter().map(Stream::wakes).sum::<usize>();
    assert_eq!(reader.announce(150), Announced::More);
    assert_eq!(woken(), 150);
    assert_eq!(reader.announce(50), Announced::All);
    assert_eq!(woken(), 200);
    assert!(streams.iter().all(|s| s.wakes() == 1));
}

#[test]
fn a_stream_already_passed_is_woken_again_for_what_came_during_the_walk() {
    let (writer, reader) = cache();
    let streams = [Stream::open(&reader, "a"), Stream::open(&reader, "a")];
    let _ = writer.set(&key("a"), snapshot("1"));
    assert_eq!(reader.announce(1), Announced::More);
    let passed = streams.iter().find(|s| s.wakes() == 1).unwrap();
    let _ = passed.view.load();
    let _ = writer.set(&key("a"), snapshot("2"));
    drain(&reader);
    let mut wakes = streams.each_ref().map(|s| s.wakes());
    wakes.sort_unstable();
    assert_eq!(wakes, [1, 2]);
    assert_eq!(passed.wakes(), 2);
}

#[test]
fn a_large_group_does_not_keep_a_small_one_waiting() {
    let (writer, reader) = cache();
    let large: Vec<_> = (0..1_000).map(|_| Stream::open(&reader, "large")).collect();
    let small = Stream::open(&reader, "small");
    let _ = writer.set(&key("large"), snapshot("1"));
    let _ = writer.set(&key("small"), snapshot("1"));
    assert_eq!(reader.announce(256), Announced::More);
    assert_eq!(small.wakes(), 1);
    assert_eq!(large.iter().map(Stream::wakes).sum::<usize>(), 255);
}

#[test]
fn a_closed_stream_is_not_woken() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let wakes = Arc::clone(&stream.wakes);
    let _ = writer.set(&key("a"), snapshot("1"));
    drop(stream);
    drain(&reader);
    assert_eq!(wakes.count(), 0);
    assert_eq!(Arc::strong_count(&wakes), 1, "its waker was let go");
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker's own fault");
        }
    }

    let (writer, reader) = cache();
    let panics = Waker::from(Arc::new(Panics));
    let _bad = reader
        .open(&node("a"), &Peer::unknown(), panics.clone())
        .unwrap();
    reader.register_announcer(panics);
    let good = Stream::open(&reader, "a");
    let _ = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    assert_eq!(good.wakes(), 1);
}

#[test]
fn wakers_run_outside_all_locks() {
    /// A waker that uses the cache, as an inline executor's would.
    struct Inline(Writer, Reader);

    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            let _ = self.0.set(&key("a"), snapshot("inline"));
            let stream = Stream::open(&self.1, "a");
            assert_eq!(stream.body().as_deref(), Some("inline"));
        }
    }

    let (writer, reader) = cache();
    let inline = Waker::from(Arc::new(Inline(writer.clone(), reader.clone())));
    let view = reader.open(&node("a"), &Peer::unknown(), inline).unwrap();
    let _ = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    let loaded = view.load().unwrap();
    assert_eq!(body(loaded.snapshot()), "inline");
}
