//! Threads that meet wherever they can, and a resolver that is late, fails, panics and never ends. What they must agree
//! on is checked when they are done.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::task::{Poll, Wake};
use std::thread;

use portolan_core::Announced;

use super::*;

const GROUPS: [&str; 2] = ["a", "b"];

/// Nothing is published for it, and it has streams for moments only.
const VISITED: &str = "c";

/// What there is of a name says the name, unless the base has it.
const NAMES: [&str; 8] = [
    "found", "late", "absent", "failed", "panics", "hangs", "revised", "moved",
];

const ROUNDS: usize = 300;
const MILLISECOND: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
struct Notified(AtomicBool);

impl Notified {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Notified {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A clock that is put forward, which wakes all who sleep.
#[derive(Clone, Debug, Default)]
struct Time(Arc<Mutex<(Duration, Vec<Waker>)>>);

impl Time {
    fn pass(&self, time: Duration) {
        let mut state = lock(&self.0);
        state.0 += time;
        let sleepers = std::mem::take(&mut state.1);
        drop(state);
        sleepers.into_iter().for_each(Waker::wake);
    }
}

impl Clock for Time {
    fn now(&self) -> Duration {
        lock(&self.0).0
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send {
        let (clock, until) = (self.clone(), self.now() + time);
        std::future::poll_fn(move |cx| {
            let mut state = lock(&clock.0);
            if state.0 >= until {
                return Poll::Ready(());
            }
            state.1.push(cx.waker().clone());
            Poll::Pending
        })
    }
}

/// Does with a name what the name says.
#[derive(Clone, Default)]
struct Fate {
    time: Time,
    /// Resolutions that were begun and neither ended nor were dropped.
    running: Arc<AtomicU64>,
    /// Names of which a resolution was begun and that were not released.
    held: Arc<Mutex<BTreeSet<String>>>,
}

struct Running(Arc<AtomicU64>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Resolver<String> for Fate {
    async fn resolve(&self, wanted: &Wanted<String>) -> Resolution {
        lock(&self.held).insert(shown(wanted));
        self.running.fetch_add(1, Ordering::Relaxed);
        let _running = Running(Arc::clone(&self.running));
        match wanted.name.as_str() {
            "late" => self.time.sleep(7 * MILLISECOND).await,
            "absent" => return Resolution::absent(),
            "failed" => return Resolution::failed(ResourceFailure::unavailable("no")),
            "panics" => std::panic::resume_unwind(Box::new("no noise")),
            "hangs" => pending().await,
            _ => {}
        }
        Resolution::found(cluster(&wanted.name, b"resolved"))
    }

    fn released(&self, wanted: &Wanted<String>) {
        assert!(lock(&self.held).remove(&shown(wanted)), "it was not begun");
    }
}

/// A stream's task: it looks when it was woken, and sleeps otherwise.
struct Task {
    stream: Stream,
    group: &'static str,
    notified: Arc<Notified>,
    wanted: BTreeSet<&'static str>,
    seen: Vec<String>,
}

impl Task {
    fn open(reader: &OnDemandCacheReader<NodeId>, group: &'static str) -> Self {
        let notified = Arc::new(Notified::default());
        let waker = Waker::from(Arc::clone(&notified));
        let node = Arc::new(Node::new(group));
        let view = reader.open(&node, &Peer::unknown(), waker).unwrap();
        Self {
            stream: Stream(view),
            group,
            notified,
            wanted: BTreeSet::new(),
            seen: Vec::new(),
        }
    }

    fn look(&mut self) {
        self.seen = match self.stream.0.load() {
            None => Vec::new(),
            Some(p) => NAMES.map(|name| seen(p.snapshot(), name)).into(),
        };
    }

    fn run(&mut self) {
        if self.notified.take() {
            self.look();
        }
    }

    fn ask(&mut self, round: usize) {
        let name = NAMES[round * 5 % NAMES.len()];
        match self.wanted.insert(name) {
            true => self.stream.want(&[name]),
            false => {
                self.wanted.remove(name);
                self.stream.give_up(&[name]);
            }
        }
        // What it wants is pending from here on, so that it is not told too early that it does not exist.
        self.look();
    }
}

/// Opens and closes streams that change their minds, and keeps a few open.
fn serve(reader: &OnDemandCacheReader<NodeId>, thread: usize) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for round in 0..ROUNDS {
        if round.is_multiple_of(7) {
            tasks.push(Task::open(reader, GROUPS[(round / 7 + thread) % 2]));
        }
        if tasks.len() > 4 {
            tasks.swap_remove(round % 4);
        }
        if round % 60 == 30 {
            tasks.clear();
        }
        for (at, task) in tasks.iter_mut().enumerate() {
            task.ask(round * (at + 1) + thread);
            task.run();
        }
        visit(reader);
    }
    tasks
}

/// Whoever left the group just before: who comes has the base of all groups, at once or soon.
fn visit(reader: &OnDemandCacheReader<NodeId>) {
    let mut visitor = Task::open(reader, VISITED);
    visitor.ask(0);
    let mut looks = 0;
    while visitor.stream.0.load().is_none() {
        looks += 1;
        assert!(looks < 100_000, "nothing is published for an open stream");
        thread::yield_now();
    }
}

fn base(round: usize) -> Snapshot {
    let mut base = Snapshot::builder();
    if round.is_multiple_of(2) {
        base.insert(Resource::builder(CLUSTER, "moved", &b"base"[..]))
            .unwrap();
    }
    let body = round.to_string();
    base.insert(Resource::builder(CLUSTER, "always", body.into_bytes()))
        .unwrap();
    base.build()
}

fn revised(group: &str) -> Wanted<String> {
    Wanted::new(group.to_owned(), CLUSTER, "revised".into())
}

fn publish(writer: &OnDemandCacheWriter<String>, thread: usize) {
    for round in 0..ROUNDS {
        let group = GROUPS[(round + thread) % GROUPS.len()];
        match round % 4 {
            0 => writer.clear(&group.to_owned()),
            1 => {
                let news = Resolution::found(cluster("revised", b"revised"));
                let _ = writer.revise(&revised(group), news);
            }
            _ => drop(writer.set(&group.to_owned(), base(round))),
        }
    }
}

fn drain(reader: &OnDemandCacheReader<NodeId>) {
    assert_eq!(reader.announce(usize::MAX), Announced::All);
}

/// The resolver's task: it runs when it is woken.
fn resolve<F: Future>(mut driver: Pin<&mut F>, woken: &Arc<Notified>, done: &AtomicBool) {
    while !done.load(Ordering::SeqCst) {
        run(driver.as_mut(), woken);
        thread::yield_now();
    }
}

fn run<F: Future>(mut task: Pin<&mut F>, woken: &Arc<Notified>) {
    let waker = Waker::from(Arc::clone(woken));
    while woken.take() {
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
}

/// Lets time go by, and the resolver's task run.
fn drive<F: Future>(mut driver: Pin<&mut F>, woken: &Arc<Notified>, time: &Time) {
    for _ in 0..120 {
        run(driver.as_mut(), woken);
        time.pass(SECOND / 2);
    }
    run(driver, woken);
}

/// What a stream that wants a name must see when all is resolved.
fn expected(writer: &OnDemandCacheWriter<String>, group: &str, name: &str) -> &'static str {
    let base = writer
        .get(&group.to_owned())
        .unwrap_or_else(Snapshot::empty);
    match name {
        "absent" => "-",
        "failed" => "UNAVAILABLE",
        "panics" | "hangs" => "NOT_FOUND",
        "revised" => "last",
        "moved" if base.lookup(&CLUSTER, name).present().is_some() => "base",
        _ => "resolved",
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the cache has no threads, but its users do"
)]
fn threads_agree_on_what_there_is_and_leave_nothing_behind() {
    let limits = OnDemandLimits::default().with_at_once(3).with_waiting(12);
    let Bed {
        writer,
        reader,
        resolutions,
    } = bed(limits);
    let fate = Fate::default();
    let time = fate.time.clone();
    let woken = Arc::new(Notified(AtomicBool::new(true)));
    let mut driver = pin!(resolutions.run(fate.clone(), time.clone()));
    let done = AtomicBool::new(false);
    let mut tasks: Vec<Task> = thread::scope(|scope| {
        let (driver, woken, done) = (driver.as_mut(), &woken, &done);
        let resolves = scope.spawn(move || resolve(driver, woken, done));
        let announces = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                time.pass(MILLISECOND);
                if reader.announce(3) == Announced::All {
                    thread::yield_now();
                }
            }
        });
        let publishers = [0, 1].map(|thread| {
            let writer = &writer;
            scope.spawn(move || publish(writer, thread))
        });
        let servers = [0, 1, 2].map(|thread| {
            let reader = &reader;
            scope.spawn(move || serve(reader, thread))
        });
        let (servers, publishers) = (
            servers.map(|thread| thread.join()),
            publishers.map(|thread| thread.join()),
        );
        // Whatever came of these, or the others would never end.
        done.store(true, Ordering::SeqCst);
        announces.join().unwrap();
        resolves.join().unwrap();
        assert!(publishers.iter().all(Result::is_ok));
        servers.into_iter().flat_map(Result::unwrap).collect()
    });

    // Where too many names wait, they are resolved one by one as the others are tried again.
    drive(driver.as_mut(), &woken, &time);
    for group in GROUPS {
        let last = Resolution::found(cluster("revised", b"last"));
        let _ = writer.revise(&revised(group), last);
    }
    drain(&reader);
    assert!(!tasks.is_empty());
    for task in &mut tasks {
        task.run();
        for (name, seen) in NAMES.iter().zip(&task.seen) {
            if task.wanted.contains(name) {
                assert_eq!(seen, expected(&writer, task.group, name), "{name}");
            }
        }
        let seen = std::mem::take(&mut task.seen);
        task.look();
        assert_eq!(task.seen, seen, "a stream sleeps");
    }
    tasks.clear();
    for group in GROUPS {
        writer.clear(&group.to_owned());
    }
    drive(driver.as_mut(), &woken, &time);
    assert!(writer.store_is_empty());
    assert_eq!(fate.running.load(Ordering::Relaxed), 0);
    assert_eq!(*lock(&fate.held), BTreeSet::new());
}
