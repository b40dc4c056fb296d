use std::mem;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Wake, Waker};

use portolan_core::{Announced, Source};

use crate::contain::contain;
use crate::lock::lock;

/// The parts that may have streams to wake, and the announcers that wait for that.
///
/// Each part is given a bell of its own to wake in an announcer's place, one at a time. So a part that has nothing to
/// announce takes nothing of the budget, and holds one waker, however often announcers come.
#[derive(Debug)]
pub(super) struct Line(Mutex<State>);

#[derive(Debug)]
struct State {
    parts: Vec<Place>,
    /// The part whose turn it is.
    turn: usize,
    waiting: Vec<Waker>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Whether the part may have something to announce.
    calls: bool,
    /// Whether the part has a bell that was not rung yet.
    has_bell: bool,
}

/// Rung by a part that has something to announce.
#[derive(Debug)]
struct Bell {
    line: Weak<Line>,
    part: usize,
}

impl Line {
    pub(super) fn of(parts: usize) -> Self {
        let place = Place {
            calls: true,
            has_bell: false,
        };
        Self(Mutex::new(State {
            parts: vec![place; parts],
            turn: 0,
            waiting: Vec::new(),
        }))
    }

    /// Registers an announcer's waker. One that wakes the same task as another adds nothing.
    pub(super) fn register(self: &Arc<Self>, waker: Waker, parts: &[Arc<dyn Source>]) {
        let mut state = lock(&self.0);
        let is_known = state.waiting.iter().any(|known| known.will_wake(&waker));
        let surplus = match is_known {
            true => Some(waker),
            false => {
                state.waiting.push(waker);
                None
            }
        };
        let without_bell: Vec<_> = (0..parts.len())
            .filter(|part| !mem::replace(&mut state.parts[*part].has_bell, true))
            .collect();
        drop(state);
        drop(surplus);
        for part in without_bell {
            self.hand_bell(part, &*parts[part]);
            // Another announcer may have visited it before it had the bell, and something come up in between.
            lock(&self.0).parts[part].calls = true;
        }
    }

    /// Lets the parts wake at most `budget` streams. Those that may have any share it, and take turns when there is
    /// less than one for each.
    pub(super) fn announce(
        self: &Arc<Self>,
        budget: usize,
        parts: &[Arc<dyn Source>],
    ) -> Announced {
        let mut left = budget;
        for calling in (1..=self.calling()).rev() {
            let share = left.div_ceil(calling);
            if share == 0 {
                break;
            }
            let Some((part, needs_bell)) = self.take() else {
                break;
            };
            left -= share;
            // Before it announces, or a change in between would go unnoticed.
            if needs_bell {
                self.hand_bell(part, &*parts[part]);
            }
            let mut announced = Announced::All;
            contain(|| announced = parts[part].announce(share));
            if announced != Announced::All {
                lock(&self.0).parts[part].calls = true;
            }
        }
        match self.calling() {
            0 => Announced::All,
            _ => Announced::More,
        }
    }

    /// The next part that may have something to announce, and whether it needs a bell.
    fn take(&self) -> Option<(usize, bool)> {
        let mut state = lock(&self.0);
        let (turn, len) = (state.turn, state.parts.len());
        let order = (turn..len).chain(0..turn);
        let part = order.into_iter().find(|part| state.parts[*part].calls)?;
        state.turn = (part + 1) % len;
        state.parts[part].calls = false;
        let had_bell = mem::replace(&mut state.parts[part].has_bell, true);
        Some((part, !had_bell))
    }

    fn calling(&self) -> usize {
        let state = lock(&self.0);
        state.parts.iter().filter(|part| part.calls).count()
    }

    fn hand_bell(self: &Arc<Self>, part: usize, source: &dyn Source) {
        let line = Arc::downgrade(self);
        let bell = Waker::from(Arc::new(Bell { line, part }));
        contain(|| source.register_announcer(bell));
    }

    fn ring(&self, part: usize) {
        let mut state = lock(&self.0);
        state.parts[part] = Place {
            calls: true,
            has_bell: false,
        };
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        for waker in waiting {
            contain(|| waker.wake());
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(line) = self.line.upgrade() {
            line.ring(self.part);
        }
    }
}
