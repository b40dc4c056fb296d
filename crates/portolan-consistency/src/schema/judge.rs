//! Whether a value is what the plan asks for. Of texts only lengths are told, as they may be secrets.

use std::fmt::{self, Display};

use super::Rule;
use super::plan::{Bound, Enum, Form, Integer, Octets, Range, Text};

/// Who is told which rule does not hold, and what would be right.
pub(super) type Tell<'a> = &'a mut dyn FnMut(Rule, fmt::Arguments<'_>);

impl Text {
    pub(super) fn judge(&self, text: &str, tell: Tell<'_>) {
        if self.or_empty && text.is_empty() {
            return;
        }
        // A character has one to four bytes: mostly there is no need to count them.
        if text.len().div_ceil(4) < self.min_len || text.len() > self.max_len {
            let len = text.chars().count();
            judge_len(len, self.min_len, self.max_len, "character", tell);
        }
        if text.len() > self.max_bytes {
            let (max, is) = (self.max_bytes, text.len());
            tell(
                Rule::MaxBytes,
                format_args!("must have at most {max} bytes, and has {is}"),
            );
        }
        if !text.starts_with(self.prefix) {
            tell(
                Rule::Prefix,
                format_args!("must begin with {:?}", self.prefix),
            );
        }
        if !text.ends_with(self.suffix) {
            tell(
                Rule::Suffix,
                format_args!("must end with {:?}", self.suffix),
            );
        }
        if !self.one_of.is_empty() && !self.one_of.contains(&text) {
            tell(Rule::In, format_args!("must be one of {:?}", self.one_of));
        }
        self.form.judge(text, tell);
    }
}

impl Form {
    fn judge(self, text: &str, tell: Tell<'_>) {
        match self {
            Self::Free => {}
            Self::Pattern(pattern) if pattern.is_match(text) => {}
            Self::Pattern(pattern) => {
                tell(Rule::Pattern, format_args!("must match {}", pattern.source));
            }
            Self::HeaderName if is_header_name(text) => {}
            Self::HeaderName => {
                tell(
                    Rule::WellKnownRegex,
                    format_args!("must be the name of a header"),
                );
            }
            Self::HeaderValue if text.bytes().all(|b| b == b'\t' || (b >= 0x20 && b != 0x7f)) => {}
            Self::HeaderValue => {
                tell(
                    Rule::WellKnownRegex,
                    format_args!("must have no control characters"),
                );
            }
            Self::Line if !text.contains(['\0', '\n', '\r']) => {}
            Self::Line => {
                tell(
                    Rule::WellKnownRegex,
                    format_args!("must be one line, without NUL"),
                );
            }
        }
    }
}

/// Whether it is a token, perhaps behind the colon of a pseudo-header. The schema's expression has a range where it means
/// three characters, so that a comma is allowed as well; clients take it by that expression.
fn is_header_name(text: &str) -> bool {
    let name = text.strip_prefix(':').unwrap_or(text);
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+,-.^_|~`".contains(&b);
    !name.is_empty() && name.bytes().all(is_part)
}

impl Octets {
    pub(super) fn judge(&self, bytes: &[u8], tell: Tell<'_>) {
        judge_len(bytes.len(), self.min_len, self.max_len, "byte", tell);
    }
}

fn judge_len(len: usize, min: usize, max: usize, unit: &str, tell: Tell<'_>) {
    let s = |count| if count == 1 { "" } else { "s" };
    if len < min {
        tell(
            Rule::MinLen,
            format_args!("must have at least {min} {unit}{}, and has {len}", s(min)),
        );
    }
    if len > max {
        tell(
            Rule::MaxLen,
            format_args!("must have at most {max} {unit}{}, and has {len}", s(max)),
        );
    }
}

impl<N: Copy + Default + PartialOrd> Range<N> {
    /// Whether it may have this value. What cannot be compared, as NaN, is not out of bounds.
    pub(super) fn allows(&self, value: N) -> bool {
        if self.or_zero && value == N::default() {
            return true;
        }
        let too_low = match self.lower {
            Bound::None => false,
            Bound::Open(bound) => value <= bound,
            Bound::Closed(bound) => value < bound,
        };
        let too_high = match self.upper {
            Bound::None => false,
            Bound::Open(bound) => value >= bound,
            Bound::Closed(bound) => value > bound,
        };
        if self.is_reversed() {
            !(too_low && too_high)
        } else {
            !(too_low || too_high)
        }
    }

    fn is_reversed(&self) -> bool {
        let bounds = self.lower.value().zip(self.upper.value());
        bounds.is_some_and(|(lower, upper)| upper <= lower)
    }

    /// Tells what it may be, each number as this one shows it.
    pub(super) fn tell<D: Display>(&self, value: N, show: impl Fn(N) -> D, tell: Tell<'_>) {
        let lower = match self.lower {
            Bound::None => None,
            Bound::Open(bound) => Some(format!("more than {}", show(bound))),
            Bound::Closed(bound) => Some(format!("at least {}", show(bound))),
        };
        let upper = match self.upper {
            Bound::None => None,
            Bound::Open(bound) => Some(format!("less than {}", show(bound))),
            Bound::Closed(bound) => Some(format!("at most {}", show(bound))),
        };
        let all: Vec<_> = lower.into_iter().chain(upper).collect();
        let all = all.join(if self.is_reversed() { " or " } else { " and " });
        tell(
            Rule::Range,
            format_args!("must be {all}, and is {}", show(value)),
        );
    }
}

impl<N: Copy> Bound<N> {
    fn value(&self) -> Option<N> {
        match self {
            Self::None => None,
            Self::Open(value) | Self::Closed(value) => Some(*value),
        }
    }
}

impl Enum {
    pub(super) fn judge(&self, value: i32, tell: Tell<'_>) {
        // Most enums count up from 0.
        let is_defined = |defined: &[i32]| {
            let counted = usize::try_from(value).ok().and_then(|at| defined.get(at));
            counted == Some(&value) || defined.binary_search(&value).is_ok()
        };
        if !self.defined.is_none_or(is_defined) {
            tell(
                Rule::DefinedOnly,
                format_args!("{value} is no value of the enum"),
            );
        }
        if self.not_in.contains(&value) {
            tell(
                Rule::NotIn,
                format_args!("{value} is a value that may not be used here"),
            );
        }
    }
}

impl Integer {
    /// The number that a reader makes of what is encoded: of a shorter one the lower bits.
    pub(super) fn read(self, encoded: u64) -> i128 {
        match self {
            Self::I32 => i128::from(encoded as i32),
            Self::I64 => i128::from(encoded as i64),
            Self::U32 => i128::from(encoded as u32),
            Self::U64 => i128::from(encoded),
        }
    }
}

/// A duration in nanoseconds, as in `1.5s`.
pub(super) struct Seconds(pub(super) i128);

impl Seconds {
    pub(super) const NANOS: i128 = 1_000_000_000;
}

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, nanos) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        if part == 0 {
            return write!(f, "{sign}{whole}s");
        }
        let digits = format!("{part:09}");
        write!(f, "{sign}{whole}.{}s", digits.trim_end_matches('0'))
    }
}
