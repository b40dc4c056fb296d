use std::fmt;
use std::pin::Pin;

use futures_core::Stream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::server::Condition;
use crate::service::NAMES;

/// The gRPC health service of a server, made by [`XdsServer::health`](crate::XdsServer::health).
pub struct ServerHealth(watch::Receiver<Condition>);

pub(crate) fn service(condition: watch::Receiver<Condition>) -> HealthServer<ServerHealth> {
    HealthServer::new(ServerHealth(condition))
}

fn is_known(service: &str) -> bool {
    service.is_empty() || NAMES.contains(&service)
}

fn status_of(condition: Condition) -> ServingStatus {
    match condition {
        Condition::Ready => ServingStatus::Serving,
        Condition::NotReady | Condition::Draining => ServingStatus::NotServing,
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

#[tonic::async_trait]
impl Health for ServerHealth {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("no such service"));
        }
        Ok(Response::new(response(status_of(*self.0.borrow()))))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let known = is_known(&request.get_ref().service);
        let watch = Watch {
            condition: self.0.clone(),
            known,
            told: None,
        };
        let statuses = unfold(watch, |mut watch| async {
            let status = watch.next().await?;
            Some((Ok(response(status)), watch))
        });
        Ok(Response::new(Box::pin(statuses)))
    }
}

/// One call of `Watch`. It ends when the server has begun to drain: one that did not would keep it from shutting down.
struct Watch {
    condition: watch::Receiver<Condition>,
    known: bool,
    told: Option<ServingStatus>,
}

impl Watch {
    async fn next(&mut self) -> Option<ServingStatus> {
        loop {
            let condition = *self.condition.borrow_and_update();
            let status = match self.known {
                true => status_of(condition),
                false => ServingStatus::ServiceUnknown,
            };
            if self.told.replace(status) != Some(status) {
                return Some(status);
            }
            if condition == Condition::Draining {
                return None;
            }
            self.condition.changed().await.ok()?;
        }
    }
}

impl fmt::Debug for ServerHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerHealth")
            .field(&*self.0.borrow())
            .finish()
    }
}
