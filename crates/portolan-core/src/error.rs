use std::time::Duration;

use crate::{Name, TypeUrl};

/// A resource or a set of resources that cannot be served. The fault is in the data that was handed in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// A resource without a name; clients could not ask for it.
    #[error("a resource of type {type_url} has no name")]
    Unnamed {
        /// Type of the resource.
        type_url: TypeUrl,
    },
    /// A resource without a type URL.
    #[error("resource {name:?} has no type URL")]
    Untyped {
        /// Name of the resource.
        name: Name,
    },
    /// A time to live that no client can keep to: none at all, or more than ten thousand years (C-304).
    #[error("resource {name:?} of type {type_url} has a time to live of {ttl:?}")]
    InvalidTtl {
        /// Type of the resource.
        type_url: TypeUrl,
        /// Name of the resource.
        name: Name,
        /// The time.
        ttl: Duration,
    },
    /// A name or an alias in URL form under which clients could not ask for the resource: it is malformed, or of another
    /// type (C-337).
    #[error("{name:?} cannot name a resource of type {type_url}: {reason}")]
    InvalidName {
        /// Type of the resource.
        type_url: TypeUrl,
        /// The name or alias.
        name: Name,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Constraints that cannot be published, or a name that holds a NUL and no constraints.
    #[error("{name} of type {type_url} cannot be published: {reason}")]
    InvalidConstraints {
        /// Type of the resource.
        type_url: TypeUrl,
        /// Name of the resource.
        name: Name,
        /// What is wrong.
        reason: &'static str,
    },
    /// Two alternatives of a resource that mention different keys: which of them a client is to have is not said (C-321).
    #[error("resources {first} and {second} of type {type_url} have constraints on different keys")]
    AlternativesDiffer {
        /// Type of both.
        type_url: TypeUrl,
        /// One.
        first: Name,
        /// The other.
        second: Name,
    },
    /// Two alternatives of a resource that one client is meant to have (C-321).
    #[error(
        "resources {first} and {second} of type {type_url} are both meant for clients with {parameters}"
    )]
    AlternativesOverlap {
        /// Type of both.
        type_url: TypeUrl,
        /// One.
        first: Name,
        /// The other.
        second: Name,
        /// What such a client has.
        parameters: String,
    },
    /// Alternatives of a resource that are too many to compare: more than 128, or with more than 4,096 ways to assign
    /// values that they mention to their keys.
    #[error("resource {name:?} of type {type_url} has too many alternatives to compare")]
    TooManyAlternatives {
        /// Type of all.
        type_url: TypeUrl,
        /// Name of all.
        name: Name,
    },
    /// An error with the code that means that there is none; clients reject it (C-358).
    #[error("code {code} is that of no error")]
    NoFailure {
        /// The code.
        code: i32,
    },
    /// Two resources of one name in one set; clients reject such a response (C-374).
    #[error("two resources of type {type_url} are named {name:?}")]
    Duplicate {
        /// Type of both.
        type_url: TypeUrl,
        /// Name of both.
        name: Name,
    },
    /// A resource of one type in a set of another (C-043).
    #[error("resource {name:?} is a {found}, but was added to the {expected} resources")]
    WrongType {
        /// Name of the resource.
        name: Name,
        /// Type of the set.
        expected: TypeUrl,
        /// Type of the resource.
        found: TypeUrl,
    },
}
