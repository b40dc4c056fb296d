//! Threads that meet wherever they can. What they must agree on is checked each time when they are done.

use std::thread;

use super::*;

const ROUNDS: usize = 500;

/// What a stream's task does: it looks when it is woken, and when its client has asked for something.
struct Task {
    stream: Stream,
    wakes: usize,
    seen: Vec<(String, String)>,
}

impl Task {
    fn open(reader: &LinearCacheReader) -> Self {
        Self {
            stream: Stream::open(reader),
            wakes: 0,
            seen: Vec::new(),
        }
    }

    fn run(&mut self) {
        if self.stream.wakes() > self.wakes {
            self.look();
        }
    }

    fn look(&mut self) {
        self.wakes = self.stream.wakes();
        self.seen = self.stream.look();
    }

    /// What it wants changes, and in the end it wants `a` again. It looks too early, so that it has to be woken.
    fn ask(&mut self, round: usize) {
        match round % 3 {
            0 => self.look(),
            1 => {
                self.stream.interest(&[], &["a"], false);
                self.look();
                self.stream.interest(&["a"], &[], false);
            }
            _ => {
                self.stream.interest(&[], &[], true);
                self.run();
                self.stream.interest(&[], &[], false);
            }
        }
        self.run();
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the cache has no threads, but its users do"
)]
fn threads_lose_no_wake_up() {
    let (writer, reader) = cache_of(&["a", "b"]);
    let mut tasks = [0, 1].map(|_| Task::open(&reader));
    for task in &mut tasks {
        task.stream.interest(&["a"], &[], false);
        task.look();
    }
    for round in 0..ROUNDS {
        let body = round.to_string();
        thread::scope(|scope| {
            for name in ["a", "b"] {
                let (writer, body) = (&writer, &body);
                scope.spawn(move || drop(writer.upsert(resource(name, body))));
            }
            for task in &mut tasks {
                scope.spawn(move || (0..3).for_each(|more| task.ask(round + more)));
            }
            for _ in 0..5 {
                let _ = reader.announce(1);
            }
        });
        drain(&reader);
        for task in &mut tasks {
            task.run();
            assert_eq!(task.seen[0].1, body, "a stream sleeps");
        }
    }
}
