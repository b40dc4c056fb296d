use portolan::core::TypeUrl;
use portolan::core::well_known::{CLUSTER, ENDPOINT};
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan::types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan::types::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Response, Status, Streaming};

use super::{Ads, Dialect, node, rejection, twice};
use crate::model::{Model, assignment_revision, cluster_revision};

/// State of the world: all clusters, and the endpoints of each by name.
#[derive(Debug, Default)]
pub(super) struct Sotw {
    node: String,
    held: Model,
    clusters: Progress,
    endpoints: Progress,
    complaint: Option<String>,
}

/// What was last accepted, and last received on this stream.
#[derive(Debug, Default)]
struct Progress {
    version: String,
    nonce: String,
}

impl Sotw {
    fn request(&self, type_url: &TypeUrl) -> DiscoveryRequest {
        let (progress, resource_names) = match *type_url == CLUSTER {
            true => (&self.clusters, Vec::new()),
            false => (
                &self.endpoints,
                self.held.clusters.keys().cloned().collect(),
            ),
        };
        DiscoveryRequest {
            version_info: progress.version.clone(),
            node: node(&self.node),
            resource_names,
            type_url: type_url.to_string(),
            response_nonce: progress.nonce.clone(),
            ..DiscoveryRequest::default()
        }
    }

    fn apply_clusters(&mut self, response: &DiscoveryResponse) {
        let clusters = response.resources.iter();
        let clusters = clusters.map(|any| any.unpack::<Cluster>().expect("a cluster"));
        let clusters: Vec<_> = clusters.collect();
        self.complaint = twice(clusters.iter().map(|cluster| &cluster.name));
        self.held.clusters = clusters
            .into_iter()
            .filter_map(|cluster| Some((cluster.name.clone(), cluster_revision(&cluster)?)))
            .collect();
        let clusters = &self.held.clusters;
        self.held
            .endpoints
            .retain(|name, _| clusters.contains_key(name));
    }

    fn apply_endpoints(&mut self, response: &DiscoveryResponse) {
        let all = response.resources.iter();
        let all = all.map(|any| {
            any.unpack::<ClusterLoadAssignment>()
                .expect("an assignment")
        });
        let all: Vec<_> = all.collect();
        self.complaint = twice(all.iter().map(|assignment| &assignment.cluster_name));
        for assignment in all {
            let wanted = self.held.clusters.contains_key(&assignment.cluster_name);
            if let Some(revision) = assignment_revision(&assignment).filter(|_| wanted) {
                self.held
                    .endpoints
                    .insert(assignment.cluster_name, revision);
            }
        }
    }
}

impl Dialect for Sotw {
    type Request = DiscoveryRequest;
    type Response = DiscoveryResponse;

    fn new(node: String) -> Self {
        Self {
            node,
            ..Self::default()
        }
    }

    async fn call(
        mut ads: Ads,
        requests: UnboundedReceiverStream<DiscoveryRequest>,
    ) -> Result<Response<Streaming<DiscoveryResponse>>, Status> {
        ads.stream_aggregated_resources(requests).await
    }

    fn open(&mut self) -> Vec<DiscoveryRequest> {
        self.clusters.nonce.clear();
        self.endpoints.nonce.clear();
        let endpoints = (!self.held.clusters.is_empty()).then(|| self.request(&ENDPOINT));
        [Some(self.request(&CLUSTER)), endpoints]
            .into_iter()
            .flatten()
            .collect()
    }

    fn is_rejectable(_: &DiscoveryResponse) -> bool {
        true
    }

    fn answer(&mut self, response: DiscoveryResponse, rejects: bool) -> Vec<DiscoveryRequest> {
        let is_clusters = response.type_url == CLUSTER.as_str();
        let progress = match is_clusters {
            true => &mut self.clusters,
            false => &mut self.endpoints,
        };
        progress.nonce.clone_from(&response.nonce);
        if rejects {
            let type_url = TypeUrl::from(response.type_url);
            let mut request = self.request(&type_url);
            request.error_detail = rejection(true);
            return vec![request];
        }
        progress.version.clone_from(&response.version_info);
        if !is_clusters {
            self.apply_endpoints(&response);
            return vec![self.request(&ENDPOINT)];
        }
        let before = self.held.clusters.clone();
        self.apply_clusters(&response);
        let mut requests = vec![self.request(&CLUSTER)];
        if !before.keys().eq(self.held.clusters.keys()) {
            requests.push(self.request(&ENDPOINT));
        }
        requests
    }

    fn held(&self) -> &Model {
        &self.held
    }

    fn complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }
}
