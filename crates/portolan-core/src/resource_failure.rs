use std::fmt;

use bytes::{BufMut, BytesMut};

use crate::resource::Entries;
use crate::wire::{field_len, put_field};
use crate::{Name, ResourceError, encoded_resource_name};

mod field {
    /// `resource_errors` of the two responses.
    pub(super) const DELTA_ERRORS: u8 = 9;
    pub(super) const SOTW_ERRORS: u8 = 7;
    pub(super) const RESOURCE_NAME: u8 = 1;
    pub(super) const ERROR_DETAIL: u8 = 2;
    /// Key of the code of `google.rpc.Status`.
    pub(super) const CODE: u8 = 1 << 3;
    pub(super) const MESSAGE: u8 = 2;
}

/// Why a resource cannot be had: what clients that name it are told in place of it, in `resource_errors` (C-357).
///
/// It is told once, and again when it changes (C-361, C-362). Clients that do not know of such errors pass over it: in
/// state of the world the name is left out for them, and in delta one that is not found is said to be removed as well
/// (C-366).
///
/// ```
/// use portolan_core::{Lookup, ResourceFailure, Snapshot, well_known::CLUSTER};
///
/// let mut builder = Snapshot::builder();
/// builder.fail(CLUSTER, "a", ResourceFailure::unavailable("the registry does not answer"))?;
/// let snapshot = builder.build();
/// assert!(matches!(snapshot.lookup(&CLUSTER, "a"), Lookup::Error(_)));
/// assert!(snapshot.is_empty());
/// # Ok::<(), portolan_core::ResourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceFailure {
    code: FailureCode,
    message: String,
}

/// What kind of failure it is. A client keeps what it has of a resource while a failure is transient, and may drop it
/// when the data are at fault (C-360).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureCode {
    /// `UNKNOWN`: transient.
    Unknown,
    /// `NOT_FOUND`: there is no such resource. The same as taking it out, with a reason (C-367).
    NotFound,
    /// `PERMISSION_DENIED`: the client may not have it.
    PermissionDenied,
    /// `INTERNAL`: transient.
    Internal,
    /// `UNAVAILABLE`: transient.
    Unavailable,
}

impl FailureCode {
    /// The number of the gRPC code.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Unknown => 2,
            Self::NotFound => 5,
            Self::PermissionDenied => 7,
            Self::Internal => 13,
            Self::Unavailable => 14,
        }
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "UNKNOWN",
            Self::NotFound => "NOT_FOUND",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
        })
    }
}

impl ResourceFailure {
    /// A failure of this kind, with a text for whoever reads the client's log.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// A failure that has a gRPC code already. What a client would make of codes that are no [`FailureCode`] is not
    /// said anywhere: it is told `UNKNOWN` in their place (C-360).
    ///
    /// # Errors
    /// [`ResourceError::NoFailure`] where the code is that of success.
    pub fn from_code(code: i32, message: impl Into<String>) -> Result<Self, ResourceError> {
        let code = match code {
            0 => return Err(ResourceError::NoFailure { code }),
            5 => FailureCode::NotFound,
            7 => FailureCode::PermissionDenied,
            13 => FailureCode::Internal,
            14 => FailureCode::Unavailable,
            _ => FailureCode::Unknown,
        };
        Ok(Self::new(code, message))
    }

    /// There is no such resource.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureCode::NotFound, message)
    }

    /// It cannot be had at the moment.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FailureCode::Unavailable, message)
    }

    /// The kind.
    #[must_use]
    pub fn code(&self) -> FailureCode {
        self.code
    }

    /// The text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether clients are to take it as they take that the resource is gone.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == FailureCode::NotFound
    }

    /// What is sent of it under this name. It has no body.
    pub(crate) fn entries(&self, name: &Name) -> Entries {
        let mut status = BytesMut::new();
        status.put_u8(field::CODE);
        status.put_u8(self.code.number());
        if !self.message.is_empty() {
            put_field(field::MESSAGE, self.message.as_bytes(), &mut status);
        }
        let mut error = BytesMut::new();
        put_field(
            field::RESOURCE_NAME,
            &encoded_resource_name(name),
            &mut error,
        );
        put_field(field::ERROR_DETAIL, &status, &mut error);
        let mut entries = BytesMut::with_capacity(2 * field_len(error.len()));
        put_field(field::DELTA_ERRORS, &error, &mut entries);
        let sotw_at = entries.len();
        put_field(field::SOTW_ERRORS, &error, &mut entries);
        Entries {
            sotw_at,
            body_at: entries.len(),
            bytes: entries.freeze(),
        }
    }
}

impl fmt::Display for ResourceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::CLUSTER;
    use crate::{EntryForm, Resource};

    fn failed(failure: ResourceFailure) -> Resource {
        Resource::failed(CLUSTER, "a", failure).unwrap()
    }

    #[test]
    fn c358_an_error_has_a_name_and_is_no_success() {
        let refused = ResourceFailure::from_code(0, "fine").unwrap_err();
        assert_eq!(refused, ResourceError::NoFailure { code: 0 });
        let unnamed = Resource::failed(CLUSTER, "", ResourceFailure::not_found(""));
        assert!(matches!(unnamed, Err(ResourceError::Unnamed { .. })));
    }

    #[test]
    fn c360_codes_that_no_client_expects_are_unknown() {
        let code = |number| ResourceFailure::from_code(number, "").unwrap().code();
        for passes in [2, 5, 7, 13, 14] {
            assert_eq!(i32::from(code(passes).number()), passes);
        }
        for other in [1, 3, 4, 6, 8, 16, 99, -1] {
            assert_eq!(code(other), FailureCode::Unknown);
        }
    }

    #[test]
    fn an_error_is_an_entry_of_its_own_field_in_either_response() {
        let failed = failed(ResourceFailure::not_found("no"));
        let error = b"\x0d\x0a\x03\x0a\x01a\x12\x06\x08\x05\x12\x02no";
        let delta = [&b"\x4a"[..], error].concat();
        let sotw = [&b"\x3a"[..], error].concat();
        assert_eq!(failed.entry(EntryForm::Delta), delta);
        assert_eq!(failed.entry(EntryForm::Sotw), sotw);
        assert_eq!(failed.entry_len(EntryForm::Delta), delta.len());
        assert_eq!(failed.entry_len(EntryForm::Sotw), sotw.len());
        assert!(failed.body().is_empty() && failed.on_demand());
    }

    #[test]
    fn code_and_message_decide_what_is_the_same_error() {
        let unavailable = failed(ResourceFailure::unavailable("x"));
        assert!(unavailable.same_content(&failed(ResourceFailure::unavailable("x"))));
        assert!(!unavailable.same_content(&failed(ResourceFailure::unavailable("y"))));
        assert!(!unavailable.same_content(&failed(ResourceFailure::not_found("x"))));
        let builder = Resource::builder(CLUSTER, "a", &b""[..]).on_demand(true);
        assert!(!unavailable.same_content(&builder.clone().build().unwrap()));
        let built = builder.build_onto(Some(&unavailable)).unwrap();
        assert!(built.failure().is_none());
    }
}
