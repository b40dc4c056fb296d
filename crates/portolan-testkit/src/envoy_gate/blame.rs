//! Who is at fault: found out by asking Envoy about less.

use super::EnvoyGateError;
use super::fold::{Fold, Key, Part};
use super::process::Run;

/// How many resources that were folded into one are tried apart.
const MAX_PIECES: usize = 16;

/// The first part that Envoy does not take after those before it, and what it says then: a part may clash with another.
/// `None` where that cannot be said.
pub(super) fn first(
    parts: &[Part],
    run: impl Fn(&[Part]) -> Result<Run, EnvoyGateError>,
) -> Option<(String, usize)> {
    let (mut accepted, mut rejected, mut says) = (0, parts.len(), None);
    while rejected - accepted > 1 || says.is_none() {
        // The whole is asked once more at last, if need be, for what it says.
        let middle = match rejected - accepted {
            0 => return None,
            1 => rejected,
            _ => accepted.midpoint(rejected),
        };
        match run(&parts[..middle]).ok()? {
            Run::Accepted if middle == rejected => return None,
            Run::Accepted => accepted = middle,
            Run::Rejected(message) => {
                rejected = middle;
                says = Some(message);
            }
        }
    }
    let is_alone = rejected == 1 && matches!(run(&[]), Ok(Run::Rejected(_)));
    match is_alone {
        true => None,
        false => Some((says?, rejected - 1)),
    }
}

/// Which of what was folded into the last part is at fault: that without which Envoy takes it, or else the part itself.
pub(super) fn piece(
    fold: &Fold<'_>,
    parts: &[Part],
    run: impl Fn(&[Part]) -> Result<Run, EnvoyGateError>,
) -> Key {
    let [before @ .., last] = parts else {
        unreachable!("there is a part that is at fault");
    };
    let is_at_fault = |piece: &&Key| {
        let Ok(without) = fold.without(piece, last) else {
            return false;
        };
        let mut parts = before.to_vec();
        parts.push(without);
        matches!(run(&parts), Ok(Run::Accepted))
    };
    let mut pieces = last.pieces().iter().take(MAX_PIECES);
    let at_fault = pieces.find(is_at_fault);
    at_fault.unwrap_or_else(|| last.owner()).clone()
}

#[cfg(test)]
mod tests {
    use portolan_core::Snapshot;
    use portolan_resources::{AddTyped, build};

    use super::*;

    /// An Envoy that does not take certain parts, each for its own reason.
    fn first_of(parts: usize, bad: &[usize]) -> Option<(String, usize)> {
        let mut snapshot = Snapshot::builder();
        for at in 0..parts {
            let cluster = build::eds_cluster(format!("{at:02}"));
            snapshot.add(&cluster).unwrap();
        }
        let snapshot = snapshot.build();
        let parts = Fold::new(&snapshot, &[]).parts().unwrap();
        first(&parts, |parts| {
            Ok(match bad.iter().find(|bad| **bad < parts.len()) {
                Some(bad) => Run::Rejected(format!("{bad} is bad")),
                None => Run::Accepted,
            })
        })
    }

    #[test]
    fn the_first_bad_part_is_found_with_its_own_reason() {
        for parts in 1..9 {
            for bad in 0..parts {
                let expected = Some((format!("{bad} is bad"), bad));
                assert_eq!(first_of(parts, &[bad]), expected);
                assert_eq!(first_of(parts, &[bad, parts - 1]), expected);
            }
        }
    }

    #[test]
    fn nobody_is_blamed_for_what_is_wrong_without_any() {
        assert_eq!(first_of(0, &[]), None);
        assert_eq!(first_of(3, &[]), None);
        let parts = Fold::new(&Snapshot::empty(), &[]).parts().unwrap();
        assert_eq!(first(&parts, |_| Ok(Run::Rejected(String::new()))), None);
    }
}
