//! Checks snapshots of the Portolan xDS control plane before clients see them.
//!
//! [`Checks`] says what is looked for and what is known of the world around a snapshot; [`Checks::check`] looks at one,
//! a [`Checker`] at one after another, at the cost of what differs. Either gives a [`Report`] of [`Finding`]s, each of
//! which leads to its place:
//!
//! ```text
//! Listener "ingress" › filter_chains[0] › filters[1] › http_connection_manager › rds › route_config_name "r1": there is no such RouteConfiguration
//! ```
//!
//! | [`FindingKind`] | severity | means |
//! |---|---|---|
//! | [`Missing`](FindingKind::Missing) | error; warning where the reference is [soft](portolan_core::Strength) | a resource refers to one that does not exist |
//! | [`Cycle`](FindingKind::Cycle) | error | aggregate clusters are members of each other |
//! | [`InnerName`](FindingKind::InnerName) | error | a resource has another name than its body (C-379) |
//! | [`AddressClash`](FindingKind::AddressClash) | error | two listeners bind one address |
//! | [`Schema`](FindingKind::Schema) | error | a field has a value that the schema does not allow |
//! | [`DuplicateName`](FindingKind::DuplicateName) | warning | an alias is a name, or an alias, of another resource too |
//! | [`NoServiceName`](FindingKind::NoServiceName) | warning | a cluster with an xdstp name does not name its endpoints (C-354) |
//! | [`ServedElsewhere`](FindingKind::ServedElsewhere) | warning | there are resources of a type that another cache serves |
//! | [`Unreferenced`](FindingKind::Unreferenced) | info | nothing refers to endpoints, a route table, a secret or an extension configuration |
//!
//! A [`Policy`] for each kind says whether it is ignored, reported, or a reason to refuse. What a snapshot does not speak
//! for, or is declared to come from elsewhere, is no finding; neither is what cannot be had and is said so
//! ([`ResourceFailure`](portolan_core::ResourceFailure)).
//!
//! # Values of fields
//! With feature `schema` there is [`schema`], which validates resources by the rules that the xDS APIs have for the values
//! of their fields. [`Checks::with_schema`] makes what it finds findings.
//!
//! # What it does not do
//! What clients ask beyond the rules of the schema, such as that a regular expression compiles, it does not know.

mod change;
mod checker;
mod checks;
mod cycles;
mod finding;
mod report;
#[cfg(feature = "schema")]
pub mod schema;

pub use checker::Checker;
pub use checks::{Checks, Policy};
pub use finding::{Finding, FindingKind, Severity};
pub use report::Report;
