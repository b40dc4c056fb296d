use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code that is not ours and keeps its panic away from the caller; the process's panic hook has reported it.
///
/// The caller must be able to go on as if the call had returned.
pub(crate) fn contain(call: impl FnOnce()) {
    let _reported = catch_unwind(AssertUnwindSafe(call));
}
