//! Several caches as one: each for some types, or all for all.

use std::sync::Arc;

use portolan_cache::{MuxCache, SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan_core::well_known::{ENDPOINT, ROUTE};
use portolan_core::{NodeId, Resource, ResourceTypes, Snapshot, TypeUrl};
use portolan_testkit::conformance::{NODE, Subject};

use crate::OfLinearCache;

type Writer = SnapshotCacheWriter<String>;
type Reader = SnapshotCacheReader<NodeId>;

fn cache() -> (Writer, Reader) {
    SnapshotCache::new(NodeId::default()).split()
}

/// Endpoints in a linear cache, routes in a snapshot cache, all else in another.
pub(crate) struct ByType {
    endpoints: OfLinearCache,
    routes: Writer,
    others: Writer,
    mux: MuxCache,
}

impl ByType {
    pub(crate) fn new() -> Self {
        let endpoints = OfLinearCache::new(&ENDPOINT);
        let (routes, routes_reader) = cache();
        let (others, others_reader) = cache();
        let mut mux = MuxCache::builder();
        let part = mux.part("endpoints", Arc::new(endpoints.source()));
        mux.route(ENDPOINT, [part]);
        let part = mux.part("routes", Arc::new(routes_reader));
        mux.route_by([ROUTE], move |_, _, _| Some(part));
        let part = mux.part("others", Arc::new(others_reader));
        mux.otherwise([part]);
        Self {
            endpoints,
            routes,
            others,
            mux: mux.build(),
        }
    }
}

impl Subject for ByType {
    type Source = MuxCache;

    fn source(&self) -> MuxCache {
        self.mux.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        let group = NODE.to_owned();
        let routes = select(&snapshot, |resource| *resource.type_url() == ROUTE);
        let _ = self.routes.set(&group, routes);
        let others = select(&snapshot, |resource| {
            ![ROUTE, ENDPOINT].contains(resource.type_url())
        });
        let _ = self.others.set(&group, others);
        self.endpoints.publish(snapshot);
    }

    fn unpublish(&self) {
        self.endpoints.unpublish();
        self.routes.clear(&NODE.to_owned());
        self.others.clear(&NODE.to_owned());
    }
}

/// Each type in a linear cache of its own; those that are not well known in a snapshot cache.
pub(crate) struct Linear {
    types: Vec<OfLinearCache>,
    others: Writer,
    mux: MuxCache,
}

impl Linear {
    pub(crate) fn new() -> Self {
        let well_known = ResourceTypes::well_known();
        let types = well_known
            .iter()
            .map(|known| OfLinearCache::new(known.url()));
        let types: Vec<_> = types.collect();
        let mut mux = MuxCache::builder();
        for of_type in &types {
            let url = of_type.type_url();
            let part = mux.part(url.as_str(), Arc::new(of_type.source()));
            mux.route(url.clone(), [part]);
        }
        let (others, others_reader) = cache();
        let part = mux.part("others", Arc::new(others_reader));
        mux.otherwise([part]);
        Self {
            types,
            others,
            mux: mux.build(),
        }
    }
}

impl Subject for Linear {
    type Source = MuxCache;

    fn source(&self) -> MuxCache {
        self.mux.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        let is_other = |url: &TypeUrl| self.types.iter().all(|of_type| of_type.type_url() != url);
        let others = select(&snapshot, |resource| is_other(resource.type_url()));
        let _ = self.others.set(&NODE.to_owned(), others);
        for of_type in &self.types {
            of_type.publish(snapshot.clone());
        }
    }

    fn unpublish(&self) {
        self.types.iter().for_each(OfLinearCache::unpublish);
        self.others.clear(&NODE.to_owned());
    }
}

/// Each type in two snapshot caches: a resource is in one of them, in the other, or in both.
pub(crate) struct Unions {
    parts: [Writer; 2],
    mux: MuxCache,
}

impl Unions {
    pub(crate) fn new() -> Self {
        let [first, second] = [cache(), cache()];
        let mut mux = MuxCache::builder();
        let parts = [
            mux.part("first", Arc::new(first.1)),
            mux.part("second", Arc::new(second.1)),
        ];
        mux.otherwise(parts);
        Self {
            parts: [first.0, second.0],
            mux: mux.build(),
        }
    }
}

impl Subject for Unions {
    type Source = MuxCache;

    fn source(&self) -> MuxCache {
        self.mux.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        for (at, part) in self.parts.iter().enumerate() {
            let of_part = select(&snapshot, |resource| {
                let sum = resource
                    .name()
                    .stem()
                    .bytes()
                    .map(usize::from)
                    .sum::<usize>();
                sum % 3 != at
            });
            let _ = part.set(&NODE.to_owned(), of_part);
        }
    }

    fn unpublish(&self) {
        for part in &self.parts {
            part.clear(&NODE.to_owned());
        }
    }
}

/// A snapshot of some of the resources, with the labels of the types that it has any of.
fn select(snapshot: &Snapshot, is_chosen: impl Fn(&Resource) -> bool) -> Snapshot {
    let mut chosen = Snapshot::builder();
    for (url, set) in snapshot.sets() {
        let pending = set.pending().filter_map(|name| set.held(name));
        let entries = set.entries().chain(pending);
        for resource in entries.filter(|resource| is_chosen(resource)) {
            let put = chosen.insert_shared(resource.clone());
            put.expect("names differ where it is from");
        }
        label(&mut chosen, snapshot, url);
    }
    chosen.build()
}

fn label(chosen: &mut portolan_core::SnapshotBuilder, snapshot: &Snapshot, url: &TypeUrl) {
    if let Some(label) = snapshot.label(url) {
        chosen.label(url.clone(), label);
    }
}
