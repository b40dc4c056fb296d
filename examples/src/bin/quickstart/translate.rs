//! From the model to what proxies are served.

use std::net::{Ipv4Addr, SocketAddr};

use portolan::core::{ResourceError, SnapshotBuilder};
use portolan::resources::{AddTyped, build};
use portolan::translator::Translator;

use crate::services::Services;

/// Every proxy is served the same: one listener, one route table, and a cluster for each service.
#[derive(Debug)]
pub(crate) struct ServicesTranslator;

impl Translator<Services, String> for ServicesTranslator {
    type Error = ResourceError;

    fn translate(
        &self,
        model: &Services,
        _group: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        for (name, endpoints) in &model.endpoints {
            out.add(&build::eds_cluster(name))?;
            out.add(&build::assignment(name, endpoints.iter().copied()))?;
        }
        let routes = model
            .routes
            .iter()
            .map(|r| build::prefix_route(&r.prefix, &r.service));
        let all = build::virtual_host("all", ["*"], routes);
        out.add(&build::route_configuration("routes", [all]))?;
        let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, model.port));
        out.add(&build::http_listener("ingress", everywhere, "routes"))?;
        Ok(())
    }
}
