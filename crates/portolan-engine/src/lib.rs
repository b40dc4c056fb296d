//! The xDS protocol as a pure state machine: requests in, responses out, one [`Session`] per stream.
//!
//! Nothing here awaits, locks, sleeps, or knows gRPC or protobuf. A session is told what came and what time it is,
//! and is asked what to send; see [`Session`] for the whole contract. It answers from a
//! [`View`](portolan_core::View), at the moment when the stream can be written.
//!
//! There are two reasons to send, and no third: what was sent differs from what there is ([`Reason::Changed`]), and
//! the client must be answered ([`Reason::Owed`]). Only the first is paced. What clients keep for a limited time is told
//! to live on besides ([`Reason::Refresh`]), which is neither.
//!
//! # What this crate does not do
//! It keeps no resources (`portolan-cache`) and moves no bytes (`portolan-server`). Whether a route waits until its cluster
//! is ready, and a removal until nothing leads there, is a setting: [`Transitions`].

#![no_std]

extern crate alloc;

mod answer;
mod config;
mod cut;
mod early;
mod error;
mod escape;
mod event;
mod everything;
mod features;
mod fetch;
mod fingerprint;
mod introduced;
mod known;
mod lives;
mod locator;
mod message;
mod name_set;
mod owed;
mod rendering;
mod session;
mod spellings;
mod subscription;
mod suspects;
mod touched;
mod transition;
mod type_state;
mod unsettled;
mod window;

pub use config::{Limits, Scope, SessionConfig, Variant};
pub use error::ProtocolError;
pub use event::{Emptiness, Event, Release, Retention};
pub use features::{ClientFeatures, TtlPolicy};
pub use fetch::Fetch;
pub use locator::Locator;
pub use message::{
    DeltaRequest, ErrorDetail, Heartbeat, Nonce, Reason, Request, Response, SotwRequest,
};
pub use session::Session;
pub use transition::{SafeTimes, Transitions};
pub use unsettled::Unsettled;
