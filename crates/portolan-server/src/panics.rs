//! Code of others that must not take a stream down with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs foreign code; a panic is logged, and gives `None`.
///
/// What `run` had borrowed may be left half-changed; callers hand out shared references only, or drop what was used.
pub(crate) fn contain<T>(what: &'static str, run: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(value) => Some(value),
        Err(panic) => {
            tracing::error!(panic = text_of(&*panic), "{what} panicked");
            None
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    let text = panic.downcast_ref::<&str>().copied().or_else(owned);
    text.unwrap_or("no text")
}
