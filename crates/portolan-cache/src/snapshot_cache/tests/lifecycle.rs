use std::sync::{Mutex, OnceLock};

use portolan_core::GroupObserver;

use super::*;

/// Writes down what it hears, and first does what it is told to.
#[derive(Default)]
struct Recorder {
    heard: Mutex<Vec<String>>,
    first: OnceLock<Box<dyn Fn() + Send + Sync>>,
    left: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Recorder {
    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn note(&self, heard: String) {
        self.heard.lock().unwrap().push(heard);
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl GroupObserver<String> for Recorder {
    fn first_node(&self, group: &String, node: &Node) {
        self.note(format!("+{group} {}", node.user_agent_version()));
        if let Some(act) = self.first.get() {
            act();
        }
    }

    fn last_node_left(&self, group: &String) {
        self.note(format!("-{group}"));
        if let Some(act) = self.left.get() {
            act();
        }
    }
}

fn observed() -> (Writer, Reader, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let observer = Arc::clone(&recorder);
    let (writer, reader) = SnapshotCache::new(NodeId::default())
        .with_observer(observer)
        .split();
    (writer, reader, recorder)
}

fn open(reader: &Reader, id: &str, version: &str) -> Box<dyn View> {
    let node = Arc::new(Node::new(id).with_user_agent("envoy", version));
    let waker = Waker::noop().clone();
    reader.open(&node, &Peer::unknown(), waker).unwrap()
}

#[test]
fn the_first_stream_and_the_last_are_reported() {
    let (_, reader, recorder) = observed();
    let first = open(&reader, "a", "1");
    let second = open(&reader, "a", "2");
    drop(first);
    let third = open(&reader, "a", "3");
    drop((second, third));
    let again = open(&reader, "a", "4");
    assert_eq!(recorder.heard(), ["+a 1", "-a", "+a 4"]);
    drop(again);
    assert_eq!(recorder.heard().last().unwrap(), "-a");
}

#[test]
fn data_is_no_node() {
    let (writer, _, recorder) = observed();
    let _ = writer.set(&key("a"), snapshot("1"));
    writer.clear(&key("a"));
    assert!(recorder.heard().is_empty());
    assert_eq!(writer.total_groups(), 0);
}

#[test]
fn a_node_is_not_kept_once_it_was_reported() {
    let (_, reader, _) = observed();
    let node = node("a");
    let _view = reader.open(&node, &Peer::unknown(), Waker::noop().clone());
    assert_eq!(Arc::strong_count(&node), 1);
}

#[test]
fn an_observer_may_publish_and_clear() {
    let (writer, reader, recorder) = observed();
    let publisher = writer.clone();
    let publish = move || {
        let _ = publisher.set(&key("a"), snapshot("1"));
    };
    assert!(recorder.first.set(Box::new(publish)).is_ok());
    let cleaner = writer.clone();
    let clean = move || cleaner.clear(&key("a"));
    assert!(recorder.left.set(Box::new(clean)).is_ok());

    let view = open(&reader, "a", "1");
    assert_eq!(body(view.load().unwrap().snapshot()), "1");
    drop(view);
    assert_eq!(writer.total_groups(), 0);
}

#[test]
fn what_happens_during_a_call_is_reported_after_it() {
    let (_, reader, recorder) = observed();
    let other = reader.clone();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let reopen = move || {
        for version in ["2", "3"] {
            drop(open(&other, "a", version));
        }
        keep.lock().unwrap().push(open(&other, "a", "4"));
    };
    assert!(recorder.left.set(Box::new(reopen)).is_ok());
    drop(open(&reader, "a", "1"));
    assert_eq!(recorder.heard(), ["+a 1", "-a", "+a 4"]);
}

#[test]
fn a_group_that_fills_again_during_the_farewell_is_not_freed() {
    let (writer, reader, recorder) = observed();
    let (other, publisher) = (reader.clone(), writer.clone());
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let reopen = move || {
        let mut keep = keep.lock().unwrap();
        if keep.is_none() {
            *keep = Some(open(&other, "a", "2"));
            let _ = publisher.set(&key("a"), snapshot("1"));
        }
    };
    assert!(recorder.left.set(Box::new(reopen)).is_ok());
    drop(open(&reader, "a", "1"));
    assert_eq!(writer.streams(&key("a")), 1);
    let view = kept.lock().unwrap().take().unwrap();
    assert_eq!(body(view.load().unwrap().snapshot()), "1");
    drop(recorder);
}

#[test]
fn an_observer_that_panics_breaks_nothing() {
    let (writer, reader, recorder) = observed();
    assert!(
        recorder
            .first
            .set(Box::new(|| panic!("an observer's own fault")))
            .is_ok()
    );
    assert!(
        recorder
            .left
            .set(Box::new(|| panic!("an observer's own fault")))
            .is_ok()
    );
    let view = open(&reader, "a", "1");
    let _ = writer.set(&key("a"), snapshot("1"));
    assert_eq!(body(view.load().unwrap().snapshot()), "1");
    drop(view);
    drop(open(&reader, "a", "2"));
    assert_eq!(recorder.heard(), ["+a 1", "-a", "+a 2", "-a"]);
    writer.clear(&key("a"));
    assert_eq!((writer.total_groups(), writer.total_streams()), (0, 0));
}

#[test]
fn every_observer_is_told_and_none_spoils_it_for_another() {
    let recorders: [Arc<Recorder>; 2] = Default::default();
    let mut cache = SnapshotCache::new(NodeId::default());
    for recorder in &recorders {
        assert!(
            recorder
                .first
                .set(Box::new(|| panic!("an observer's own fault")))
                .is_ok()
        );
        cache = cache.with_observer(Arc::<Recorder>::clone(recorder));
    }
    let (_, reader) = cache.split();
    drop(open(&reader, "a", "1"));
    for recorder in &recorders {
        assert_eq!(recorder.heard(), ["+a 1", "-a"]);
    }
}
