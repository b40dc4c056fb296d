use std::sync::Arc;

use portolan_core::{GroupKey, SnapshotWriter};
use tokio::sync::watch;

use super::PublishLoop;
use crate::consistency::Consistency;
use crate::publisher::{Inbox, LastReports};
use crate::report::NoObserver;
use crate::stages::Stages;
use crate::translator::{BoxedTranslator, Form};
use crate::{
    DeliveryTracker, Gate, PublishConfig, PublishObserver, Publisher, Translator, WatchedGroups,
};

/// A [`PublishLoop`] under construction.
#[derive(Debug)]
#[must_use]
pub struct PublishLoopBuilder<M, G: GroupKey, D = ()> {
    translator: Box<dyn Form<M, G, D>>,
    endpoints: Option<Box<dyn BoxedTranslator<M, G>>>,
    writer: Arc<dyn SnapshotWriter<G>>,
    groups: WatchedGroups<G>,
    config: PublishConfig,
    consistency: Consistency<G>,
    gates: Vec<Box<dyn Gate<G>>>,
    observer: Arc<dyn PublishObserver<G>>,
    tracker: Option<Arc<DeliveryTracker<G>>>,
}

impl<M, G: GroupKey, D> PublishLoopBuilder<M, G, D> {
    pub(super) fn new(
        translator: Box<dyn Form<M, G, D>>,
        writer: Arc<dyn SnapshotWriter<G>>,
        groups: WatchedGroups<G>,
    ) -> Self {
        Self {
            translator,
            endpoints: None,
            writer,
            groups,
            config: PublishConfig::default(),
            consistency: Consistency::default(),
            gates: Vec::new(),
            observer: Arc::new(NoObserver),
            tracker: None,
        }
    }

    /// How the loop works. Default: see [`PublishConfig`].
    pub fn with_config(mut self, config: PublishConfig) -> Self {
        self.config = config;
        self
    }

    /// Translates the endpoints of a group and nothing else, for [changes of endpoints
    /// alone](crate::Change::endpoints). Default: everything is translated for them too.
    ///
    /// It adds all endpoints of the group, assignments (EDS) and single ones (LEDS), as the translator of everything
    /// would, and no resource of another type. What it starts with is the group's last publication without them.
    pub fn with_endpoint_translator(mut self, endpoints: impl Translator<M, G>) -> Self {
        self.endpoints = Some(Box::new(endpoints));
        self
    }

    /// Checks what is to be published for resources that do not fit together, before the gates are asked. What is found
    /// is in the [report](crate::PublishReport::findings); what the checks' policy refuses is not published, for the group
    /// that it is found in and no other. Default: nothing is checked.
    ///
    /// To know what would be found in a snapshot, and publish nothing, ask the
    /// [checks](portolan_consistency::Checks::check) themselves.
    ///
    /// ```
    /// use portolan_consistency::{Checks, FindingKind, Policy};
    /// use portolan_core::{GroupKey, References};
    /// use portolan_translator::PublishLoopBuilder;
    ///
    /// /// Publishes no route to a cluster that does not exist, and no two listeners on one address.
    /// fn strict<M, G: GroupKey>(
    ///     publish_loop: PublishLoopBuilder<M, G>,
    ///     references: impl References + 'static,
    /// ) -> PublishLoopBuilder<M, G> {
    ///     let checks = Checks::new(references)
    ///         .with_policy(FindingKind::Missing, Policy::Refuse)
    ///         .with_policy(FindingKind::AddressClash, Policy::Refuse);
    ///     publish_loop.with_checks(checks)
    /// }
    /// ```
    #[cfg(feature = "consistency")]
    pub fn with_checks(mut self, checks: portolan_consistency::Checks) -> Self {
        self.consistency = Consistency::of(checks);
        self
    }

    /// Adds a gate. Gates are asked in the order in which they were added, after the guard against mass deletions;
    /// the first refusal counts.
    pub fn with_gate(mut self, gate: impl Gate<G> + 'static) -> Self {
        self.gates.push(Box::new(gate));
        self
    }

    /// Who hears how each translation ended. Default: nobody; they are logged in any case.
    pub fn with_observer(mut self, observer: Arc<dyn PublishObserver<G>>) -> Self {
        self.observer = observer;
        self
    }

    /// Who knows how far each stream got, for [`Publisher::wait`]. It must be a delivery sink of the cache that the loop
    /// writes to. Default: nobody.
    pub fn with_tracker(mut self, tracker: Arc<DeliveryTracker<G>>) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// The loop, and the first handle to hand models to it.
    #[must_use]
    pub fn build(self) -> (Publisher<M, G, D>, PublishLoop<M, G, D>) {
        let (inbox, handed_in) = watch::channel(Inbox::empty());
        let (settled, flushed) = watch::channel(0);
        let reports = Arc::new(LastReports::new());
        let registrar = self.groups.registrar();
        let publisher = Publisher::new(
            inbox,
            flushed,
            registrar,
            Arc::clone(&reports),
            self.tracker,
            self.config.most_details,
        );
        let stages = Arc::new(Stages {
            translator: self.translator,
            endpoints: self.endpoints,
            writer: self.writer,
            checks_bodies: self.config.checks_bodies,
            mass_deletion_guard: self.config.mass_deletion_guard.clone(),
            consistency: self.consistency,
            gates: self.gates,
            reported_names: self.config.reported_names,
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
