use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::{References, Snapshot, TypeUrl};

use crate::{Checker, FindingKind, Report};

/// What becomes of findings of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// They are not looked for.
    Ignore,
    /// They are reported.
    Warn,
    /// They are reported, and a snapshot that has any should not be published.
    Refuse,
}

/// What snapshots are checked for, and what is known of the world around them.
///
/// By default everything is reported and nothing refused (B74): what looks inconsistent may be on its way to be
/// consistent, and proxies live with most of it. Not looked at is what a snapshot does not
/// [speak for](portolan_core::SnapshotBuilder::only), and what is asked for on a
/// [stream of its own](portolan_core::Reference::is_on_own_stream).
///
/// ```
/// use portolan_consistency::{Checks, FindingKind, Policy};
/// use portolan_core::{Snapshot, well_known::CLUSTER};
/// use portolan_resources::{AddTyped, EnvoyReferences, build};
///
/// let checks = Checks::new(EnvoyReferences::default())
///     .with_external(CLUSTER, ["from-the-bootstrap"])
///     .with_policy(FindingKind::Missing, Policy::Refuse);
///
/// let mut snapshot = Snapshot::builder();
/// snapshot.add(&build::http_listener("ingress", "0.0.0.0:80".parse()?, "r1"))?;
/// let report = checks.check(&snapshot.build());
/// assert!(report.is_refused());
/// assert_eq!(
///     report.findings()[0].to_string(),
///     "Listener \"ingress\" › filter_chains[0] › filters[0] › http_connection_manager › rds › route_config_name \"r1\": \
///      there is no such RouteConfiguration",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checks {
    pub(crate) references: Arc<dyn References>,
    policies: BTreeMap<FindingKind, Policy>,
    pub(crate) external_types: BTreeSet<TypeUrl>,
    external: BTreeMap<TypeUrl, BTreeSet<String>>,
    pub(crate) most_shown: usize,
    #[cfg(feature = "schema")]
    pub(crate) schema: Option<Arc<crate::schema::Validator>>,
}

impl Checks {
    /// Checks of resources whose references are read by this.
    pub fn new(references: impl References + 'static) -> Self {
        Self {
            references: Arc::new(references),
            policies: BTreeMap::new(),
            external_types: BTreeSet::new(),
            external: BTreeMap::new(),
            most_shown: 100,
            #[cfg(feature = "schema")]
            schema: None,
        }
    }

    /// What becomes of findings of a kind. Default: [`Policy::Warn`].
    #[must_use]
    pub fn with_policy(mut self, kind: FindingKind, policy: Policy) -> Self {
        self.policies.insert(kind, policy);
        self
    }

    /// Validates each resource by the schema, with a validator that may have policies of its own for single rules and
    /// fields. Default: nothing is validated.
    ///
    /// ```
    /// use portolan_consistency::schema::Validator;
    /// use portolan_consistency::{Checks, FindingKind, Policy};
    /// use portolan_core::Snapshot;
    /// use portolan_resources::{AddTyped, EnvoyReferences, build};
    ///
    /// let checks = Checks::new(EnvoyReferences::default())
    ///     .with_schema(Validator::new())
    ///     .with_policy(FindingKind::Missing, Policy::Ignore)
    ///     .with_policy(FindingKind::Schema, Policy::Refuse);
    ///
    /// let mut cluster = build::eds_cluster("web");
    /// cluster.connect_timeout = Some(Default::default());
    /// let mut snapshot = Snapshot::builder();
    /// snapshot.add(&cluster)?;
    /// let report = checks.check(&snapshot.build());
    /// assert!(report.is_refused());
    /// assert_eq!(
    ///     report.to_string(),
    ///     "Cluster \"web\" › connect_timeout: must be more than 0s, and is 0s",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "schema")]
    #[must_use]
    pub fn with_schema(mut self, validator: crate::schema::Validator) -> Self {
        self.schema = Some(Arc::new(validator));
        self
    }

    /// Declares resources that clients have from elsewhere, such as clusters of their bootstrap.
    #[must_use]
    pub fn with_external<N: Into<String>>(
        mut self,
        type_url: impl Into<TypeUrl>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        let external = self.external.entry(type_url.into()).or_default();
        external.extend(names.into_iter().map(Into::into));
        self
    }

    /// Declares that all resources of a type are served from elsewhere, by another cache for instance. Snapshots should
    /// have none.
    #[must_use]
    pub fn with_external_type(mut self, type_url: impl Into<TypeUrl>) -> Self {
        self.external_types.insert(type_url.into());
        self
    }

    /// How many findings a report holds at most, the most severe first; it counts all. Default: 100.
    #[must_use]
    pub fn with_most_shown(mut self, findings: usize) -> Self {
        self.most_shown = findings;
        self
    }

    /// What becomes of findings of a kind.
    #[must_use]
    pub fn policy(&self, kind: FindingKind) -> Policy {
        self.policies.get(&kind).copied().unwrap_or(Policy::Warn)
    }

    /// Checks a snapshot, whole. Nothing is published, and nothing remembered.
    #[must_use]
    pub fn check(&self, snapshot: &Snapshot) -> Report {
        Checker::new(Arc::new(self.clone())).check(snapshot)
    }

    pub(crate) fn is_external(&self, type_url: &TypeUrl, name: &str) -> bool {
        self.external_types.contains(type_url)
            || self
                .external
                .get(type_url)
                .is_some_and(|names| names.contains(name))
    }
}
