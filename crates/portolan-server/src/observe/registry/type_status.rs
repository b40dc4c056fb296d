use std::sync::Arc;
use std::time::SystemTime;

use portolan_core::{Generation, TypeUrl, Version};
use portolan_engine::Nonce;

use super::TransitionStatus;

/// What a stream was sent of one type, and what it said of it.
#[derive(Clone, Debug)]
pub struct TypeStatus {
    type_url: TypeUrl,
    /// Whether each response replaces all that came before.
    full_state: bool,
    names: usize,
    wildcard: bool,
    sent: Option<ResponseStatus>,
    accepted: Option<ResponseStatus>,
    rejection: Option<RejectionStatus>,
    /// The newest response that was accepted or rejected.
    answered: Option<Nonce>,
    pub(super) transition: TransitionStatus,
}

impl TypeStatus {
    pub(super) fn new(type_url: TypeUrl, full_state: bool) -> Self {
        Self {
            type_url,
            full_state,
            names: 0,
            wildcard: false,
            sent: None,
            accepted: None,
            rejection: None,
            answered: None,
            transition: TransitionStatus::default(),
        }
    }

    pub(super) fn subscribe(&mut self, added: usize, removed: usize, wildcard: bool) {
        self.names = (self.names + added).saturating_sub(removed);
        self.wildcard = wildcard;
    }

    pub(super) fn send(&mut self, response: ResponseStatus) {
        self.sent = Some(response);
    }

    pub(super) fn accept(&mut self, response: ResponseStatus) {
        let nonce = response.nonce;
        self.answered = self.answered.max(Some(nonce));
        // The rest of what a partial response leaves out may still be rejected.
        self.rejection
            .take_if(|rejection| self.full_state && rejection.response.nonce < nonce);
        // Acknowledgements may come out of order.
        if self.accepted.as_ref().is_none_or(|last| last.nonce < nonce) {
            self.accepted = Some(response);
        }
    }

    pub(super) fn reject(&mut self, mut rejection: RejectionStatus) {
        self.answered = self.answered.max(Some(rejection.response.nonce));
        if let Some(last) = &self.rejection {
            rejection.since = last.since;
        }
        self.rejection = Some(rejection);
    }

    /// The stream came to rest, and rejects nothing.
    pub(super) fn clear_rejection(&mut self) {
        self.rejection = None;
    }

    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// Number of names that the stream subscribes.
    #[must_use]
    pub fn names(&self) -> usize {
        self.names
    }

    /// Whether the stream wants everything.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.wildcard
    }

    /// The newest response that was handed to the transport, and was more than a refresh.
    #[must_use]
    pub fn sent(&self) -> Option<&ResponseStatus> {
        self.sent.as_ref()
    }

    /// The newest response that the client accepted.
    #[must_use]
    pub fn accepted(&self) -> Option<&ResponseStatus> {
        self.accepted.as_ref()
    }

    /// What the client rejects. It stays until the client has accepted a later response that replaces all of it, or
    /// the stream has come to rest without rejecting anything.
    #[must_use]
    pub fn rejection(&self) -> Option<&RejectionStatus> {
        self.rejection.as_ref()
    }

    /// What of the type waits for clusters or stays although it is gone.
    #[must_use]
    pub fn transition(&self) -> &TransitionStatus {
        &self.transition
    }

    /// Whether the client rejects something: short for `rejection().is_some()`.
    #[must_use]
    pub fn is_rejecting(&self) -> bool {
        self.rejection.is_some()
    }

    /// Whether the newest response was neither accepted nor rejected yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let sent = self.sent.as_ref();
        sent.is_some_and(|sent| self.answered < Some(sent.nonce))
    }
}

/// A response, and when it got so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseStatus {
    version: Version,
    nonce: Nonce,
    generation: Generation,
    at: SystemTime,
}

impl ResponseStatus {
    /// It got so far now.
    pub(super) fn now(version: &Version, nonce: Nonce, generation: Generation) -> Self {
        Self {
            version: version.clone(),
            nonce,
            generation,
            at: SystemTime::now(),
        }
    }

    /// The version that it carried.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Its nonce.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// The publication that it was made from.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// When it was sent, or accepted, or rejected.
    #[must_use]
    pub fn at(&self) -> SystemTime {
        self.at
    }
}

/// A client's rejection of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectionStatus {
    response: ResponseStatus,
    code: i32,
    message: Arc<str>,
    since: SystemTime,
}

impl RejectionStatus {
    pub(super) fn new(response: ResponseStatus, code: i32, message: &str) -> Self {
        let since = response.at;
        Self {
            response,
            code,
            message: message.into(),
            since,
        }
    }

    /// The response that was rejected last.
    #[must_use]
    pub fn response(&self) -> &ResponseStatus {
        &self.response
    }

    /// The version that was rejected last.
    #[must_use]
    pub fn version(&self) -> &Version {
        self.response.version()
    }

    /// The code that the client chose; any, 0 included.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The client's reason, control characters escaped, cut to
    /// [`Limits::with_nack_text`](crate::Limits::with_nack_text).
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Since when the client rejects something of the type: the first of the rejections that were not followed by
    /// anything better.
    #[must_use]
    pub fn since(&self) -> SystemTime {
        self.since
    }
}
