//! Spreading what would otherwise happen to all streams at once.

use std::time::Duration;

/// A stream's share of `length`: a part of it, evenly scattered over the streams.
///
/// Streams are numbered in the order in which they came; multiplying by an odd constant scatters them.
pub(crate) fn share_of(length: Duration, stream: u64) -> Duration {
    let scattered = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    let share = u32::try_from(scattered).unwrap_or(u32::MAX);
    length / (1 << 16) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_spread_evenly() {
        let length = Duration::from_secs(10);
        let mut seconds: Vec<_> = (0..1000)
            .map(|stream| share_of(length, stream).as_secs())
            .collect();
        assert!(seconds.iter().all(|second| *second < 10));
        seconds.sort_unstable();
        for tenth in seconds.chunk_by(|a, b| a == b) {
            assert!((90..=110).contains(&tenth.len()), "{}", tenth.len());
        }
    }
}
