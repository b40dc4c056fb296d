use alloc::collections::VecDeque;
use alloc::vec::Vec;

use portolan_core::{Generation, Name, Version};

use crate::Nonce;
use crate::touched::Touched;

/// The responses of one type that wait for their acknowledgement, oldest first.
///
/// Clients withhold acknowledgements while anything warms, skip all but the newest, or send them out of order; so
/// there may be several, and none of them blocks anything.
#[derive(Debug)]
pub(crate) struct Window {
    in_flight: VecDeque<InFlight>,
    newest: Option<Nonce>,
    /// The first response of the newest answer, which may have been cut into several; `None` before that is sent.
    first: Option<Nonce>,
    max: usize,
}

/// What identifies a response that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) nonce: Nonce,
    pub(crate) version: Version,
    pub(crate) generation: Generation,
}

/// A response that was sent and what it spoke of.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) sent: Sent,
    pub(crate) touched: Touched,
    /// It told that what the client has lives on, and nothing else.
    heartbeat: bool,
    /// Acknowledged, and kept because an older one is not: what it spoke of is no longer the older one's affair.
    settled: bool,
}

impl InFlight {
    pub(crate) fn new(sent: Sent, touched: Touched) -> Self {
        Self {
            sent,
            touched,
            heartbeat: false,
            settled: false,
        }
    }

    /// A response of which nothing is in doubt while it is not acknowledged.
    pub(crate) fn heartbeat(sent: Sent) -> Self {
        Self {
            heartbeat: true,
            ..Self::new(sent, Touched::Names(Vec::new()))
        }
    }

    pub(crate) fn is_heartbeat(&self) -> bool {
        self.heartbeat
    }
}

