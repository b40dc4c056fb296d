use std::collections::VecDeque;
use std::time::Duration;

/// One direction of a connection: messages arrive in order, some time after they were sent.
#[derive(Debug)]
pub(super) struct Link<M> {
    latency: Duration,
    messages: VecDeque<(Duration, M)>,
}

impl<M> Link<M> {
    pub(super) fn new(latency: Duration) -> Self {
        Self {
            latency,
            messages: VecDeque::new(),
        }
    }

    pub(super) fn send(&mut self, now: Duration, message: M) {
        self.messages.push_back((now + self.latency, message));
    }

    /// When the next message arrives.
    pub(super) fn due(&self) -> Option<Duration> {
        self.messages.front().map(|(at, _)| *at)
    }

    pub(super) fn receive(&mut self, now: Duration) -> Option<M> {
        self.due().filter(|at| *at <= now)?;
        self.messages.pop_front().map(|(_, message)| message)
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }
}
