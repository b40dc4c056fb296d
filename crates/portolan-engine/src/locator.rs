use alloc::vec::Vec;
use core::str;

use bytes::Bytes;
use portolan_core::{DynamicParameters, Name};

use crate::subscription::InvalidName;

/// A name with dynamic parameters, as a client subscribes it: one of `resource_locators`, `resource_locators_subscribe` or
/// `resource_locators_unsubscribe`. Without parameters it is the name (C-311).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Locator {
    /// `name`
    pub name: Bytes,
    /// `dynamic_parameters`: keys and values. Of several values of one key the last counts.
    pub parameters: Vec<(Bytes, Bytes)>,
}

impl Locator {
    /// A name with these parameters.
    pub fn new(
        name: impl Into<Bytes>,
        parameters: impl IntoIterator<Item = (Bytes, Bytes)>,
    ) -> Self {
        Self {
            name: name.into(),
            parameters: parameters.into_iter().collect(),
        }
    }

    /// How the name is written.
    pub(crate) fn text(&self) -> Result<&str, InvalidName> {
        text(&self.name, FIELD)
    }

    /// The name that is subscribed.
    pub(crate) fn read(&self) -> Result<Name, InvalidName> {
        let stem = Name::from(self.text()?);
        let parameters = self.parameters.iter().map(|(key, value)| {
            let text = |bytes| str::from_utf8(bytes).map_err(|_| InvalidName(FIELD));
            Ok((text(key)?, text(value)?))
        });
        let parameters: DynamicParameters = parameters
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .collect();
        Ok(stem.with_parameters(&parameters))
    }

    /// Length of what it has, in bytes.
    pub(crate) fn len(&self) -> usize {
        let parameters = self.parameters.iter();
        let parameters: usize = parameters.map(|(key, value)| key.len() + value.len()).sum();
        self.name.len() + parameters
    }
}

const FIELD: &str = "resource_locators";

/// A name as a client writes it. No name holds a NUL, which is what sets off constraints and parameters here.
pub(crate) fn text<'a>(name: &'a [u8], field: &'static str) -> Result<&'a str, InvalidName> {
    let text = str::from_utf8(name).map_err(|_| InvalidName(field))?;
    match text.contains('\0') {
        true => Err(InvalidName(field)),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_locator_is_that_of_its_name_its_keys_and_its_values() {
        let parameters = [("env", "prod"), ("v", "")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(Locator::new("ab", parameters).len(), 2 + 3 + 4 + 1);
        assert_eq!(Locator::new("ab", []).len(), 2);
    }
}
