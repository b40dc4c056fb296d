//! What happens to a model on its way to a publication, up to the publishing. On a thread of the blocking pool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_core::well_known::{ENDPOINT, LOCALITY_ENDPOINT};
use portolan_core::{GroupKey, Snapshot, SnapshotWriter, TypeUrl};
use tokio::time::Instant;

use crate::TypeDiff;
use crate::consistency::{Consistency, Findings};
use crate::schedule::{AsksGuard, Assignment, Shown, Work};
use crate::translator::{BoxedTranslator, Form};
use crate::{BoxError, Extent, Gate, GateRefusal, MassDeletionGuard, Proposal, Stage, malformed};

/// What every translation goes through.
#[derive(Debug)]
pub(crate) struct Stages<M, G: GroupKey, D> {
    pub(crate) translator: Box<dyn Form<M, G, D>>,
    pub(crate) endpoints: Option<Box<dyn BoxedTranslator<M, G>>>,
    pub(crate) writer: Arc<dyn SnapshotWriter<G>>,
    pub(crate) checks_bodies: bool,
    pub(crate) mass_deletion_guard: Option<MassDeletionGuard>,
    pub(crate) consistency: Consistency<G>,
    pub(crate) gates: Vec<Box<dyn Gate<G>>>,
    pub(crate) reported_names: usize,
}

/// What the stages made of a model.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) judgement: Judgement,
    /// How it differs from what the group has.
    pub(crate) diff: Vec<TypeDiff>,
    pub(crate) findings: Findings,
}

#[derive(Debug)]
pub(crate) enum Judgement {
    /// It is to be published, in place of `previous`.
    Publish {
        next: Snapshot,
        previous: Option<Snapshot>,
    },
    /// It is what the group has.
    Unchanged(Shown),
    Refused(GateRefusal),
    Failed(BoxError),
}

/// How far a translation got, for those who stop waiting for it.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Reached>);

#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    extent: Extent,
    /// How long the translator took; `None` while it works.
    translated: Option<Duration>,
}

impl Progress {
    fn begins(&self, extent: Extent) {
        self.reached().extent = extent;
    }

    fn translated(&self, took: Duration) {
        self.reached().translated = Some(took);
    }

    pub(crate) fn extent(&self) -> Extent {
        self.reached().extent
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.reached().translated {
            None => Stage::Translate,
            Some(_) => Stage::Gates,
        }
    }

