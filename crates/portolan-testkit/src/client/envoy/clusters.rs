use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::{Name, Resource};

use crate::fixture::{Body, word};

/// The cluster manager: clusters that serve, clusters that warm, and the endpoints that came for them.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    active: BTreeMap<Name, Cluster>,
    warming: BTreeMap<Name, Warming>,
    /// What came last, by EDS name: what a cluster falls back to when its own does not come in time.
    assignments: BTreeMap<Name, String>,
}

#[derive(Debug)]
struct Cluster {
    body: Box<str>,
    eds_name: Option<Name>,
    endpoints: Option<String>,
}

#[derive(Debug)]
struct Warming {
    cluster: Cluster,
    since: Duration,
}

impl Cluster {
    fn new(resource: &Resource) -> Self {
        let body = Body::parse(&resource.body());
        Self {
            eds_name: body.value(word::EDS).map(Name::from),
            body: body.into_text().into(),
            endpoints: None,
        }
    }
}

impl Clusters {
    /// Adds or changes a cluster; one that is the same as before is left alone. Gives the EDS name that it now waits
    /// for.
    pub(super) fn upsert(&mut self, now: Duration, resource: &Resource) -> Option<Name> {
        let (name, cluster) = (resource.name(), Cluster::new(resource));
        if self.newest(name).is_some_and(|c| c.body == cluster.body) {
            return None;
        }
        let eds_name = cluster.eds_name.clone();
        match eds_name {
            Some(_) => {
                let warming = Warming {
                    cluster,
                    since: now,
                };
                self.warming.insert(name.clone(), warming);
            }
            None => {
                self.warming.remove(name);
                self.active.insert(name.clone(), cluster);
            }
        }
        eds_name
    }

    pub(super) fn remove(&mut self, name: &Name) {
        self.warming.remove(name);
        self.active.remove(name);
    }

    pub(super) fn names(&self) -> BTreeSet<Name> {
        let names = self.active.keys().chain(self.warming.keys());
        names.cloned().collect()
    }

    /// The EDS names of all clusters, warming ones included.
    pub(super) fn eds_names(&self) -> BTreeSet<Name> {
        let warming = self.warming.values().map(|w| &w.cluster);
        let clusters = self.active.values().chain(warming);
        clusters.filter_map(|c| c.eds_name.clone()).collect()
    }

    /// Drops assignments that no cluster uses.
    pub(super) fn retain_assignments(&mut self, used: &BTreeSet<Name>) {
        self.assignments.retain(|name, _| used.contains(name));
    }

    pub(super) fn assign(&mut self, resource: &Resource) {
        let endpoints = Body::parse(&resource.body()).into_text();
        let name = resource.name();
        self.assignments.insert(name.clone(), endpoints.clone());
        self.warm_up(|_, w| w.cluster.eds_name.as_ref() == Some(name));
        let users = self.active.values_mut();
        for cluster in users.filter(|c| c.eds_name.as_ref() == Some(name)) {
            cluster.endpoints = Some(endpoints.clone());
        }
    }

    /// The server says that an assignment does not exist: a cluster that waits for it goes live without endpoints, a
    /// live one keeps what it has.
    pub(super) fn unassign(&mut self, name: &Name) {
        self.assignments.remove(name);
        self.warm_up(|_, w| w.cluster.eds_name.as_ref() == Some(name));
    }

    /// Clusters that waited long enough go live with the endpoints that came before. Gives their number.
    pub(super) fn expire(&mut self, now: Duration, timeout: Duration) -> usize {
        self.warm_up(|_, w| w.since + timeout <= now)
    }

    pub(super) fn deadline(&self, timeout: Duration) -> Option<Duration> {
        self.warming.values().map(|w| w.since + timeout).min()
    }

    pub(super) fn is_warming(&self) -> bool {
        !self.warming.is_empty()
    }

    pub(super) fn warming(&self) -> Vec<Name> {
        self.warming.keys().cloned().collect()
    }

    pub(super) fn active(&self) -> BTreeMap<Name, String> {
        let active = self.active.iter();
        active
            .map(|(n, c)| (n.clone(), c.body.to_string()))
            .collect()
    }

    pub(super) fn endpoints(&self, cluster: &str) -> Option<&str> {
        self.active.get(cluster)?.endpoints.as_deref()
    }

    fn newest(&self, name: &Name) -> Option<&Cluster> {
        let warming = self.warming.get(name).map(|w| &w.cluster);
        warming.or_else(|| self.active.get(name))
    }

    fn warm_up(&mut self, ready: impl Fn(&Name, &Warming) -> bool) -> usize {
        let names = self.warming.iter().filter(|(n, w)| ready(n, w));
        let names: Vec<_> = names.map(|(name, _)| name.clone()).collect();
        for name in &names {
            if let Some(Warming { mut cluster, .. }) = self.warming.remove(name) {
                let cached = cluster.eds_name.as_ref();
                cluster.endpoints = cached.and_then(|n| self.assignments.get(n).cloned());
                self.active.insert(name.clone(), cluster);
            }
        }
        names.len()
    }
}
