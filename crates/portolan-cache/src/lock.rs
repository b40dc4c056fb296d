use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic. What this crate's locks guard is whole between any two statements: under a lock there
/// is nothing but moves, counts and map operations, and only a group key's own `Hash` or `Eq` could panic there.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
