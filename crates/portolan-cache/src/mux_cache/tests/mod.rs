mod announcing;
mod clashing;
mod hearing;
mod merging;
mod model;
mod own;
mod routing;
mod stress;

use std::sync::Arc;
use std::task::Waker;

use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_core::{
    Node, Peer, Publication, Resource, ResourceBuilder, ResourceSet, Snapshot, Source, TypeUrl,
    View,
};

use self::own::Own;
use super::{MuxCache, PartId};

fn resource(url: &TypeUrl, name: &str, body: &str) -> ResourceBuilder {
    Resource::builder(url.clone(), name, body.as_bytes().to_vec())
}

/// A snapshot of these types, names and bodies.
fn snapshot(resources: &[(TypeUrl, &str, &str)]) -> Snapshot {
    let mut builder = Snapshot::builder();
    for (url, name, body) in resources {
        builder.insert(resource(url, name, body)).unwrap();
    }
    builder.build()
}

fn endpoints(resources: &[(&str, &str)]) -> Snapshot {
    let resources: Vec<_> = resources
        .iter()
        .map(|(name, body)| (ENDPOINT, *name, *body))
        .collect();
    snapshot(&resources)
}

fn open(mux: &MuxCache, node: &str) -> Box<dyn View> {
    let waker = Waker::noop().clone();
    let view = mux.open(&Arc::new(Node::new(node)), &Peer::unknown(), waker);
    view.unwrap()
}

fn load(view: &dyn View) -> Publication {
    view.load().expect("a part has published something")
}

/// What a view has of a type.
fn set(view: &dyn View, url: &TypeUrl) -> ResourceSet {
    let publication = load(view);
    let set = publication.snapshot().set(url);
    set.expect("the type is spoken for").clone()
}

fn contents(set: &ResourceSet) -> Vec<(String, String)> {
    let content = |r: &Resource| {
        let body = String::from_utf8(r.body().to_vec()).unwrap();
        (r.name().to_string(), body)
    };
    set.iter().map(content).collect()
}

/// Names and bodies of the endpoints that a view has.
fn seen(view: &dyn View) -> Vec<(String, String)> {
    contents(&set(view, &ENDPOINT))
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter()
        .map(|(name, body)| ((*name).to_owned(), (*body).to_owned()))
        .collect()
}

/// A cache in which sources of our own serve the endpoints as a union, the first of them all else too.
fn union<const N: usize>() -> ([Own; N], MuxCache) {
    let parts: [Own; N] = std::array::from_fn(|_| Own::default());
    let mut mux = MuxCache::builder();
    let ids: Vec<PartId> = (parts.iter().enumerate())
        .map(|(at, part)| mux.part(&at.to_string(), Arc::new(part.clone())))
        .collect();
    mux.otherwise([ids[0]]).route(ENDPOINT, ids);
    (parts, mux.build())
}

/// One in which one source serves endpoints, and another clusters and all else.
fn by_type() -> (Own, Own, MuxCache) {
    let (endpoints, others) = (Own::default(), Own::default());
    let mut mux = MuxCache::builder();
    let part = mux.part("endpoints", Arc::new(endpoints.clone()));
    mux.route(ENDPOINT, [part]);
    let part = mux.part("others", Arc::new(others.clone()));
    mux.otherwise([part]);
    (endpoints, others, mux.build())
}

fn clusters(names: &[&str]) -> Snapshot {
    let clusters: Vec<_> = names.iter().map(|name| (CLUSTER, *name, "1")).collect();
    snapshot(&clusters)
}
