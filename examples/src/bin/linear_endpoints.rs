//! A hundred thousand clusters' endpoints that change one by one, and only what changed is pushed, to whom it concerns.
//!
//! ```text
//! cargo run -p portolan-examples --bin linear_endpoints
//! ```
//!
//! There is no translator: whoever knows of a change writes it to the cache. Two clients ask for a few names each, as
//! gRPC's would. One is told of what the other does not hear of, and a batch is one response.

use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use portolan::cache::{LinearCache, LinearCacheWriter};
use portolan::core::{Published, ResourceBuilder, well_known::ENDPOINT};
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan_examples::{DemoClient, node};
use tonic::Status;

const CLUSTERS: u16 = 50_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (writer, reader) = LinearCache::new(ENDPOINT).split();
    // All at once: a cache that is filled bit by bit tells who comes meanwhile that the rest does not exist.
    let _ = writer.replace_all(everything())?;
    println!("{} clusters have endpoints", writer.len());

    let xds = XdsServer::builder(Arc::new(reader)).build();
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(xds.serve(incoming).until(pending()));
    let mut cart = Proxy::connect(address, "cart", &["blue-7", "green-7"]).await?;
    let mut search = Proxy::connect(address, "search", &["blue-42"]).await?;

    // Nobody asked for this one. Had it been pushed, the next line of a client would say so.
    tell("blue-1", writer.upsert(endpoints("blue", 1, 9090))?);
    tell("blue-7", writer.upsert(endpoints("blue", 7, 9090))?);
    cart.hear().await?;
    tell("blue-42", writer.upsert(endpoints("blue", 42, 9090))?);
    search.hear().await?;

    tell("a batch", move_all_of_seven(&writer)?);
    cart.hear().await?;
    tell("blue-42, gone,", writer.remove("blue-42"));
    search.hear().await?;

    // What is equal is not pushed, and is no publication.
    tell("green-7 again", writer.upsert(endpoints("green", 7, 7070))?);
    Ok(())
}

fn everything() -> impl Iterator<Item = ResourceBuilder> {
    let of = move |color| (0..CLUSTERS).map(move |number| endpoints(color, number, 8080));
    ["blue", "green"].into_iter().flat_map(of)
}

/// The endpoints of one cluster: one address.
fn endpoints(color: &str, number: u16, port: u16) -> ResourceBuilder {
    let [high, low] = number.to_be_bytes();
    let address = SocketAddr::from(([10, 0, high, low], port));
    build::assignment(format!("{color}-{number}"), [address]).to_resource()
}

/// Both change, or neither does.
fn move_all_of_seven(writer: &LinearCacheWriter) -> Result<Published, ResourceError> {
    writer.batch(|edit| {
        edit.upsert(endpoints("blue", 7, 7070))?
            .upsert(endpoints("green", 7, 7070))?;
        Ok(())
    })
}

fn tell(what: &str, published: Published) {
    match published {
        Published::Changed(generation) => println!("{what}: publication {}", generation.get()),
        _ => println!("{what}: no news"),
    }
}

struct Proxy {
    name: &'static str,
    client: DemoClient,
}

impl Proxy {
    async fn connect(
        server: SocketAddr,
        name: &'static str,
        wanted: &[&str],
    ) -> Result<Self, Status> {
        let client = DemoClient::connect(server, node(name)).await?;
        let mut proxy = Self { name, client };
        proxy.client.subscribe(&ENDPOINT, wanted).await;
        proxy.hear().await?;
        Ok(proxy)
    }

    async fn hear(&mut self) -> Result<(), Status> {
        let response = self.client.next().await?;
        let response = response.ok_or_else(|| Status::unavailable("the stream has ended"))?;
        let names: Vec<_> = response.resources.iter().map(|r| r.name.as_str()).collect();
        let (names, gone) = (names.join(" "), response.removed_resources.join(" "));
        println!("  {} is sent [{names}], gone [{gone}]", self.name);
        self.client.accept(&response).await;
        Ok(())
    }
}
