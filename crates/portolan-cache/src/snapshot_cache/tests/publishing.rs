use std::time::Duration;

use portolan_core::{NodeHash, Published, RefusalKind, ResourceError, SnapshotWriter};

use super::*;

#[test]
fn a_stream_sees_the_newest_publication_of_its_own_group() {
    let (writer, reader) = cache();
    let (a, b) = (Stream::open(&reader, "a"), Stream::open(&reader, "b"));
    let _ = writer.set(&key("a"), snapshot("1"));
    let _ = writer.set(&key("a"), snapshot("2"));
    assert_eq!(a.body().as_deref(), Some("2"));
    assert_eq!(b.body(), None);
}

#[test]
fn nothing_published_is_not_an_empty_snapshot() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    assert!(stream.view.load().is_none());
    let _ = writer.set(&key("a"), Snapshot::empty());
    assert!(stream.view.load().unwrap().snapshot().is_empty());
}

#[test]
fn a_returning_node_is_served_what_was_published_while_it_was_away() {
    let (writer, reader) = cache();
    let _ = writer.set(&key("a"), snapshot("1"));
    drop(Stream::open(&reader, "a"));
    let _ = writer.set(&key("a"), snapshot("2"));
    let _ = writer.set(&key("a"), snapshot("3"));
    assert_eq!(Stream::open(&reader, "a").body().as_deref(), Some("3"));
}

#[test]
fn streams_of_one_node_are_independent() {
    let (writer, reader) = cache();
    let (first, second) = (Stream::open(&reader, "a"), Stream::open(&reader, "a"));
    assert_eq!(writer.streams(&key("a")), 2);
    let _ = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    assert_eq!((first.wakes(), second.wakes()), (1, 1));
    drop(first);
    let _ = second.view.load();
    let _ = writer.set(&key("a"), snapshot("2"));
    drain(&reader);
    assert_eq!(second.wakes(), 2);
    assert_eq!(second.body().as_deref(), Some("2"));
    assert_eq!(writer.streams(&key("a")), 1);
}

#[test]
fn equal_content_is_no_publication() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let first = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    let _ = stream.view.load();
    let again = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    assert!(matches!(first, Published::Changed(_)));
    assert_eq!(again, Published::Unchanged(first.generation()));
    assert_eq!(stream.wakes(), 1);
}

#[test]
fn equal_content_keeps_the_value_that_streams_hold() {
    let (writer, _) = cache();
    let first = snapshot("1");
    let _ = writer.set(&key("a"), first.clone());
    let _ = writer.set(&key("a"), snapshot("1"));
    assert_eq!(writer.get(&key("a")).unwrap().id(), first.id());
}

#[test]
fn a_label_is_stored_and_wakes_nobody() {
    let labelled = |content: &str, label: &str| {
        let mut builder = builder(content);
        builder.label(CLUSTER, label);
        builder.build()
    };
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let _ = writer.set(&key("a"), snapshot("0"));
    let published = writer.set(&key("a"), labelled("1", "v1"));
    drain(&reader);
    let before = stream.view.load().unwrap();
    for label in ["v2", "v3"] {
        let again = writer.set(&key("a"), labelled("1", label));
        drain(&reader);
        assert_eq!(again, Published::Unchanged(published.generation()));
    }
    assert_eq!(stream.wakes(), 1);
    let after = stream.view.load().unwrap();
    assert_eq!(after.snapshot().version_info(&CLUSTER), "v3");
    assert_eq!(after.generation(), before.generation());
    assert_eq!(
        after.type_generation(&CLUSTER),
        before.type_generation(&CLUSTER)
    );
    let next = writer.set(&key("a"), labelled("2", "v3"));
    assert_eq!(next.generation(), published.generation().next());
}

#[test]
fn c299_a_time_to_live_that_differs_is_a_publication_of_the_same_content() {
    let living = |seconds| {
        let mut builder = Snapshot::builder();
        let cluster = Resource::builder(CLUSTER, "c", &b"1"[..]);
        builder
            .insert(cluster.ttl(Duration::from_secs(seconds)))
            .unwrap();
        builder.build()
    };
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let first = writer.set(&key("a"), living(60));
    drain(&reader);
    let _ = stream.view.load();
    let second = writer.set(&key("a"), living(5));
    drain(&reader);
    assert_eq!(second, Published::Changed(first.generation().next()));
    assert_eq!(stream.wakes(), 2);
    let loaded = stream.view.load().unwrap();
    assert_eq!(loaded.type_generation(&CLUSTER), first.generation());
    let again = writer.set(&key("a"), living(5));
    assert_eq!(again, Published::Unchanged(second.generation()));
    let cluster = loaded.snapshot().lookup(&CLUSTER, "c").present().unwrap();
    assert_eq!(cluster.ttl(), Some(Duration::from_secs(5)));
}

#[test]
fn clearing_keeps_streams_and_tells_them_nothing() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let first = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    let _ = stream.view.load();

    writer.clear(&key("a"));
    drain(&reader);
    assert_eq!(stream.wakes(), 1);
    assert!(stream.view.load().is_none());
    assert_eq!(writer.get(&key("a")).map(|s| s.len()), None);
    assert_eq!(writer.groups(), ["a"]);

    let second = writer.set(&key("a"), snapshot("1"));
    drain(&reader);
    assert_eq!(second, Published::Changed(first.generation().next()));
    assert_eq!(stream.wakes(), 2);
    assert_eq!(stream.body().as_deref(), Some("1"));
}