    /// Of the time that both stages took, that in the translator.
    pub(crate) fn translate_time(&self, took: Duration) -> Duration {
        self.reached()
            .translated
            .map_or(took, |time| time.min(took))
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a translation starts from.
#[derive(Clone, Copy, Debug)]
struct Base<'a> {
    /// What the group has.
    previous: Option<&'a Snapshot>,
    /// Its publication, where the loop made it. Changes are applied to nothing else.
    ours: Option<(&'a Snapshot, Shown)>,
}

impl<'a> Base<'a> {
    fn new(previous: Option<&'a Snapshot>, shown: Option<Shown>) -> Self {
        let ours = previous.zip(shown);
        let ours = ours.filter(|(previous, shown)| shown.is(previous.id()));
        Self { previous, ours }
    }
}

impl<M, G: GroupKey, D> Stages<M, G, D> {
    pub(crate) fn run(
        &self,
        model: &M,
        group: &G,
        assignment: &Assignment<D>,
        progress: &Progress,
    ) -> Verdict {
        let began = Instant::now();
        let previous = self.writer.get(group);
        let base = Base::new(previous.as_ref(), assignment.shown);
        let translated = self.translate(model, group, &assignment.work, base, progress);
        progress.translated(began.elapsed());
        let next = match translated {
            Ok(next) => next,
            Err(error) => return Verdict::without_diff(Judgement::Failed(error)),
        };
        if let Some((ours, shown)) = base.ours
            && is_same(ours, &next)
        {
            return Verdict::without_diff(Judgement::Unchanged(shown));
        }
        let proposal = Proposal::new(group, previous.as_ref(), &next);
        let differences = proposal.differences().iter();
        let diff = differences.map(|difference| difference.summary(self.reported_names));
        let diff = diff.collect();
        let mut findings = Findings::default();
        let judgement = match self.check(&proposal, assignment.asks_guard, &mut findings) {
            Ok(()) => Judgement::Publish { next, previous },
            Err(refusal) => Judgement::Refused(refusal),
        };
        Verdict {
            judgement,
            diff,
            findings,
        }
    }

    fn translate(
        &self,
        model: &M,
        group: &G,
        work: &Work<D>,
        base: Base<'_>,
        progress: &Progress,
    ) -> Result<Snapshot, BoxError> {
        let ours = base.ours.map(|(ours, _)| ours);
        if let (Work::Details(details), Some(ours)) = (work, ours) {
            progress.begins(Extent::Details);
            let details: Vec<_> = details.iter().map(|detail| &**detail).collect();
            let mut out = ours.edit();
            match self.translator.details(model, group, &details, &mut out) {
                Some(Ok(())) => return Ok(out.build()),
                Some(Err(error)) => {
                    tracing::debug!(?group, %error, "details were not applied; translating everything");
                }
                None => {}
            }
        }
        if let (Work::Endpoints, Some(ours), Some(endpoints)) = (work, ours, &self.endpoints) {
            progress.begins(Extent::Endpoints);
            let mut out = ours.rebuild([ENDPOINT, LOCALITY_ENDPOINT]);
            endpoints.translate_boxed(model, group, &mut out)?;
            return Ok(out.build());
        }
        progress.begins(Extent::Everything);
        let mut out = match base.previous {
            Some(previous) => Snapshot::builder_from(previous),
            None => Snapshot::builder(),
        };
        self.translator.everything(model, group, &mut out)?;
        Ok(out.build())
    }

    fn check(
        &self,
        proposal: &Proposal<'_, G>,
        asks_guard: AsksGuard,
        findings: &mut Findings,
    ) -> Result<(), GateRefusal> {
        let previous = proposal.previous();
        if previous.is_some_and(|previous| previous.same_content(proposal.next())) {
            return Ok(());
        }
        if self.checks_bodies {
            malformed::check(proposal)?;
        }
        if let (Some(guard), AsksGuard::Yes) = (&self.mass_deletion_guard, asks_guard) {
            guard.check(proposal)?;
        }
        self.consistency.check(proposal, findings)?;
        self.gates.iter().try_for_each(|gate| gate.check(proposal))
    }
}

impl Verdict {
    fn without_diff(judgement: Judgement) -> Self {
        Self {
            judgement,
            diff: Vec::new(),
            findings: Findings::default(),
        }
    }
}

/// Whether two snapshots are equal in all respects: what is content, and what decorates it.
fn is_same(a: &Snapshot, b: &Snapshot) -> bool {
    let same_set = |url: &TypeUrl| match (a.set(url), b.set(url)) {
        (Some(a), Some(b)) => a.id() == b.id(),
        _ => false,
    };
    let mut urls = a.sets().chain(b.sets()).map(|(url, _)| url);
    a.same_content(b) && urls.all(|url| same_set(url) && a.version_info(url) == b.version_info(url))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use portolan_core::well_known::CLUSTER;
    use portolan_core::{Generation, Published, Resource, SnapshotBuilder};

    use super::*;
    use crate::translator::{Full, Incremental};
    use crate::{IncrementalTranslator, Translator};

    /// Has what was set last.
    #[derive(Debug, Default)]
    struct Slot(Mutex<Option<Snapshot>>);

    impl SnapshotWriter<u8> for Slot {
        fn set(&self, _: &u8, snapshot: Snapshot) -> Published {
            *self.0.lock().unwrap() = Some(snapshot);
            Published::Changed(Generation::default())
        }

        fn get(&self, _: &u8) -> Option<Snapshot> {
            self.0.lock().unwrap().clone()
        }

        fn clear(&self, _: &u8) {}

        fn groups(&self) -> Vec<u8> {
            Vec::new()
        }
    }

    /// The model is a number of clusters, a detail one of them that changed.
    #[derive(Debug)]
    struct Numbered;

    fn put(out: &mut SnapshotBuilder, number: usize, body: Vec<u8>) -> Result<(), BoxError> {
        out.upsert(Resource::builder(CLUSTER, format!("c{number:06}"), body))?;
        Ok(())
    }

    impl Translator<usize, u8> for Numbered {
        type Error = BoxError;

        fn translate(
            &self,
            model: &usize,
            _: &u8,
            out: &mut SnapshotBuilder,
        ) -> Result<(), BoxError> {
            (0..*model).try_for_each(|number| put(out, number, Vec::new()))
        }
    }

    impl IncrementalTranslator<usize, u8> for Numbered {
        type Detail = usize;

        fn translate_details(
            &self,
            _: &usize,
            _: &u8,
            details: &[&usize],
            out: &mut SnapshotBuilder,
        ) -> Result<(), BoxError> {
            (details.iter()).try_for_each(|number| put(out, **number, b"\x0a\x01x".to_vec()))
        }
    }

    fn stages<M, D>(translator: Box<dyn Form<M, u8, D>>, slot: Arc<Slot>) -> Stages<M, u8, D> {
        Stages {
            translator,
            endpoints: None,
            writer: slot,
            checks_bodies: true,
            mass_deletion_guard: Some(MassDeletionGuard::default()),
            consistency: Consistency::default(),
            gates: Vec::new(),
            reported_names: 16,
        }
    }

    /// What it allocates to change one of so many resources, gates and report included.
    fn cost(resources: usize) -> (u64, u64) {
        let slot = Arc::new(Slot::default());
        let stages = stages(Box::new(Incremental(Numbered)), slot.clone());
        let run = |work, shown| {
            let asks_guard = AsksGuard::Yes;
            let assignment = Assignment {
                work,
                shown,
                asks_guard,
            };
            let verdict = stages.run(&resources, &0, &assignment, &Progress::default());
            match verdict.judgement {
                Judgement::Publish { next, .. } => next,
                other => panic!("{other:?}"),
            }
        };
        let first = run(Work::Everything, None);
        let shown = Shown {
            generation: Generation::default().next(),
            value: [first.id(); 2],
        };
        let _ = slot.set(&0, first);
        let changed = resources / 2;
        let details = vec![Arc::new(changed)];
        let mut next = None;
        let info =
            allocation_counter::measure(|| next = Some(run(Work::Details(details), Some(shown))));
        let next = next.unwrap();
        let name = format!("c{changed:06}");
        assert_eq!(next.set(&CLUSTER).unwrap().len(), resources);
        assert!(
            next.lookup(&CLUSTER, &name)
                .present()
                .is_some_and(|r| !r.body().is_empty())
        );
        (info.count_total, info.bytes_total)
    }

    /// Shows the model as the label of a type, and as the time to live of a cluster.
    #[derive(Debug)]
    struct Decorated;

    impl Translator<u8, u8> for Decorated {
        type Error = BoxError;

        fn translate(&self, model: &u8, _: &u8, out: &mut SnapshotBuilder) -> Result<(), BoxError> {
            let ttl = Duration::from_secs(u64::from(1 + *model / 2));
            out.insert(Resource::builder(CLUSTER, "a", Vec::new()).ttl(ttl))?;
            out.label(CLUSTER, format!("v{model}"));
            Ok(())
        }
    }

    #[derive(Debug)]
    struct Never;

    impl Gate<u8> for Never {
        fn check(&self, _: &Proposal<'_, u8>) -> Result<(), GateRefusal> {
            Err(GateRefusal::new("never"))
        }
    }

    #[test]
    fn what_decorates_is_stored_without_asking_gates() {
        let slot = Arc::new(Slot::default());
        let translator = Box::new(Full(Decorated));
        let stages = Stages::<u8, u8, ()> {
            gates: vec![Box::new(Never)],
            ..stages(translator, slot.clone())
        };
        let run = |model: u8, shown| {
            let assignment = Assignment {
                work: Work::Everything,
                shown,
                asks_guard: AsksGuard::Yes,
            };
            stages.run(&model, &0, &assignment, &Progress::default())
        };
        assert!(matches!(run(1, None).judgement, Judgement::Refused(_)));
        let mut first = Snapshot::builder();
        Decorated.translate(&1, &0, &mut first).unwrap();
        let first = first.build();
        let shown = Some(Shown {
            generation: Generation::default().next(),
            value: [first.id(); 2],
        });
        let _ = slot.set(&0, first);
        assert!(matches!(run(1, shown).judgement, Judgement::Unchanged(_)));
        for (model, label, ttl) in [(0, "v0", 1), (3, "v3", 2)] {
            let verdict = run(model, shown);
            assert!(verdict.diff.is_empty());
            let Judgement::Publish { next, .. } = verdict.judgement else {
                panic!("{:?}", verdict.judgement);
            };
            assert_eq!(next.version_info(&CLUSTER), label);
            let cluster = next.lookup(&CLUSTER, "a").present().unwrap();
            assert_eq!(cluster.ttl(), Some(Duration::from_secs(ttl)));
        }
    }

    #[test]
    fn a_detail_costs_what_it_changes_and_not_what_there_is() {
        let (few, _) = cost(1_000);
        let (many, bytes) = cost(20_000);
        // One array of pointers, to chunks of about a hundred resources each, is all that grows.
        assert!(many <= few + 4, "{many} allocations instead of {few}");
        assert!(bytes < 16 * 1024, "{bytes} bytes");
    }
}
