//! A complete control plane: one listener, one route table, and a cluster whose endpoints change every second.

use std::net::SocketAddr;
use std::time::Duration;

use portolan::prelude::*;
use portolan::server::transport::Incoming;

/// The model: who answers at the moment.
struct Backends(Vec<SocketAddr>);

#[derive(Debug)]
struct WebTranslator;

impl Translator<Backends, String> for WebTranslator {
    type Error = ResourceError;

    fn translate(
        &self,
        model: &Backends,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        let all = build::virtual_host("all", ["*"], [build::prefix_route("/", "web")]);
        out.add(&build::eds_cluster("web"))?
            .add(&build::assignment("web", model.0.iter().copied()))?
            .add(&build::http_listener(
                "ingress",
                ([0, 0, 0, 0], 10000).into(),
                "routes",
            ))?
            .add(&build::route_configuration("routes", [all]))?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = ControlPlane::start(NodeId::default(), WebTranslator);

    let publisher = plane.publisher().clone();
    tokio::spawn(async move {
        for port in (9001..=9003).cycle() {
            let backends = Backends(vec![([127, 0, 0, 1], port).into()]);
            publisher
                .update(backends)
                .expect("the publish loop runs as long as its publisher");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });

    let incoming = Incoming::bind("127.0.0.1:18000".parse()?)?;
    println!("serving on 127.0.0.1:18000; give Envoy a bootstrap as the quickstart prints it");
    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    plane.xds().serve(incoming).until(interrupted).await?;
    Ok(())
}
