//! Validates resources by the rules that the schema has for the values of fields: lengths, ranges, patterns, what must be
//! there.
//!
//! The xDS APIs carry such rules as annotations (`validate.rules`), and Envoy rejects what breaks one. A [`Validator`]
//! finds it before: in the encoded bytes, in every message that lies in them, also in an `Any`. With
//! [`Checks::with_schema`](crate::Checks::with_schema) it is found in snapshots.
//!
//! The rules are those of the version of the schema that `portolan-types` is generated from. A client of another version
//! may have others: see [`Validator::with_rule`] and [`Validator::with_place`]. What is not an annotation, such as that a
//! regular expression in a field is one, is not looked at.

#[rustfmt::skip]
#[allow(
    clippy::all,
    non_upper_case_globals,
    reason = "generated as is; messages are named as in the schema"
)]
mod generated;
mod judge;
mod plan;
mod rule;
mod validator;
mod violation;
mod walk;
mod wire;

pub use rule::Rule;
pub use validator::{UnknownPlace, Validator};
pub use violation::Violation;
