//! Folds a snapshot into a bootstrap in which everything is static.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET, VIRTUAL_HOST};
use portolan_core::{Name, Resource, Snapshot, TypeUrl};
use portolan_resources::build;
use portolan_types::envoy::config::bootstrap::v3::Bootstrap;
use portolan_types::envoy::config::bootstrap::v3::bootstrap::{DynamicResources, StaticResources};
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::cluster::v3::cluster::{ClusterDiscoveryType, DiscoveryType};
use portolan_types::envoy::config::core::v3::Node;
use portolan_types::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::{RouteConfiguration, VirtualHost};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::Secret;
use prost::Message;

use super::EnvoyGateError;
use super::inline;

/// Type and name of a resource.
pub(super) type Key = (TypeUrl, Name);

/// The cluster behind which what is left to be discovered would be.
const ADS: &str = "portolan-envoy-gate-ads";

/// A cluster or a listener, with all that was folded into it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    owner: Key,
    pieces: Vec<Key>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Cluster(Box<Cluster>),
    Listener(Box<Listener>),
}

/// What is folded, and what of it is left out for once.
#[derive(Clone, Debug)]
pub(super) struct Fold<'a> {
    snapshot: &'a Snapshot,
    clusters: &'a [String],
    left_out: Option<Key>,
    pieces: Vec<Key>,
}

impl Part {
    pub(super) fn owner(&self) -> &Key {
        &self.owner
    }

    pub(super) fn pieces(&self) -> &[Key] {
        &self.pieces
    }
}

