use std::sync::Arc;

use portolan_core::{GroupKey, Snapshot, SnapshotWriter};

use crate::translator::BoxedTranslator;
use crate::{BoxError, Gate, GateRefusal, MassDeletionGuard};

/// What happens to a model on its way to a publication, up to the publishing.
#[derive(Debug)]
pub(crate) struct Stages<M, G: GroupKey> {
    pub(crate) translator: Box<dyn BoxedTranslator<M, G>>,
    pub(crate) writer: Arc<dyn SnapshotWriter<G>>,
    pub(crate) mass_deletion_guard: Option<MassDeletionGuard>,
    pub(crate) gates: Vec<Box<dyn Gate>>,
}

/// What the stages made of a model.
#[derive(Debug)]
pub(crate) enum Verdict {
    Publish(Snapshot),
    Unchanged,
    Refused(GateRefusal),
    Failed(BoxError),
}

impl<M, G: GroupKey> Stages<M, G> {
    pub(crate) fn run(&self, model: &M, group: &G, asks_guard: AsksGuard) -> Verdict {
        let previous = self.writer.get(group);
        let mut builder = match &previous {
            Some(previous) => Snapshot::builder_from(previous),
            None => Snapshot::builder(),
        };
        if let Err(error) = self.translator.translate_boxed(model, group, &mut builder) {
            return Verdict::Failed(error);
        }
        let next = builder.build();
        if previous.as_ref().is_some_and(|p| p.same_content(&next)) {
            return Verdict::Unchanged;
        }
        let guard = self.mass_deletion_guard.as_ref();
        let guard = guard.filter(|_| asks_guard == AsksGuard::Yes);
        let gates = self.gates.iter().map(|gate| &**gate);
        for gate in guard
            .map(|guard| guard as &dyn Gate)
            .into_iter()
            .chain(gates)
        {
            if let Err(refusal) = gate.check(previous.as_ref(), &next) {
                return Verdict::Refused(refusal);
            }
        }
        Verdict::Publish(next)
    }
}

/// Whether the guard against mass deletions has a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsksGuard {
    Yes,
    No,
}
