use std::sync::Arc;

use portolan_core::{GroupKey, SnapshotWriter};
use tokio::sync::watch;

use super::PublishLoop;
use crate::publisher::{Inbox, LastReports};
use crate::report::NoObserver;
use crate::stages::Stages;
use crate::translator::BoxedTranslator;
use crate::{Gate, PublishConfig, PublishObserver, Publisher, Translator, WatchedGroups};

/// A [`PublishLoop`] under construction.
#[derive(Debug)]
#[must_use]
pub struct PublishLoopBuilder<M, G: GroupKey> {
    translator: Box<dyn BoxedTranslator<M, G>>,
    writer: Arc<dyn SnapshotWriter<G>>,
    groups: WatchedGroups<G>,
    config: PublishConfig,
    gates: Vec<Box<dyn Gate>>,
    observer: Arc<dyn PublishObserver<G>>,
}

impl<M, G: GroupKey> PublishLoopBuilder<M, G> {
    pub(super) fn new(
        translator: impl Translator<M, G>,
        writer: Arc<dyn SnapshotWriter<G>>,
        groups: WatchedGroups<G>,
    ) -> Self {
        Self {
            translator: Box::new(translator),
            writer,
            groups,
            config: PublishConfig::default(),
            gates: Vec::new(),
            observer: Arc::new(NoObserver),
        }
    }

    /// How the loop works. Default: see [`PublishConfig`].
    pub fn with_config(mut self, config: PublishConfig) -> Self {
        self.config = config;
        self
    }

    /// Adds a gate. Gates are asked in the order in which they were added, after the guard against mass deletions;
    /// the first refusal counts.
    pub fn with_gate(mut self, gate: impl Gate + 'static) -> Self {
        self.gates.push(Box::new(gate));
        self
    }

    /// Who hears how each translation ended. Default: nobody; they are logged in any case.
    pub fn with_observer(mut self, observer: Arc<dyn PublishObserver<G>>) -> Self {
        self.observer = observer;
        self
    }

    /// The loop, and the first handle to hand models to it.
    #[must_use]
    pub fn build(self) -> (Publisher<M, G>, PublishLoop<M, G>) {
        let (inbox, handed_in) = watch::channel(Inbox::empty());
        let (settled, flushed) = watch::channel(0);
        let reports = Arc::new(LastReports::new());
        let registrar = self.groups.registrar();
        let publisher = Publisher::new(inbox, flushed, registrar, Arc::clone(&reports));
        let stages = Arc::new(Stages {
            translator: self.translator,
            writer: self.writer,
            mass_deletion_guard: self.config.mass_deletion_guard.clone(),
            gates: self.gates,
        });
        let publish_loop = PublishLoop {
            handed_in,
            groups: self.groups,
            settled,
            reports,
            stages,
            observer: self.observer,
            config: self.config,
        };
        (publisher, publish_loop)
    }
}