impl<'a> Fold<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, clusters: &'a [String]) -> Self {
        Self {
            snapshot,
            clusters,
            left_out: None,
            pieces: Vec::new(),
        }
    }

    /// Clusters, then listeners, whose routes need them; last, each in a listener of its own, the route tables that are
    /// in none.
    pub(super) fn parts(&self) -> Result<Vec<Part>, EnvoyGateError> {
        let mut parts = Vec::new();
        let mut inlined = BTreeSet::new();
        for url in [CLUSTER, LISTENER] {
            for resource in self.resources(&url) {
                let part = self.clone().part(resource)?;
                inlined.extend(part.pieces.iter().cloned());
                parts.push(part);
            }
        }
        for table in self.resources(&ROUTE) {
            if !inlined.contains(&key(table)) {
                parts.push(self.clone().part(table)?);
            }
        }
        Ok(parts)
    }

    /// A part, once more, without something that was folded into it.
    pub(super) fn without(&self, piece: &Key, part: &Part) -> Result<Part, EnvoyGateError> {
        let mut fold = self.clone();
        fold.left_out = Some(piece.clone());
        let (url, name) = &part.owner;
        match fold.resource(url, name) {
            Some(resource) => fold.part(&resource),
            None => Ok(part.clone()),
        }
    }

    pub(super) fn bootstrap(&self, parts: &[Part]) -> Result<Bootstrap, EnvoyGateError> {
        let mut all = StaticResources::default();
        for part in parts {
            match &part.body {
                Body::Cluster(cluster) => all.clusters.push((**cluster).clone()),
                Body::Listener(listener) => all.listeners.push((**listener).clone()),
            }
        }
        let elsewhere = self.clusters.iter().map(String::as_str).chain([ADS]);
        all.clusters
            .extend(elsewhere.map(|name| build::static_cluster(name, [])));
        for secret in self.resources(&SECRET) {
            all.secrets.push(decode::<Secret>(secret)?);
        }
        let ads_config = match build::delta_service(ADS).config_source_specifier {
            Some(ConfigSourceSpecifier::ApiConfigSource(source)) => Some(source),
            _ => None,
        };
        Ok(Bootstrap {
            node: Some(Node {
                id: "gate".to_owned(),
                cluster: "gate".to_owned(),
                ..Node::default()
            }),
            dynamic_resources: Some(DynamicResources {
                ads_config,
                ..DynamicResources::default()
            }),
            static_resources: Some(all),
            ..Bootstrap::default()
        })
    }

    fn part(mut self, resource: &Resource) -> Result<Part, EnvoyGateError> {
        let body = if *resource.type_url() == CLUSTER {
            Body::Cluster(Box::new(self.cluster(decode(resource)?)?))
        } else if *resource.type_url() == LISTENER {
            let mut listener = decode(resource)?;
            inline::listener(&mut self, &mut listener)?;
            Body::Listener(Box::new(listener))
        } else {
            Body::Listener(Box::new(self.listener_of(resource)?))
        };
        Ok(Part {
            owner: key(resource),
            pieces: self.pieces,
            body,
        })
    }

    fn cluster(&mut self, mut cluster: Cluster) -> Result<Cluster, EnvoyGateError> {
        let eds = ClusterDiscoveryType::Type(DiscoveryType::Eds as i32);
        if cluster.cluster_discovery_type.as_ref() == Some(&eds) {
            let config = cluster.eds_cluster_config.clone().unwrap_or_default();
            let service = match config.service_name.as_str() {
                "" => cluster.name.clone(),
                service => service.to_owned(),
            };
            if let Some(found) = self.piece::<ClusterLoadAssignment>(&ENDPOINT, &service)? {
                let fixed = ClusterDiscoveryType::Type(DiscoveryType::Static as i32);
                cluster.cluster_discovery_type = Some(fixed);
                cluster.eds_cluster_config = None;
                cluster.load_assignment = Some(ClusterLoadAssignment {
                    cluster_name: cluster.name.clone(),
                    ..found
                });
            }
        }
        for matched in &mut cluster.transport_socket_matches {
            inline::transport_socket(self, matched.transport_socket.as_mut());
        }
        inline::transport_socket(self, cluster.transport_socket.as_mut());
        Ok(cluster)
    }

    /// A listener that nobody can reach, for a route table that is in none.
    fn listener_of(&mut self, table: &Resource) -> Result<Listener, EnvoyGateError> {
        let name = format!("portolan-envoy-gate/{}", table.name());
        let nowhere = (Ipv4Addr::LOCALHOST, 0).into();
        let mut listener = build::http_listener(name, nowhere, table.name().as_str());
        listener.bind_to_port = Some(false);
        inline::listener(self, &mut listener)?;
        // It is who is at fault, and no piece of another.
        let own = key(table);
        self.pieces.retain(|piece| *piece != own);
        Ok(listener)
    }

    /// A route table with the virtual hosts that are discovered for it.
    pub(super) fn table(
        &mut self,
        name: &str,
    ) -> Result<Option<RouteConfiguration>, EnvoyGateError> {
        let Some(mut table) = self.piece::<RouteConfiguration>(&ROUTE, name)? else {
            return Ok(None);
        };
        table.validate_clusters.get_or_insert(true);
        if table.vhds.is_some() {
            let prefix = format!("{name}/");
            let snapshot = self.snapshot;
            let hosts = snapshot
                .set(&VIRTUAL_HOST)
                .into_iter()
                .flat_map(|set| set.iter());
            for host in hosts.filter(|host| host.name().starts_with(&prefix)) {
                if let Some(host) = self.piece::<VirtualHost>(&VIRTUAL_HOST, host.name())? {
                    table.virtual_hosts.push(host);
                }
            }
        }
        Ok(Some(table))
    }

    /// Whether there is such a secret. It is among the static ones then.
    pub(super) fn has_secret(&mut self, name: &str) -> bool {
        let resource = self
            .resource(&SECRET, name)
            .filter(|found| self.is_in(found));
        self.pieces.extend(resource.as_ref().map(key));
        resource.is_some()
    }

    /// A resource, to be folded into the part that is being made.
    pub(super) fn piece<M: Message + Default>(
        &mut self,
        url: &TypeUrl,
        name: &str,
    ) -> Result<Option<M>, EnvoyGateError> {
        let Some(resource) = self.resource(url, name).filter(|found| self.is_in(found)) else {
            return Ok(None);
        };
        self.pieces.push(key(&resource));
        decode(&resource).map(Some)
    }

    /// Whether this one is left out, and so to stay as if it were not known.
    pub(super) fn leaves_out(&self, url: &TypeUrl, name: &str) -> bool {
        let found = self.resource(url, name);
        found.is_some_and(|found| !self.is_in(&found))
    }

    fn is_in(&self, resource: &Resource) -> bool {
        self.left_out.as_ref() != Some(&key(resource))
    }

    /// The resource of a name or an alias.
    fn resource(&self, url: &TypeUrl, name: &str) -> Option<Resource> {
        let set = self.snapshot.set(url)?;
        let name = Name::from(name);
        let found = set.identified_by(&name).find(|found| found.is_resource());
        found.cloned()
    }

    fn resources(&self, url: &TypeUrl) -> impl Iterator<Item = &'a Resource> {
        let all = self.snapshot.set(url).into_iter();
        all.flat_map(|set| set.iter())
            .filter(|found| found.is_resource())
    }
}

fn key(resource: &Resource) -> Key {
    (resource.type_url().clone(), resource.name().clone())
}

fn decode<M: Message + Default>(resource: &Resource) -> Result<M, EnvoyGateError> {
    M::decode(resource.body()).map_err(|source| EnvoyGateError::Malformed {
        type_url: resource.type_url().clone(),
        name: resource.name().clone(),
        source,
    })
}
