//! Which packages are always compiled, and which cargo feature turns on the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Result, ensure};

use crate::packages::Packages;

/// Always compiled, with what they need.
const CORE: &[&str] = &[
    "envoy.config.bootstrap.v3",
    "envoy.extensions.clusters.aggregate.v3",
    "envoy.extensions.filters.http.router.v3",
    "envoy.extensions.filters.network.http_connection_manager.v3",
    "envoy.extensions.filters.network.tcp_proxy.v3",
    "envoy.extensions.transport_sockets.tls.v3",
    "envoy.extensions.upstreams.http.v3",
    "envoy.service.cluster.v3",
    "envoy.service.discovery.v3",
    "envoy.service.endpoint.v3",
    "envoy.service.extension.v3",
    "envoy.service.listener.v3",
    "envoy.service.load_stats.v3",
    "envoy.service.route.v3",
    "envoy.service.runtime.v3",
    "envoy.service.secret.v3",
    "envoy.service.status.v3",
    "google.rpc",
    "xds.core.v3",
];

/// Feature to the package prefixes it owns; a package belongs to the feature with the longest matching one.
const FEATURES: &[(&str, &[&str])] = &[
    (
        "clusters",
        &[
            "envoy.config.upstream",
            "envoy.extensions.clusters",
            "envoy.extensions.health_check",
            "envoy.extensions.health_checkers",
            "envoy.extensions.local_address_selectors",
            "envoy.extensions.outlier_detection_monitors",
            "envoy.extensions.retry",
            "envoy.extensions.upstreams",
        ],
    ),
    ("extensions", &["envoy", "udpa", "xds"]),
    (
        "http-filters",
        &[
            "envoy.extensions.compression",
            "envoy.extensions.content_parsers",
            "envoy.extensions.filters.common",
            "envoy.extensions.filters.http",
            "envoy.extensions.http",
            "envoy.extensions.internal_redirect",
            "envoy.extensions.path",
        ],
    ),
    (
        "load-balancing",
        &["envoy.extensions.load_balancing_policies"],
    ),
    (
        "network-filters",
        &[
            "envoy.extensions.filters.listener",
            "envoy.extensions.filters.network",
            "envoy.extensions.filters.udp",
        ],
    ),
    ("services", &["envoy.data", "envoy.service", "ratelimit"]),
    (
        "telemetry",
        &[
            "envoy.extensions.access_loggers",
            "envoy.extensions.formatter",
            "envoy.extensions.stat_sinks",
            "envoy.extensions.tracers",
        ],
    ),
    (
        "transport-sockets",
        &[
            "envoy.extensions.quic",
            "envoy.extensions.transport_sockets",
        ],
    ),
];

/// Packages that carry nothing but options of other schemas: no code is generated for them.
const OPTIONS_ONLY: &[&str] = &[
    "envoy.annotations",
    "google.api",
    "udpa.annotations",
    "validate",
    "xds.annotations.v3",
];

/// When a package is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gate {
    Always,
    /// With any of these features: the one that owns the package, and those that need it.
    AnyOf(BTreeSet<&'static str>),
}

impl Gate {
    /// Lets `other`'s conditions open this gate too.
    pub(crate) fn widen(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::AnyOf(features), Self::AnyOf(more)) => features.extend(more),
            _ => *self = Self::Always,
        }
    }
}

impl Default for Gate {
    /// Never open.
    fn default() -> Self {
        Self::AnyOf(BTreeSet::new())
    }
}

impl fmt::Display for Gate {
    /// As a `cfg` predicate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::AnyOf(features) = self else {
            return f.write_str("all()");
        };
        let list: Vec<_> = features
            .iter()
            .map(|feature| format!("feature = \"{feature}\""))
            .collect();
        match list.as_slice() {
            [one] => f.write_str(one),
            several => write!(f, "any({})", several.join(", ")),
        }
    }
}

/// The packages to generate, each with its gate.
///
/// A feature compiles the closure of what it owns and nothing else, so no feature implies another.
pub(crate) fn gates(packages: &Packages) -> Result<BTreeMap<String, Gate>> {
    let core = packages.closure(CORE.iter().copied());
    let mut gates: BTreeMap<String, Gate> = core
        .iter()
        .map(|&package| (package.to_owned(), Gate::Always))
        .collect();

    for &(feature, _) in FEATURES {
        let owned = packages
            .names()
            .filter(|package| owner(package) == Some(feature));
        for package in packages.closure(owned) {
            let gate = Gate::AnyOf(BTreeSet::from([feature]));
            gates.entry(package.to_owned()).or_default().widen(&gate);
        }
    }
    gates.remove("google.protobuf");

    for package in CORE {
        ensure!(
            packages.names().any(|name| name == *package),
            "the schema has no package {package}"
        );
    }
    Ok(gates)
}

fn owner(package: &str) -> Option<&'static str> {
    if OPTIONS_ONLY.contains(&package) {
        return None;
    }
    FEATURES
        .iter()
        .flat_map(|(feature, prefixes)| prefixes.iter().map(move |prefix| (*feature, *prefix)))
        .filter(|(_, prefix)| {
            package
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .max_by_key(|(_, prefix)| prefix.len())
        .map(|(feature, _)| feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_prefix_owns_a_package() {
        assert_eq!(
            owner("envoy.extensions.filters.http.rbac.v3"),
            Some("http-filters")
        );
        assert_eq!(owner("envoy.extensions.wasm.v3"), Some("extensions"));
        assert_eq!(
            owner("envoy.extensions.health_checkers.redis.v3"),
            Some("clusters")
        );
        assert_eq!(owner("google.api.expr.v1alpha1"), None);
        assert_eq!(owner("envoy.annotations"), None);
    }

    #[test]
    fn prefixes_match_whole_components() {
        assert_eq!(owner("envoy.extensions.http2.v3"), Some("extensions"));
    }
}
