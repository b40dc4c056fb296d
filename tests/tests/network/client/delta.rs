use std::collections::BTreeMap;

use portolan::core::TypeUrl;
use portolan::core::well_known::{CLUSTER, ENDPOINT};
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan::types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Response, Status, Streaming};

use super::{Ads, Dialect, node, rejection, twice};
use crate::model::{Model, assignment_revision, cluster_revision};

/// Delta: all clusters, and the endpoints of each by name.
#[derive(Debug, Default)]
pub(super) struct Delta {
    node: String,
    held: Model,
    /// Versions of what is held, to be told on the next stream.
    clusters: BTreeMap<String, String>,
    endpoints: BTreeMap<String, String>,
    complaint: Option<String>,
}

impl Delta {
    fn request(&self, type_url: &TypeUrl) -> DeltaDiscoveryRequest {
        DeltaDiscoveryRequest {
            node: node(&self.node),
            type_url: type_url.to_string(),
            ..DeltaDiscoveryRequest::default()
        }
    }

    fn apply_clusters(&mut self, response: &DeltaDiscoveryResponse) {
        for resource in &response.resources {
            let any = resource.resource.as_ref().expect("clusters have bodies");
            let cluster: Cluster = any.unpack().expect("a cluster");
            let revision = cluster_revision(&cluster).expect("clusters have revisions");
            self.held.clusters.insert(resource.name.clone(), revision);
            let version = resource.version.clone();
            self.clusters.insert(resource.name.clone(), version);
        }
        for name in &response.removed_resources {
            self.held.clusters.remove(name);
            self.clusters.remove(name);
            self.held.endpoints.remove(name);
            self.endpoints.remove(name);
        }
    }

    fn apply_endpoints(&mut self, response: &DeltaDiscoveryResponse) {
        let wanted = |name: &String| self.held.clusters.contains_key(name);
        let resources = response.resources.iter();
        for resource in resources.filter(|resource| wanted(&resource.name)) {
            let any = resource.resource.as_ref().expect("assignments have bodies");
            let assignment: ClusterLoadAssignment = any.unpack().expect("an assignment");
            let revision = assignment_revision(&assignment).expect("they have revisions");
            self.held.endpoints.insert(resource.name.clone(), revision);
            let version = resource.version.clone();
            self.endpoints.insert(resource.name.clone(), version);
        }
        for name in &response.removed_resources {
            self.held.endpoints.remove(name);
            self.endpoints.remove(name);
        }
    }
}

impl Dialect for Delta {
    type Request = DeltaDiscoveryRequest;
    type Response = DeltaDiscoveryResponse;

    fn new(node: String) -> Self {
        Self {
            node,
            ..Self::default()
        }
    }

    async fn call(
        mut ads: Ads,
        requests: UnboundedReceiverStream<DeltaDiscoveryRequest>,
    ) -> Result<Response<Streaming<DeltaDiscoveryResponse>>, Status> {
        ads.delta_aggregated_resources(requests).await
    }

    fn open(&mut self) -> Vec<DeltaDiscoveryRequest> {
        let mut requests = vec![DeltaDiscoveryRequest {
            initial_resource_versions: self.clusters.clone(),
            ..self.request(&CLUSTER)
        }];
        if !self.held.clusters.is_empty() {
            requests.push(DeltaDiscoveryRequest {
                resource_names_subscribe: self.held.clusters.keys().cloned().collect(),
                initial_resource_versions: self.endpoints.clone(),
                ..self.request(&ENDPOINT)
            });
        }
        requests
    }

    /// No client finds fault with what is gone. One that did would not be told again: nothing is new about it.
    fn is_rejectable(response: &DeltaDiscoveryResponse) -> bool {
        !response.resources.is_empty()
    }

    fn answer(&mut self, response: DeltaDiscoveryResponse, rejects: bool) -> Vec<Self::Request> {
        let names = response.resources.iter().map(|resource| &resource.name);
        self.complaint = twice(names.chain(&response.removed_resources));
        let answer = DeltaDiscoveryRequest {
            response_nonce: response.nonce.clone(),
            error_detail: rejection(rejects),
            ..self.request(&TypeUrl::from(response.type_url.as_str()))
        };
        if rejects {
            return vec![answer];
        }
        if response.type_url != CLUSTER.as_str() {
            self.apply_endpoints(&response);
            return vec![answer];
        }
        let before = self.held.clusters.clone();
        self.apply_clusters(&response);
        let now = &self.held.clusters;
        let added = now.keys().filter(|name| !before.contains_key(*name));
        let removed = before.keys().filter(|name| !now.contains_key(*name));
        let names = DeltaDiscoveryRequest {
            resource_names_subscribe: added.cloned().collect(),
            resource_names_unsubscribe: removed.cloned().collect(),
            ..self.request(&ENDPOINT)
        };
        let changed = !before.keys().eq(now.keys());
        [Some(answer), changed.then_some(names)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn held(&self) -> &Model {
        &self.held
    }

    fn complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }
}
