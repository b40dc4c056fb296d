//! The xDS protocol as a pure state machine.

#![no_std]

extern crate alloc;

mod config;
mod error;
mod event;
mod message;

pub use config::{Limits, Scope, SessionConfig, Variant};
pub use error::ProtocolError;
pub use event::Event;
pub use message::{DeltaRequest, ErrorDetail, Nonce, Reason, Request, Response, SotwRequest};