#[test]
fn a_publication_that_was_cleared_before_it_was_announced_wakes_nobody() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let _ = writer.set(&key("a"), snapshot("1"));
    writer.clear(&key("a"));
    drain(&reader);
    assert_eq!(stream.wakes(), 0);
    let _ = writer.set(&key("a"), snapshot("2"));
    drain(&reader);
    assert_eq!(stream.wakes(), 1);
}

#[test]
fn an_update_edits_the_newest_snapshot_and_leaves_the_rest() {
    let (writer, _) = cache();
    let _ = writer.set(&key("a"), snapshot("1"));
    let upsert = |builder: &mut SnapshotBuilder| {
        builder.upsert(Resource::builder(CLUSTER, "d", &b"x"[..]))?;
        Ok::<_, ResourceError>(())
    };
    let published = writer.update(&key("a"), upsert).unwrap();
    assert!(matches!(published, Some(Published::Changed(_))));
    assert_eq!(
        names(&writer.get(&key("a")).unwrap()),
        ["c".into(), "d".into()]
    );
    let again = writer.update(&key("a"), upsert).unwrap();
    assert!(matches!(again, Some(Published::Unchanged(_))));
}

#[test]
fn an_update_that_was_overtaken_starts_again_from_the_newer_snapshot() {
    let (writer, _) = cache();
    let _ = writer.set(&key("a"), snapshot("1"));
    let mut calls = 0;
    let overtaken = writer.update(&key("a"), |builder| {
        calls += 1;
        if calls == 1 {
            // The edit may use the cache: no lock is held.
            let _ = writer.set(&key("a"), snapshot("2"));
        }
        builder.upsert(Resource::builder(CLUSTER, "d", &b"x"[..]))?;
        Ok::<_, ResourceError>(())
    });
    assert_eq!(overtaken.unwrap().map(|p| p.generation().get()), Some(3));
    assert_eq!(calls, 2);
    let held = writer.get(&key("a")).unwrap();
    assert_eq!((body(&held).as_str(), held.len()), ("2", 2));
}

#[test]
fn an_update_of_nothing_publishes_nothing() {
    let (writer, reader) = cache();
    let _stream = Stream::open(&reader, "b");
    for group in ["a", "b"] {
        let published = writer.update(&key(group), |_| Ok::<_, ResourceError>(()));
        assert_eq!(published, Ok(None));
        assert!(writer.get(&key(group)).is_none());
    }
}

#[test]
fn an_update_that_fails_publishes_nothing() {
    let (writer, _) = cache();
    let _ = writer.set(&key("a"), snapshot("1"));
    let failed = writer.update(&key("a"), |builder| {
        builder.remove(&CLUSTER, "c");
        builder
            .upsert(Resource::builder(CLUSTER, "", &b""[..]))
            .map(drop)
    });
    assert!(matches!(failed, Err(ResourceError::Unnamed { .. })));
    assert_eq!(body(&writer.get(&key("a")).unwrap()), "1");
}

#[test]
fn a_group_exists_while_it_has_data_or_streams() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "streams");
    let _ = writer.set(&key("data"), snapshot("1"));
    assert_eq!(writer.groups(), ["data", "streams"]);
    assert_eq!((writer.total_groups(), writer.total_streams()), (2, 1));
    drop(stream);
    assert_eq!(writer.groups(), ["data"]);
    writer.clear(&key("data"));
    writer.clear(&key("nobody"));
    assert_eq!((writer.total_groups(), writer.total_streams()), (0, 0));
}

#[test]
fn numbers_do_not_go_back_when_a_group_was_freed() {
    let (writer, _) = cache();
    let first = writer.set(&key("a"), snapshot("1"));
    writer.clear(&key("a"));
    assert_eq!(writer.total_groups(), 0);
    let second = writer.set(&key("a"), snapshot("1"));
    assert_eq!(second, Published::Changed(first.generation().next()));
}

#[test]
fn a_group_that_was_freed_leaves_the_announcers_line() {
    let (writer, reader) = cache();
    let stream = Stream::open(&reader, "a");
    let _ = writer.set(&key("a"), snapshot("1"));
    drop(stream);
    assert_eq!(reader.announce(0), Announced::More);
    writer.clear(&key("a"));
    assert_eq!(reader.announce(0), Announced::All);
}

#[test]
fn the_writer_is_a_snapshot_writer() {
    let (writer, _) = cache();
    let writer: Arc<dyn SnapshotWriter<String>> = Arc::new(writer);
    let published = writer.set(&key("a"), snapshot("1"));
    assert_eq!(published.generation().get(), 1);
    assert_eq!(
        writer.get(&key("a")).map(|s| body(&s)).as_deref(),
        Some("1")
    );
    assert_eq!(writer.groups(), ["a"]);
    writer.clear(&key("a"));
    assert!(writer.groups().is_empty());
}

#[test]
fn a_group_key_may_be_any_type_and_a_node_may_be_refused() {
    #[derive(Debug)]
    struct ByTenant;

    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Tenant(u32);

    impl NodeHash for ByTenant {
        type Key = Tenant;

        fn key(&self, _: &Node, peer: &Peer) -> Result<Tenant, portolan_core::Refusal> {
            let tenant = peer.identity().and_then(|id| id.parse().ok());
            let unknown = || portolan_core::Refusal::denied("the certificate names no tenant");
            tenant.map(Tenant).ok_or_else(unknown)
        }
    }

    let (writer, reader) = SnapshotCache::new(ByTenant).split();
    let open = |peer| reader.open(&node("a"), &peer, Waker::noop().clone());
    let refusal = open(Peer::unknown()).unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::Denied);
    assert!(writer.groups().is_empty());
    let _view = open(Peer::unknown().with_identity("7")).unwrap();
    assert_eq!(writer.groups(), [Tenant(7)]);
}
