//! Threads that meet wherever they can. What they must agree on is checked when they are done.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread;

use portolan_core::{GroupObserver, ResourceError};

use super::*;

const GROUPS: [&str; 3] = ["a", "b", "c"];
const ROUNDS: usize = 400;

/// A stream's task: it loads when it was notified, and sleeps otherwise.
struct Task {
    view: Box<dyn View>,
    group: usize,
    notified: Arc<Notified>,
    loaded: u64,
}

#[derive(Default)]
struct Notified(AtomicBool);

impl Wake for Notified {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Task {
    fn open(reader: &Reader, group: usize) -> Self {
        let notified = Arc::new(Notified::default());
        let waker = Waker::from(Arc::clone(&notified));
        let view = reader
            .open(&node(GROUPS[group]), &Peer::unknown(), waker)
            .unwrap();
        let mut task = Self {
            view,
            group,
            notified,
            loaded: 0,
        };
        task.load();
        task
    }

    fn load(&mut self) {
        if let Some(publication) = self.view.load() {
            let number = publication.generation().get();
            assert!(number >= self.loaded, "publications came out of order");
            self.loaded = number;
        }
    }

    fn run(&mut self) {
        if self.notified.0.swap(false, Ordering::SeqCst) {
            self.load();
        }
    }
}

/// Fails when what it hears of a group overlaps or does not alternate.
#[derive(Debug, Default)]
struct Alternation {
    occupied: Mutex<HashMap<String, bool>>,
    speaking: [AtomicBool; GROUPS.len()],
    broken: AtomicBool,
}

impl Alternation {
    fn hear(&self, group: &str, occupied: bool) {
        let at = GROUPS.iter().position(|g| *g == group).unwrap();
        let overlaps = self.speaking[at].swap(true, Ordering::SeqCst);
        thread::yield_now();
        let before = self
            .occupied
            .lock()
            .unwrap()
            .insert(group.to_owned(), occupied);
        if overlaps || before.unwrap_or(false) == occupied {
            self.broken.store(true, Ordering::SeqCst);
        }
        self.speaking[at].store(false, Ordering::SeqCst);
    }
}

impl GroupObserver<String> for Alternation {
    fn first_node(&self, group: &String, _: &Node) {
        self.hear(group, true);
    }

    fn last_node_left(&self, group: &String) {
        self.hear(group, false);
    }
}

fn publish(writer: &Writer, thread: usize) {
    for round in 0..ROUNDS {
        let group = key(GROUPS[(round + thread) % GROUPS.len()]);
        let content = format!("{thread}-{round}");
        match round % 5 {
            0 => writer.clear(&group),
            1 | 2 => {
                let _ = writer.update(&group, |builder| {
                    let body = content.clone().into_bytes();
                    builder.upsert(Resource::builder(CLUSTER, "c", body))?;
                    Ok::<_, ResourceError>(())
                });
            }
            _ => drop(writer.set(&group, snapshot(&content))),
        }
    }
    for group in GROUPS {
        let _ = writer.set(&key(group), snapshot(&format!("last of {thread}")));
    }
}

/// Opens and closes streams and keeps a few open.
fn serve(reader: &Reader) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for round in 0..ROUNDS {
        tasks.push(Task::open(reader, round % GROUPS.len()));
        if tasks.len() > 5 {
            tasks.swap_remove(round % 5);
        }
        if round % 50 == 0 {
            tasks.clear();
        }
        tasks.iter_mut().for_each(Task::run);
    }
    tasks
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the cache has no threads, but its users do"
)]
fn threads_lose_no_wake_up_and_leave_nothing_behind() {
    let alternation = Arc::new(Alternation::default());
    let observer = Arc::<Alternation>::clone(&alternation);
    let (writer, reader) = SnapshotCache::new(NodeId::default())
        .with_observer(observer)
        .split();
    let done = AtomicBool::new(false);
    let mut tasks: Vec<Task> = thread::scope(|scope| {
        let announcer = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if reader.announce(3) == Announced::All {
                    thread::yield_now();
                }
            }
        });
        let publishers = [0, 1].map(|thread| {
            let writer = &writer;
            scope.spawn(move || publish(writer, thread))
        });
        let servers = [0, 1, 2].map(|_| scope.spawn(|| serve(&reader)));
        let tasks = servers
            .into_iter()
            .flat_map(|s| s.join().unwrap())
            .collect();
        publishers.into_iter().for_each(|p| p.join().unwrap());
        done.store(true, Ordering::SeqCst);
        announcer.join().unwrap();
        tasks
    });

    drain(&reader);
    for task in &mut tasks {
        task.run();
        let newest = writer.get(&key(GROUPS[task.group])).unwrap();
        let loaded = task.view.load().unwrap();
        assert_eq!(loaded.generation().get(), task.loaded, "a stream sleeps");
        assert!(loaded.snapshot().same_content(&newest));
    }
    assert_eq!(writer.total_streams(), tasks.len());
    tasks.clear();
    for group in GROUPS {
        writer.clear(&key(group));
    }
    assert_eq!((writer.total_groups(), writer.total_streams()), (0, 0));
    assert!(!alternation.broken.load(Ordering::SeqCst));
    assert!(
        alternation
            .occupied
            .lock()
            .unwrap()
            .values()
            .all(|occupied| !occupied)
    );
}
