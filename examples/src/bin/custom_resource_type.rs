//! A resource type of one's own: feature flags, served over the aggregated discovery service like Envoy's types.
//!
//! ```text
//! cargo run -p portolan-examples --bin custom_resource_type
//! ```
//!
//! A client subscribes to all flags, is sent them, then the one that changes and the name of the one that goes.

use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;

use portolan::core::node_hash::Constant;
use portolan::core::{ResourceType, ResourceTypes, TypeUrl};
use portolan::prelude::*;
use portolan::server::SessionConfig;
use portolan::server::transport::Incoming;
use portolan_examples::{DemoClient, node};
use prost::Message;

/// The type: a protobuf message. One that `prost-build` makes of a `.proto` file is as good.
#[derive(Clone, PartialEq, Message)]
struct FeatureFlag {
    #[prost(string, tag = "1")]
    name: String,
    /// Of a hundred users, so many have the feature.
    #[prost(uint32, tag = "2")]
    percent: u32,
}

impl TypedResource for FeatureFlag {
    const TYPE_URL: TypeUrl = TypeUrl::from_static("type.googleapis.com/example.v1.FeatureFlag");

    fn resource_name(&self) -> &str {
        &self.name
    }
}

/// The model is the flags themselves, and every node has the same.
#[derive(Debug)]
struct Flags;

impl Translator<Vec<FeatureFlag>, &'static str> for Flags {
    type Error = ResourceError;

    fn translate(
        &self,
        flags: &Vec<FeatureFlag>,
        _: &&'static str,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        for flag in flags {
            out.add(flag)?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // What the protocol must know of the type. It would be served without this too, as a type with no short name.
    let flags = ResourceType::new(FeatureFlag::TYPE_URL, "FlagDS");
    let types = ResourceTypes::well_known().with(flags);
    let plane = ControlPlane::start_with(
        SnapshotCache::new(Constant::new("all")),
        Flags,
        |publish| publish,
        |server| server.with_session(SessionConfig::default().with_types(types)),
    );

    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(plane.xds().serve(incoming).until(pending()));

    follow(address, plane.publisher()).await
}

/// The model of each step, and what the client is sent then.
async fn follow(
    server: SocketAddr,
    publisher: &Publisher<Vec<FeatureFlag>, &'static str>,
) -> Result<(), Box<dyn Error>> {
    let mut client = DemoClient::connect(server, node("shop-1")).await?;
    client.subscribe(&FeatureFlag::TYPE_URL, &["*"]).await;
    for model in [
        vec![
            flag("checkout", 10),
            flag("dark-mode", 50),
            flag("reviews", 100),
        ],
        vec![
            flag("checkout", 20),
            flag("dark-mode", 50),
            flag("reviews", 100),
        ],
        vec![flag("checkout", 20), flag("dark-mode", 50)],
    ] {
        publisher.update(model)?;
        let response = client.next().await?.ok_or("the server ended the stream")?;
        for resource in &response.resources {
            let body = resource.resource.as_ref().ok_or("a flag without a body")?;
            let flag = FeatureFlag::decode(&*body.value)?;
            println!("{}: for {} % of users", flag.name, flag.percent);
        }
        for name in &response.removed_resources {
            println!("{name}: gone");
        }
        client.accept(&response).await;
    }
    Ok(())
}

fn flag(name: &str, percent: u32) -> FeatureFlag {
    FeatureFlag {
        name: name.to_owned(),
        percent,
    }
}
