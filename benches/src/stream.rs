use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use portolan_core::View;
use portolan_engine::{Request, Response, Scope, Session, SessionConfig, Transitions, Variant};

use crate::Collection;
use crate::collection::SameName;

/// The server's side of a stream: what its task holds and does, without the task and the transport.
#[derive(Debug)]
pub struct Stream {
    session: Session,
    view: Box<dyn View>,
}

impl Stream {
    /// A stream on which nothing was asked yet.
    #[must_use]
    pub fn open(collection: &Collection, variant: Variant) -> Self {
        static CONFIG: LazyLock<Arc<SessionConfig>> = LazyLock::new(|| Arc::new(config()));
        Self::with(collection, variant, &CONFIG)
    }

    /// The same, which goes from one publication to the next in order and waits for nothing.
    #[must_use]
    pub fn open_ordered(collection: &Collection, variant: Variant) -> Self {
        static CONFIG: LazyLock<Arc<SessionConfig>> =
            LazyLock::new(|| Arc::new(config().with_transitions(Transitions::Ordered)));
        Self::with(collection, variant, &CONFIG)
    }

    fn with(collection: &Collection, variant: Variant, config: &Arc<SessionConfig>) -> Self {
        Self {
            session: Session::new(variant, Scope::Aggregated, Arc::clone(config)),
            view: collection.open(),
        }
    }

    /// What the task does when it is woken because something was published: everything up to the pieces that go on the
    /// wire, and the look whether there is more.
    ///
    /// # Panics
    /// If not one response says it all.
    pub fn push(&mut self) -> Response {
        self.wake();
        self.answer()
    }

    /// What the task does with a request that is answered.
    ///
    /// # Panics
    /// If the request is refused, or not one response says it all.
    pub fn ask(&mut self, request: Request) -> Response {
        self.hear(request);
        self.answer()
    }

    /// What the task does with a request that is not answered.
    ///
    /// # Panics
    /// If the request is refused or answered.
    pub fn tell(&mut self, request: Request) {
        self.hear(request);
        let response = self.respond();
        assert!(response.is_none(), "there is nothing to say");
    }

    pub(crate) fn wake(&mut self) {
        self.session.handle_change();
        self.tell_events();
    }

    pub(crate) fn hear(&mut self, request: Request) {
        let heard = self.session.handle_request(request);
        heard.expect("the client keeps to the protocol");
        self.tell_events();
    }

    pub(crate) fn respond(&mut self) -> Option<Response> {
        let response = self.session.poll_response(Duration::ZERO, &*self.view);
        self.tell_events();
        response
    }

    fn answer(&mut self) -> Response {
        let response = self.respond();
        let response = response.expect("there is something to say");
        drop(black_box(response.parts()));
        // A transport that has taken it asks for more.
        assert!(self.respond().is_none(), "one response says it all");
        response
    }

    fn tell_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            drop(black_box(event));
        }
    }
}

fn config() -> SessionConfig {
    let config = SessionConfig::default().with_references(Arc::new(SameName));
    // First answers are not what is counted: in one piece they are acknowledged sooner.
    config.with_max_response(usize::MAX)
}
