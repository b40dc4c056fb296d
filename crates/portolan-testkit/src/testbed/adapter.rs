use tonic::{Request, Response, Status};

use super::generated::adapter::adapter_server::Adapter;
use super::generated::adapter::{
    AddResourceResponse, ClearStateRequest, ClearStateResponse, RemoveResourceResponse,
    ResourceRequest, SetStateRequest, SetStateResponse, UpdateResourceResponse,
};
use super::state::{State, Target, given};

/// The gRPC service by which a harness changes what is served.
#[derive(Debug)]
pub(super) struct AdapterService(State);

impl AdapterService {
    pub(super) fn new(state: State) -> Self {
        Self(state)
    }
}

#[tonic::async_trait]
impl Adapter for AdapterService {
    async fn set_state(
        &self,
        request: Request<SetStateRequest>,
    ) -> Result<Response<SetStateResponse>, Status> {
        let SetStateRequest {
            node,
            version,
            resources,
        } = request.into_inner();
        let resources = resources.into_iter().map(|any| given(&node, any));
        self.0.set(&node, &version, resources)?;
        Ok(Response::new(SetStateResponse { success: true }))
    }

    async fn clear_state(
        &self,
        request: Request<ClearStateRequest>,
    ) -> Result<Response<ClearStateResponse>, Status> {
        let node = request.into_inner().node;
        let response = match self.0.clear(&node)? {
            true => format!("node {node:?} has no state any more"),
            false => format!("node {node:?} had no state"),
        };
        Ok(Response::new(ClearStateResponse { response }))
    }

    async fn update_resource(
        &self,
        request: Request<ResourceRequest>,
    ) -> Result<Response<UpdateResourceResponse>, Status> {
        self.0.update(&target(&request)?)?;
        Ok(Response::new(UpdateResourceResponse { success: true }))
    }

    async fn add_resource(
        &self,
        request: Request<ResourceRequest>,
    ) -> Result<Response<AddResourceResponse>, Status> {
        self.0.add(&target(&request)?)?;
        Ok(Response::new(AddResourceResponse { success: true }))
    }

    async fn remove_resource(
        &self,
        request: Request<ResourceRequest>,
    ) -> Result<Response<RemoveResourceResponse>, Status> {
        self.0.remove(&target(&request)?)?;
        Ok(Response::new(RemoveResourceResponse { success: true }))
    }
}

fn target(request: &Request<ResourceRequest>) -> Result<Target, Status> {
    let ResourceRequest {
        node,
        type_url,
        resource_name,
        version,
    } = request.get_ref();
    Ok(Target::new(node, type_url, resource_name, version)?)
}
