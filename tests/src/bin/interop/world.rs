use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, build};
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan::types::envoy::config::core::v3::ConfigSource;
use portolan::types::prost_types::Duration;
use portolan_tests::TestError;

/// What a scenario serves, changed by its steps.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) listen: SocketAddr,
    pub(crate) clusters: BTreeMap<&'static str, ClusterSpec>,
    /// Where the Envoy is to ask for endpoints and routes.
    pub(crate) source: ConfigSource,
    /// Prefix and cluster; longer prefixes come first.
    pub(crate) routes: Vec<(&'static str, &'static str)>,
}

/// A cluster with discovered endpoints.
#[derive(Clone, Debug)]
pub(crate) struct ClusterSpec {
    /// `None`: there is no assignment at all, so that the cluster warms for as long as it waits.
    pub(crate) endpoints: Option<Vec<SocketAddr>>,
    pub(crate) timeout_seconds: i64,
    /// An extension that no Envoy has, so that the cluster is rejected.
    pub(crate) broken: bool,
}

impl ClusterSpec {
    pub(crate) fn of(endpoints: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            endpoints: Some(endpoints.into_iter().collect()),
            timeout_seconds: 5,
            broken: false,
        }
    }

    pub(crate) fn without_assignment() -> Self {
        Self {
            endpoints: None,
            ..Self::of([])
        }
    }

    fn message(&self, name: &str, source: &ConfigSource) -> Cluster {
        let mut cluster = build::eds_cluster(name);
        if let Some(eds) = &mut cluster.eds_cluster_config {
            eds.eds_config = Some(source.clone());
        }
        cluster.connect_timeout = Some(Duration {
            seconds: self.timeout_seconds,
            nanos: 0,
        });
        if self.broken {
            // The load balancer that only a cluster type of its own may provide.
            cluster.lb_policy = 6;
        }
        cluster
    }
}

impl World {
    pub(crate) fn new(port: u16, source: ConfigSource) -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, port).into(),
            source,
            clusters: BTreeMap::new(),
            routes: Vec::new(),
        }
    }

    pub(crate) fn fill(&self, out: &mut SnapshotBuilder) -> Result<(), TestError> {
        for (name, cluster) in &self.clusters {
            out.add(&cluster.message(name, &self.source))?;
            if let Some(endpoints) = &cluster.endpoints {
                out.add(&build::assignment(*name, endpoints.iter().copied()))?;
            }
        }
        let routes = self
            .routes
            .iter()
            .map(|(prefix, cluster)| build::prefix_route(*prefix, *cluster));
        let all = build::virtual_host("all", ["*"], routes);
        out.add(&build::route_configuration("routes", [all]))?;
        let source = self.source.clone();
        out.add(&build::discovered_http_listener(
            "ingress",
            self.listen,
            "routes",
            source,
        ))?;
        Ok(())
    }
}
