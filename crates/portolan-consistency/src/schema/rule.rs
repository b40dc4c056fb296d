use std::fmt;

/// A kind of rule that the schema has for the values of fields.
///
/// Shown, it is what the annotations of the schema call it, if they have a name for it:
///
/// ```
/// use portolan_consistency::schema::Rule;
///
/// assert_eq!(Rule::MinLen.to_string(), "min_len");
/// assert_eq!(Rule::ALL.into_iter().find(|rule| rule.name() == "min_len"), Some(Rule::MinLen));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The bytes are a protobuf message.
    Encoding,
    /// Texts are UTF-8.
    Utf8,
    /// Messages lie no more than 100 deep in each other.
    Depth,
    /// What is in an `Any`, or is validated, is of a type that the schema has. By default
    /// [ignored](crate::Policy::Ignore): extensions of your own are not in it.
    KnownType,
    /// A message is there.
    Required,
    /// One member of a oneof is there.
    OneofRequired,
    /// A number or duration lies between bounds.
    Range,
    /// A truth has the one value that it may have.
    Const,
    /// An enum has a value with a name.
    DefinedOnly,
    /// A value is one of those that it may be.
    In,
    /// A value is none of those that it may not be.
    NotIn,
    /// A text or value has so many characters or bytes.
    MinLen,
    /// A text or value has no more characters or bytes.
    MaxLen,
    /// A text has no more bytes.
    MaxBytes,
    /// A text matches a regular expression.
    Pattern,
    /// A text is the name or value of an HTTP header.
    WellKnownRegex,
    /// A text begins with another.
    Prefix,
    /// A text ends with another.
    Suffix,
    /// There are so many of something.
    MinItems,
    /// There are no more of something.
    MaxItems,
    /// No two of several are equal.
    Unique,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 21] = [
        Self::Encoding,
        Self::Utf8,
        Self::Depth,
        Self::KnownType,
        Self::Required,
        Self::OneofRequired,
        Self::Range,
        Self::Const,
        Self::DefinedOnly,
        Self::In,
        Self::NotIn,
        Self::MinLen,
        Self::MaxLen,
        Self::MaxBytes,
        Self::Pattern,
        Self::WellKnownRegex,
        Self::Prefix,
        Self::Suffix,
        Self::MinItems,
        Self::MaxItems,
        Self::Unique,
    ];

    /// Its name, which stays what it is.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encoding => "encoding",
            Self::Utf8 => "utf8",
            Self::Depth => "depth",
            Self::KnownType => "known_type",
            Self::Required => "required",
            Self::OneofRequired => "oneof_required",
            Self::Range => "range",
            Self::Const => "const",
            Self::DefinedOnly => "defined_only",
            Self::In => "in",
            Self::NotIn => "not_in",
            Self::MinLen => "min_len",
            Self::MaxLen => "max_len",
            Self::MaxBytes => "max_bytes",
            Self::Pattern => "pattern",
            Self::WellKnownRegex => "well_known_regex",
            Self::Prefix => "prefix",
            Self::Suffix => "suffix",
            Self::MinItems => "min_items",
            Self::MaxItems => "max_items",
            Self::Unique => "unique",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
