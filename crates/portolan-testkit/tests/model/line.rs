//! A stream between the client and a server, with a judge that listens.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use portolan_core::View;
use portolan_engine::{Event, Scope, Session, SessionConfig};

use crate::content::TYPES;
use crate::judge::{Distrust, Heard, Judge, Rules, Versions};
use crate::message::{Ask, Reply};
use crate::store::Store;

pub(crate) struct Line {
    session: Session,
    view: Box<dyn View>,
    woken: Arc<Flag>,
    judge: Judge,
    pub(crate) store: usize,
    pub(crate) up: VecDeque<Ask>,
    pub(crate) down: VecDeque<Reply>,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Line {
    pub(crate) fn open(
        scope: Scope,
        config: &Arc<SessionConfig>,
        store: (usize, &Store),
        rules: Rules,
        before: Option<Self>,
    ) -> Self {
        let woken = Arc::new(Flag::default());
        let mut session = Session::new(rules.variant, scope, Arc::clone(config));
        let mut distrust: [Distrust; TYPES] = Default::default();
        // Another server knows nothing of the client.
        if let Some(before) = before.filter(|before| before.store == store.0) {
            session.distrust(before.session.unsettled());
            distrust = before.judge.unsettled();
        }
        let mut judge = Judge::new(rules, distrust);
        if let Some((generation, contents)) = store.1.newest() {
            judge.published(None, generation, &contents);
        }
        Self {
            view: store.1.open(Waker::from(Arc::clone(&woken))),
            session,
            woken,
            judge,
            store: store.0,
            up: VecDeque::new(),
            down: VecDeque::new(),
        }
    }

    pub(crate) fn judge(&mut self) -> &mut Judge {
        &mut self.judge
    }

    /// The session handles the next request.
    pub(crate) fn handle(&mut self, versions: &Versions) -> Result<Option<Ask>, String> {
        let Some(ask) = self.up.pop_front() else {
            return Ok(None);
        };
        let handled = self
            .session
            .handle_request(ask.request(self.judge.variant()));
        handled.map_err(|error| error.to_string())?;
        let heard = self.events()?;
        let overtaken = heard.iter().find_map(|heard| match heard {
            Heard::Nacked { stale, .. } => Some(*stale),
            _ => None,
        });
        let expected = self.judge.request(&ask, versions, overtaken);
        if heard != expected {
            return Err(format!("{ask:?}: reports {heard:?}, not {expected:?}"));
        }
        if self.session.subscribed_names() != self.judge.names() {
            return Err("it counts other names".to_owned());
        }
        Ok(Some(ask))
    }

    /// The session makes the next response.
    pub(crate) fn serve(&mut self, now: Duration, store: &Store) -> Result<Option<Reply>, String> {
        store.announce();
        loop {
            if self.woken.0.swap(false, Ordering::Relaxed) {
                self.session.handle_change();
            }
            let response = self.session.poll_response(now, &*self.view);
            let Some(response) = response else {
                if self.expire(now) {
                    self.events()?;
                    continue;
                }
                self.events()?;
                if let Some((generation, contents)) = store.newest() {
                    self.judge.silent(now, generation, &contents)?;
                }
                return Ok(None);
            };
            let generation = response.generation.get();
            let contents = store.publication(generation);
            let contents = contents.ok_or("a publication that never was")?;
            let reply = Reply::read(&response, &contents, now)?;
            // What settles does so before the response is made, the rest is about the response.
            let events: Vec<_> = iter::from_fn(|| self.session.poll_event()).collect();
            let settles = |event: &Event| matches!(event, Event::Settled { .. });
            let (before, after): (Vec<_>, Vec<_>) = events.iter().partition(|e| settles(e));
            before.into_iter().try_for_each(|e| self.judge.event(e))?;
            let judged = self.judge.response(&reply, generation, &contents);
            judged.map_err(|why| format!("{why}: {reply:?}"))?;
            after.into_iter().try_for_each(|e| self.judge.event(e))?;
            self.judge.check_bounds()?;
            self.down.push_back(reply.clone());
            return Ok(Some(reply));
        }
    }

    /// Lets a timer fire that is due.
    pub(crate) fn expire(&mut self, now: Duration) -> bool {
        let due = self.session.poll_timeout().is_some_and(|at| at <= now);
        if due {
            self.session.handle_timeout(now);
        }
        due
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.session.poll_timeout()
    }

    /// Whether nothing is on its way and nothing waits.
    pub(crate) fn is_at_rest(&self) -> bool {
        let silent = self.up.is_empty() && self.down.is_empty();
        silent && !self.session.is_holding() && self.timeout().is_none()
    }

    fn events(&mut self) -> Result<Vec<Heard>, String> {
        let mut heard = Vec::new();
        while let Some(event) = self.session.poll_event() {
            heard.extend(Heard::of(&event));
            self.judge.event(&event)?;
        }
        Ok(heard)
    }
}
