//! The shapes of streams, and what is done on each.

use portolan_benches::{Client, Collection, Linear, Mux, Stream, Wants};
use portolan_core::TypeUrl;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LOCALITY_ENDPOINT};
use portolan_engine::Variant;

use crate::{Growth, count, count_beside};

/// A kind of stream.
pub(crate) struct Shape {
    name: &'static str,
    variant: Variant,
    url: TypeUrl,
    wants: Wants,
    push: Growth,
    acknowledgement: Growth,
    request: Growth,
}

pub(crate) const SHAPES: &[Shape] = &[
    Shape {
        name: "delta, wildcard",
        variant: Variant::Delta,
        url: CLUSTER,
        wants: Wants::Wildcard,
        push: Growth::Flat,
        acknowledgement: Growth::Flat,
        request: Growth::Flat,
    },
    Shape {
        name: "delta, all named",
        variant: Variant::Delta,
        url: ENDPOINT,
        wants: Wants::Named,
        push: Growth::Flat,
        acknowledgement: Growth::Flat,
        request: Growth::Flat,
    },
    Shape {
        name: "delta, one glob",
        variant: Variant::Delta,
        url: LOCALITY_ENDPOINT,
        wants: Wants::Glob,
        push: Growth::Flat,
        acknowledgement: Growth::Flat,
        request: Growth::Flat,
    },
    Shape {
        name: "SotW partial, wildcard",
        variant: Variant::Sotw,
        url: ENDPOINT,
        wants: Wants::Wildcard,
        push: Growth::Flat,
        acknowledgement: Growth::Flat,
        request: Growth::Flat,
    },
    Shape {
        name: "SotW partial, all named",
        variant: Variant::Sotw,
        url: ENDPOINT,
        wants: Wants::Named,
        push: Growth::Flat,
        acknowledgement: Growth::Names,
        request: Growth::Names,
    },
    Shape {
        name: "SotW full state, wildcard",
        variant: Variant::Sotw,
        url: CLUSTER,
        wants: Wants::Wildcard,
        push: Growth::Chunks,
        acknowledgement: Growth::Flat,
        request: Growth::Chunks,
    },
    Shape {
        name: "SotW full state, all named",
        variant: Variant::Sotw,
        url: CLUSTER,
        wants: Wants::Named,
        push: Growth::Chunks,
        acknowledgement: Growth::Names,
        request: Growth::Names,
    },
];

/// One change among all, from the edit to the cache.
pub(crate) fn publication(collection: &mut Collection) {
    let middle = collection.size() / 2;
    collection.change(&CLUSTER, [middle]);
    count("publication of one change", Growth::Flat, || {
        collection.change(&CLUSTER, [middle]);
    });
}

/// One change among all, and who refers to what then.
pub(crate) fn referrers(collection: &mut Collection) {
    let middle = collection.size() / 2;
    assert_eq!(collection.referrers(middle), 1, "a cluster refers to it");
    let what = "publication of one change, and who refers to it";
    let referrers = count(what, Growth::Flat, || {
        collection.change(&CLUSTER, [middle]);
        collection.referrers(middle)
    });
    assert_eq!(referrers, 1, "a cluster refers to it");
}

/// One change in a linear cache, for which ten of a thousand streams are woken.
pub(crate) fn linear(linear: &mut Linear) {
    linear.change();
    let _ = linear.announce();
    linear.look();
    count("linear cache: upsert", Growth::Flat, || linear.change());
    let announce = || linear.announce();
    count(
        "linear cache: wake-up of ten streams",
        Growth::Flat,
        announce,
    );
    assert_eq!(linear.look(), 10, "streams were woken");
}

/// One change in a part of a union, as two streams see it.
pub(crate) fn union(mux: &mut Mux) {
    let set = |stream: usize, mux: &Mux| {
        let publication = mux.load(stream).expect("it is published");
        let set = publication.snapshot().set(&ENDPOINT);
        set.expect("the parts speak for it").id()
    };
    mux.change();
    (0..2).for_each(|stream| drop(mux.load(stream)));
    let before = set(0, mux);
    mux.change();
    // The list of chunks is copied.
    let chunks = Growth::Chunks;
    count("mux cache: a change in a union, merged", chunks, || {
        drop(mux.load(0));
    });
    count(
        "mux cache: the same for a further stream",
        Growth::Flat,
        || {
            drop(mux.load(1));
        },
    );
    assert_ne!(set(0, mux), before, "it changed");
    assert_eq!(set(0, mux), set(1, mux), "both are shown one value");
}

impl Shape {
    pub(crate) fn run(&self, collection: &mut Collection) {
        // Where all clusters are asked for, a stream has to see whether a publication takes steps.
        let steps = self.url == CLUSTER && self.wants == Wants::Wildcard;
        if steps {
            let name = &format!("{}, in order", self.name);
            let open = Stream::open_ordered;
            self.run_as(&Row { name, beside: None }, open, collection);
        }
        let beside = steps.then_some("in order");
        let name = self.name;
        self.run_as(&Row { name, beside }, Stream::open, collection);
    }

    fn run_as(
        &self,
        row: &Row<'_>,
        open: fn(&Collection, Variant) -> Stream,
        collection: &mut Collection,
    ) {
        let mut streams = [0; 3].map(|_| self.open(collection, open));
        // The first change finds streams that were just opened; what the second finds is so ever after.
        let middle = collection.size() / 2;
        collection.change(&self.url, [middle]);
        for (stream, client) in &mut streams {
            let response = stream.push();
            stream.tell(client.acknowledge(&response));
        }
        collection.change(&self.url, [middle]);
        let [(first, _), (further, client), (last, _)] = &mut streams;
        row.count("push to the first stream", self.push, || first.push());
        let response = row.count("push to a further stream", self.push, || further.push());
        // It lets go of the former set, and so frees it.
        let growth = Growth::Chunks;
        row.count("push to the last stream", growth, || last.push());
        let request = client.acknowledge(&response);
        row.count("acknowledgement", self.acknowledgement, || {
            further.tell(request);
        });

        let name = collection.name(&self.url, middle);
        if self.wants == Wants::Named {
            let request = client.without(&self.url, &name);
            row.count("one name less", self.request, || further.tell(request));
        }
        let request = client.also(&self.url, vec![name]);
        row.count("one name more", self.request, || further.ask(request));
    }

    fn open(
        &self,
        collection: &Collection,
        open: fn(&Collection, Variant) -> Stream,
    ) -> (Stream, Client) {
        let mut stream = open(collection, self.variant);
        let mut client = Client::new(self.variant);
        let names = self.wants.names(collection);
        let answered = client.subscribe(&mut stream, &self.url, names);
        assert_eq!(answered, collection.size(), "all of it is sent");
        (stream, client)
    }
}

/// What the steps of a shape are called, and the steps of the same shape that they are to cost hardly more than.
struct Row<'a> {
    name: &'a str,
    beside: Option<&'a str>,
}

impl Row<'_> {
    fn count<T>(&self, what: &str, growth: Growth, step: impl FnOnce() -> T) -> T {
        let Self { name, beside } = self;
        // What the last stream frees is chance.
        let beside = beside.filter(|_| !what.ends_with("last stream"));
        let beside = beside.map(|beside| format!("{name}, {beside}: {what}"));
        count_beside(&format!("{name}: {what}"), beside.as_deref(), growth, step)
    }
}
