use std::time::SystemTime;

use portolan_core::{Generation, Settlement, TypeUrl};
use portolan_engine::Event;

use super::{RejectionStatus, ResponseStatus, TypeStatus};

/// How far a stream has got. It grows with the stream's types, which the session bounds, and not with their names.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) types: Vec<TypeStatus>,
    /// The publication that was looked at last.
    pub(super) generation: Option<Generation>,
    pub(super) settlement: Option<Settlement>,
    pub(super) unsettled_since: Option<SystemTime>,
    /// The source said that there may be something new, and the stream has not looked yet.
    noticed: bool,
}

impl Progress {
    pub(super) fn new(connected: SystemTime) -> Self {
        Self {
            types: Vec::new(),
            generation: None,
            settlement: None,
            unsettled_since: Some(connected),
            noticed: false,
        }
    }

    pub(super) fn is_rejecting(&self) -> bool {
        self.types.iter().any(TypeStatus::is_rejecting)
    }

    /// Whether nothing is left to say and nothing to hear, as far as anybody knows.
    pub(super) fn is_settled(&self) -> bool {
        let settled = self.settlement.map(Settlement::generation);
        !self.noticed
            && settled.is_some()
            && settled == self.generation
            && !self.types.iter().any(TypeStatus::is_pending)
    }

    pub(super) fn noticed(&mut self) {
        self.noticed = true;
        self.note_settled();
    }

    pub(super) fn looked_at(&mut self, generation: Generation) {
        self.noticed = false;
        self.generation = Some(generation);
        self.note_settled();
    }

    pub(super) fn sent(
        &mut self,
        url: &TypeUrl,
        response: ResponseStatus,
        full_state: &FullState<'_>,
    ) {
        self.of_type(url, full_state).send(response);
        self.note_settled();
    }

    pub(super) fn event(&mut self, event: &Event, full_state: &FullState<'_>) {
        match event {
            Event::Interest {
                type_url,
                added,
                removed,
                wildcard,
            } => {
                let ty = self.of_type(type_url, full_state);
                ty.subscribe(added.len(), removed.len(), *wildcard);
            }
            Event::Acked {
                type_url,
                nonce,
                version,
                generation,
            } => {
                let response = ResponseStatus::now(version, *nonce, *generation);
                self.of_type(type_url, full_state).accept(response);
            }
            Event::Nacked {
                type_url,
                nonce,
                version,
                generation,
                code,
                message,
                ..
            } => {
                let response = ResponseStatus::now(version, *nonce, *generation);
                let rejection = RejectionStatus::new(response, *code, message);
                self.of_type(type_url, full_state).reject(rejection);
            }
            Event::Settled {
                generation,
                rejecting,
            } => {
                self.settlement = Some(Settlement::new(*generation, *rejecting));
                if !rejecting {
                    self.types.iter_mut().for_each(TypeStatus::clear_rejection);
                }
            }
            Event::Withheld { type_url, .. }
            | Event::Permitted { type_url, .. }
            | Event::Retained { type_url, .. }
            | Event::Released { type_url, .. }
            | Event::Empty { type_url, .. } => {
                self.of_type(type_url, full_state).transition.event(event);
                return;
            }
            _ => return,
        }
        self.note_settled();
    }

    fn of_type(&mut self, url: &TypeUrl, full_state: &FullState<'_>) -> &mut TypeStatus {
        let at = self.types.iter().position(|ty| ty.type_url() == url);
        let at = at.unwrap_or_else(|| {
            self.types
                .push(TypeStatus::new(url.clone(), full_state(url)));
            self.types.len() - 1
        });
        &mut self.types[at]
    }

    fn note_settled(&mut self) {
        match self.is_settled() {
            true => self.unsettled_since = None,
            false => {
                self.unsettled_since.get_or_insert_with(SystemTime::now);
            }
        }
    }
}

/// Whether each response of a type replaces all that came before.
pub(super) type FullState<'a> = dyn Fn(&TypeUrl) -> bool + 'a;
