//! Between encoded messages and what the session and the source understand.

mod fields;
mod node;
mod request;
mod requests;
mod response;

pub(crate) use node::{NodeWatch, parse_node};
pub use request::RequestError;
pub(crate) use request::{Bounds, Inbound};
pub(crate) use requests::Requests;
pub(crate) use response::{Framed, frame};