impl Window {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            in_flight: VecDeque::new(),
            newest: None,
            first: None,
            max,
        }
    }

    /// The newest response of the type, acknowledged or not.
    pub(crate) fn newest(&self) -> Option<Nonce> {
        self.newest
    }

    /// The responses that are pushed from here on are one answer.
    pub(crate) fn begin_answer(&mut self) {
        self.first = None;
    }

    /// Whether another answer came after the one that this response belongs to.
    pub(crate) fn is_overtaken(&self, nonce: Nonce) -> bool {
        self.first.is_none_or(|first| nonce < first)
    }

    /// Whether every response was acknowledged or rejected. Heartbeats do not count.
    pub(crate) fn is_settled(&self) -> bool {
        self.awaited().next().is_none()
    }

    /// What the responses spoke of that are neither accepted nor rejected.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = &Touched> {
        let in_flight = self.in_flight.iter();
        let awaited = in_flight.filter(|response| !response.settled && !response.heartbeat);
        awaited.map(|response| &response.touched)
    }

    /// Whether a response up to this one is neither accepted nor rejected.
    pub(crate) fn awaits_through(&self, nonce: Nonce) -> bool {
        let mut sent = self.in_flight.iter().take_while(|r| r.sent.nonce <= nonce);
        sent.any(|response| !response.settled && !response.heartbeat)
    }

    /// Whether a response that spoke of the name, of all or of those up to one, is neither accepted nor rejected.
    pub(crate) fn awaits_name(&self, name: &Name, through: Option<Nonce>) -> bool {
        let is_meant = |r: &&InFlight| through.is_none_or(|through| r.sent.nonce <= through);
        let mut sent = self.in_flight.iter().take_while(is_meant);
        sent.any(|r| !r.settled && !r.heartbeat && r.touched.contains(name))
    }

    /// Notes a response; gives the oldest where there are too many now. Heartbeats are forgotten first.
    pub(crate) fn push(&mut self, response: InFlight) -> Option<InFlight> {
        self.newest = Some(response.sent.nonce);
        self.first.get_or_insert(response.sent.nonce);
        self.in_flight.push_back(response);
        if self.in_flight.len() > self.max {
            if let Some(at) = self.in_flight.iter().position(InFlight::is_heartbeat) {
                self.in_flight.remove(at);
                return None;
            }
            return self.in_flight.pop_front().filter(|oldest| !oldest.settled);
        }
        None
    }

    /// Takes out the response that a state-of-the-world client acknowledged or rejected. All older ones are settled
    /// with it (C-118). `None` where it is not waited for.
    pub(crate) fn settle_through(&mut self, nonce: Nonce) -> Option<InFlight> {
        let at = self.position(nonce)?;
        self.in_flight.drain(..=at).next_back()
    }

    /// Takes out the response that a state-of-the-world client rejected, of a type whose responses hold everything: it
    /// speaks of all that the older ones spoke of, which are settled with it. `None` where it is not waited for.
    pub(crate) fn reject_through(&mut self, nonce: Nonce) -> Option<InFlight> {
        let at = self.position(nonce)?;
        let settled = self.in_flight.drain(..=at);
        settled.reduce(|older, newer| InFlight {
            touched: newer.touched.and(older.touched),
            ..newer
        })
    }

    /// The oldest response speaks of this too.
    pub(crate) fn inherit(&mut self, touched: Touched) {
        if let Some(oldest) = self.in_flight.pop_front() {
            self.in_flight.push_front(InFlight {
                touched: oldest.touched.and(touched),
                heartbeat: false,
                ..oldest
            });
        }
    }

    /// Notes the acknowledgement of a delta client, which settles that response alone (C-195). `None` where it is
    /// not waited for.
    pub(crate) fn settle(&mut self, nonce: Nonce) -> Option<Sent> {
        let at = self.position(nonce)?;
        let response = &mut self.in_flight[at];
        response.settled = true;
        let settled = response.sent.clone();
        while self.in_flight.front().is_some_and(|r| r.settled) {
            self.in_flight.pop_front();
        }
        Some(settled)
    }

    /// What a response spoke of that is waited for.
    pub(crate) fn touched(&self, nonce: Nonce) -> Option<&Touched> {
        let at = self.position(nonce)?;
        Some(&self.in_flight[at].touched)
    }

    /// Takes out the response that a delta client rejected, without the names that a later response spoke of again.
    pub(crate) fn reject(&mut self, nonce: Nonce) -> Option<InFlight> {
        let at = self.position(nonce)?;
        let mut rejected = self.in_flight.remove(at)?;
        let later: VecDeque<_> = self.in_flight.iter().skip(at).map(|r| &r.touched).collect();
        if !later.is_empty() {
            let mut names = rejected.touched.names();
            names.retain(|name| !later.iter().any(|touched| touched.contains(name)));
            rejected.touched = Touched::Names(names.into_iter().cloned().collect());
        }
        while self.in_flight.front().is_some_and(|r| r.settled) {
            self.in_flight.pop_front();
        }
        Some(rejected)
    }

    fn position(&self, nonce: Nonce) -> Option<usize> {
        let at = self
            .in_flight
            .binary_search_by(|r| r.sent.nonce.cmp(&nonce))
            .ok()?;
        (!self.in_flight[at].settled).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn response(nonce: u64, names: &[&str]) -> InFlight {
        let names = names.iter().map(|n| Name::from(*n)).collect();
        let sent = Sent {
            nonce: Nonce::new(nonce),
            version: Version::from("v"),
            generation: Generation::default(),
        };
        InFlight::new(sent, Touched::Names(names))
    }

    fn window(responses: &[(u64, &[&str])]) -> Window {
        let mut window = Window::new(64);
        for (nonce, names) in responses {
            assert!(window.push(response(*nonce, names)).is_none());
        }
        window
    }

    #[test]
    fn a_sotw_ack_settles_all_older_ones() {
        let mut window = window(&[(1, &["a"]), (2, &["b"]), (5, &["c"])]);
        assert_eq!(
            window.settle_through(Nonce::new(2)).unwrap().sent.nonce,
            Nonce::new(2)
        );
        assert!(window.settle_through(Nonce::new(1)).is_none());
        assert!(window.settle_through(Nonce::new(5)).is_some());
        assert_eq!(window.newest(), Some(Nonce::new(5)));
    }

    #[test]
    fn a_delta_ack_settles_its_own_only() {
        let mut window = window(&[(1, &["a"]), (2, &["b"])]);
        assert!(window.settle(Nonce::new(2)).is_some());
        assert!(
            window.settle(Nonce::new(2)).is_none(),
            "a duplicate is nothing"
        );
        assert!(window.settle(Nonce::new(1)).is_some());
        assert!(window.in_flight.is_empty());
    }

    #[test]
    fn a_rejection_does_not_concern_what_was_sent_again_later() {
        let mut window = window(&[(1, &["a", "b", "c"]), (2, &["b"]), (3, &["c"])]);
        window.settle(Nonce::new(3));
        let rejected = window.reject(Nonce::new(1)).unwrap();
        let names: Vec<_> = rejected
            .touched
            .names()
            .into_iter()
            .map(Name::as_str)
            .collect();
        assert_eq!(names, ["a"]);
        assert!(window.settle(Nonce::new(2)).is_some());
        assert!(window.in_flight.is_empty());
    }

    fn names(touched: &Touched) -> Vec<&str> {
        touched.names().into_iter().map(Name::as_str).collect()
    }

    #[test]
    fn the_rejection_of_everything_is_about_all_that_was_not_accepted() {
        let mut window = window(&[(1, &["b"]), (2, &["a", "b"]), (3, &["c"]), (4, &[])]);
        let rejected = window.reject_through(Nonce::new(2)).unwrap();
        assert_eq!(rejected.sent.nonce, Nonce::new(2));
        assert_eq!(names(&rejected.touched), ["a", "b"]);
        window.inherit(rejected.touched);
        let rejected = window.reject_through(Nonce::new(4)).unwrap();
        assert_eq!(names(&rejected.touched), ["a", "b", "c"]);
        assert!(window.is_settled());
        assert!(window.reject_through(Nonce::new(4)).is_none());
    }

    #[test]
    fn what_is_acknowledged_behind_another_is_waited_for_no_more() {
        let mut window = window(&[(1, &["a"]), (2, &["b"])]);
        window.settle(Nonce::new(2));
        let awaited: Vec<_> = window.awaited().flat_map(names).collect();
        assert_eq!(awaited, ["a"]);
        assert!(!window.is_settled());
    }

    #[test]
    fn what_is_acknowledged_or_tells_nothing_is_waited_for_no_more() {
        let mut window = window(&[(1, &["a"]), (2, &["b"])]);
        window.push(InFlight::heartbeat(response(3, &[]).sent));
        window.settle(Nonce::new(2));
        let awaits = |name: &str, through| window.awaits_name(&Name::from(name), through);
        assert!(awaits("a", None));
        assert!(!awaits("a", Some(Nonce::new(0))));
        assert!(!awaits("b", None));
        assert!(window.awaits_through(Nonce::new(3)));
        window.settle(Nonce::new(1));
        assert!(!window.awaits_through(Nonce::new(3)));
        assert!(!window.awaits_name(&Name::from("a"), None));
    }

    #[test]
    fn a_heartbeat_that_inherits_what_was_rejected_is_one_no_more() {
        let mut window = Window::new(2);
        window.push(InFlight::heartbeat(response(1, &[]).sent));
        assert!(window.is_settled());
        window.inherit(Touched::Names(vec![Name::from("a")]));
        assert!(window.awaits_name(&Name::from("a"), None));
    }

    #[test]
    fn the_oldest_gives_way() {
        let mut window = Window::new(2);
        assert!(window.push(response(1, &[])).is_none());
        assert!(window.push(response(2, &[])).is_none());
        assert_eq!(
            window.push(response(3, &[])).unwrap().sent.nonce,
            Nonce::new(1)
        );
    }
}
