use std::fmt::Display;
use std::time::Duration;

use tokio::time::Instant;

/// A condition that did not come true in time.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "not a library")]
pub struct WaitError {
    /// What was waited for, and what was seen last.
    pub message: String,
}

impl Display for WaitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WaitError {}

/// Asks again and again until the answer is `Ok`, and gives up after a while with the last `Err`.
///
/// # Errors
/// The condition did not come true in time.
pub async fn eventually<T, E: Display, F: Future<Output = Result<T, E>>>(
    what: &str,
    within: Duration,
    mut check: impl FnMut() -> F,
) -> Result<T, WaitError> {
    let deadline = Instant::now() + within;
    loop {
        match check().await {
            Ok(value) => return Ok(value),
            Err(last) if Instant::now() > deadline => {
                let message = format!("{what}: not within {within:?}; last: {last}");
                return Err(WaitError { message });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
