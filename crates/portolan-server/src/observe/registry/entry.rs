use std::sync::{Arc, OnceLock};

use portolan_core::{ResourceTypes, SotwMode, TypeUrl};
use portolan_engine::{Event, Reason};

use super::progress::FullState;
use super::{Index, Progress, ResponseStatus, Slot};
use crate::{Callbacks, Method, ResponseInfo, StreamInfo, TurnInfo};

/// A stream's entry in the registry, from when it is admitted until this is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    index: Arc<Index>,
    types: Arc<ResourceTypes>,
    method: Method,
    slot: OnceLock<Arc<Slot>>,
}

impl Entry {
    pub(super) fn new(index: &Arc<Index>, types: &Arc<ResourceTypes>, stream: &StreamInfo) -> Self {
        Self {
            index: Arc::clone(index),
            types: Arc::clone(types),
            method: stream.method(),
            slot: OnceLock::new(),
        }
    }

    pub(crate) fn noticed(&self) {
        self.update(|progress, _| progress.noticed());
    }

    fn update(&self, update: impl FnOnce(&mut Progress, &FullState<'_>)) {
        if let Some(slot) = self.slot.get() {
            update(&mut slot.progress(), &|url| self.is_full_state(url));
        }
    }

    fn is_full_state(&self, url: &TypeUrl) -> bool {
        let mode = || self.types.get(url).sotw_mode();
        self.method == Method::Stream && mode() == SotwMode::FullState
    }
}

impl Callbacks for Entry {
    fn stream_admitted(&self, stream: &StreamInfo) {
        // Nobody hears of what a `Fetch` was answered.
        let listed = self.method != Method::Fetch;
        let Some(node) = stream.node().filter(|_| listed) else {
            return;
        };
        let new = || Arc::new(Slot::new(Arc::clone(node), stream.clone()));
        self.index.add(self.slot.get_or_init(new));
    }

    fn turn(&self, _: &StreamInfo, turn: &TurnInfo) {
        self.update(|progress, _| progress.looked_at(turn.generation()));
    }

    fn response(&self, _: &StreamInfo, response: &ResponseInfo<'_>) {
        if response.reason() == Reason::Refresh {
            // What the client has is what it had.
            return;
        }
        let sent = ResponseStatus::now(response.version(), response.nonce(), response.generation());
        self.update(|progress, full_state| {
            progress.sent(response.type_url(), sent, full_state);
        });
    }

    fn event(&self, _: &StreamInfo, event: &Event) {
        self.update(|progress, full_state| progress.event(event, full_state));
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.get() {
            self.index.remove(slot);
        }
    }
}
