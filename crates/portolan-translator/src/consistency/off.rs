use std::convert::Infallible;
use std::marker::PhantomData;

use crate::{GateRefusal, Proposal};

/// Nothing is found.
pub(crate) type Findings = Option<Infallible>;

/// Checks nothing.
#[derive(Debug)]
pub(crate) struct Consistency<G>(PhantomData<fn(&G)>);

impl<G> Default for Consistency<G> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<G> Consistency<G> {
    pub(crate) fn check(&self, _: &Proposal<'_, G>, _: &mut Findings) -> Result<(), GateRefusal> {
        Ok(())
    }

    pub(crate) fn forget(&self, _: &G) {}
}
