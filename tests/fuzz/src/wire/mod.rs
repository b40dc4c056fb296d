//! The services, called as a transport calls them, with bytes for a body.

mod node;
mod recorder;
mod request;
mod stream;
mod talk;

pub use node::node;
pub use request::{delta_request, sotw_request};
pub(crate) use stream::op;
pub use stream::stream;
