use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code that is not ours; gives the message of its panic.
///
/// What it may leave half changed is its own: none of the loop's state is reached from within.
pub(crate) fn contain<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| panic_message(&*payload))
}

/// The text that a panic was raised with.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(message) = payload.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message.clone()
    } else {
        "a panic without a message".to_owned()
    }
}
