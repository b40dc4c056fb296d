//! A runtime layer that ends by itself: settings for an incident, which no proxy keeps when nobody is there to renew them.
//!
//! ```text
//! cargo run -p portolan-examples --bin ttl_runtime
//! ```
//!
//! `base` is kept for ever, `incident` for a second after the client has heard of it. The server says in time that it
//! lives on, without its settings, as long as it is published. When the server goes away, the client drops it.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use portolan::core::node_hash::Constant;
use portolan::core::well_known::RUNTIME;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::runtime::v3::Runtime;
use portolan::types::prost::Message;
use portolan::types::prost_types::value::Kind;
use portolan::types::prost_types::{Struct, Value};
use portolan_examples::{DemoClient, node};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

const KEY: &str = "overload.global_downstream_max_connections";

/// Most connections that a proxy is to have, in each layer.
#[derive(Debug)]
struct Limits {
    base: u32,
    incident: Option<u32>,
}

#[derive(Debug)]
struct Layers;

impl Translator<Limits, &'static str> for Layers {
    type Error = ResourceError;

    fn translate(
        &self,
        limits: &Limits,
        _: &&'static str,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        out.add(&layer("base", limits.base))?;
        if let Some(limit) = limits.incident {
            let brief = layer("incident", limit).to_resource();
            out.insert(brief.ttl(Duration::from_secs(1)))?;
        }
        Ok(())
    }
}

fn layer(name: &str, limit: u32) -> Runtime {
    let kind = Some(Kind::NumberValue(limit.into()));
    Runtime {
        name: name.to_owned(),
        layer: Some(Struct {
            fields: [(KEY.to_owned(), Value { kind })].into(),
        }),
    }
}

/// What the layer sets.
fn limit(layer: Runtime) -> f64 {
    let fields = layer.layer.unwrap_or_default().fields;
    match fields.get(KEY).and_then(|value| value.kind.as_ref()) {
        Some(Kind::NumberValue(limit)) => *limit,
        _ => 0.0,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(Constant::new("all"), Layers);
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = plane.xds().serve(incoming);
    let serving = tokio::spawn(serving.until(async { drop(stopped.await) }));

    plane.publisher().update(Limits {
        base: 50_000,
        incident: Some(1_000),
    })?;
    let mut proxy = Proxy::connect(address).await?;
    proxy.hear(4).await?;
    plane.publisher().update(Limits {
        base: 50_000,
        incident: Some(500),
    })?;
    proxy.hear(3).await?;

    println!("the control plane goes away");
    drop(stop);
    serving.await??;
    proxy.outlive().await;
    Ok(())
}

/// A client that knows times to live.
struct Proxy {
    client: DemoClient,
    /// The layers that it has, and when each ends unless it hears of it again.
    layers: BTreeMap<String, Option<Instant>>,
}

impl Proxy {
    async fn connect(server: SocketAddr) -> Result<Self, tonic::Status> {
        // Envoy announces nothing, and is told nonetheless.
        let node = Node {
            client_features: vec!["xds.config.supports-resource-ttl".to_owned()],
            ..node("proxy-1")
        };
        let mut client = DemoClient::connect(server, node).await?;
        client.subscribe(&RUNTIME, &["base", "incident"]).await;
        let layers = BTreeMap::new();
        Ok(Self { client, layers })
    }

    /// Takes this many responses.
    async fn hear(&mut self, responses: usize) -> Result<(), Box<dyn Error>> {
        for _ in 0..responses {
            let response = self.client.next().await?;
            let response = response.ok_or("the server ended the stream")?;
            self.client.accept(&response).await;
            for resource in response.resources {
                let ttl = resource.ttl.map(Duration::try_from).transpose()?;
                let lasts = match ttl {
                    Some(ttl) => format!("for {ttl:?}"),
                    None => "for ever".to_owned(),
                };
                match resource.resource {
                    Some(body) => {
                        let limit = limit(Runtime::decode(&*body.value)?);
                        println!("{}: {limit} connections, {lasts}", resource.name);
                    }
                    None => println!("{} lives on, {lasts}", resource.name),
                }
                let end = ttl.map(|ttl| Instant::now() + ttl);
                self.layers.insert(resource.name, end);
            }
        }
        Ok(())
    }

    /// Waits until there is nothing left that ends.
    async fn outlive(self) {
        for (name, end) in self.layers {
            match end {
                Some(end) => {
                    sleep_until(end).await;
                    println!("{name} is over");
                }
                None => println!("{name} stays"),
            }
        }
    }
}
