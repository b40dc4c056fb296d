use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use portolan_core::{Node, Peer, Source, TypeUrl};

use super::clashes::{ClashObserver, Clashes};
use super::line::Line;
use super::memo::Memo;
use super::routes::{Parts, Routes, Table};
use super::unions::Unions;
use super::{MuxCache, Shared};

/// One part of a [`MuxCache`]: what [`MuxCacheBuilder::part`] gave for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(usize);

/// What chooses the part of a type by node.
type Choose = dyn Fn(&Node, &Peer, &TypeUrl) -> Option<PartId> + Send + Sync;

/// A [`MuxCache`] under construction: its parts, and which of them serves which type.
///
/// A route that is declared for a type replaces what was declared for it before. A type without one is served by what
/// [`otherwise`](Self::otherwise) says. A [`PartId`] of another cache means nothing here; it serves nobody, or the wrong
/// type.
#[derive(Debug)]
#[must_use]
pub struct MuxCacheBuilder {
    parts: Vec<(Box<str>, Arc<dyn Source>)>,
    table: Table,
    chosen: Chosen,
    observers: Vec<Arc<dyn ClashObserver>>,
}

/// Types of which the part is chosen by node.
#[derive(Default)]
struct Chosen {
    types: BTreeSet<TypeUrl>,
    choose: Option<Box<Choose>>,
}

impl MuxCacheBuilder {
    pub(super) fn new() -> Self {
        Self {
            parts: Vec::new(),
            table: Table::default(),
            chosen: Chosen::default(),
            observers: Vec::new(),
        }
    }

    /// Adds a part. Its name is for people: it is in the report of a clash.
    pub fn part(&mut self, name: &str, source: Arc<dyn Source>) -> PartId {
        self.parts.push((name.into(), source));
        PartId(self.parts.len() - 1)
    }

    /// Lets a type be served by these parts: by one, or by a union, in which the part that comes first wins. Without
    /// any, nobody speaks for the type.
    pub fn route(
        &mut self,
        type_url: impl Into<TypeUrl>,
        parts: impl IntoIterator<Item = PartId>,
    ) -> &mut Self {
        let parts = self.known(parts);
        self.table.types.insert(type_url.into(), parts);
        self
    }

    /// Lets the part of these types be chosen by node, or by what the transport knows of it: once for each stream, when
    /// it is opened. A type for which `choose` names no part is not spoken for on that stream.
    ///
    /// There is one such function; a second call replaces the first. A [`route`](Self::route) of one of the types goes
    /// before it. `choose` runs outside of all locks. If it panics, the stream is not opened.
    pub fn route_by(
        &mut self,
        types: impl IntoIterator<Item = TypeUrl>,
        choose: impl Fn(&Node, &Peer, &TypeUrl) -> Option<PartId> + Send + Sync + 'static,
    ) -> &mut Self {
        self.chosen = Chosen {
            types: types.into_iter().collect(),
            choose: Some(Box::new(choose)),
        };
        self
    }

    /// Lets all types for which nothing else is declared be served by these parts, by their union if there are several.
    /// Default: by none.
    pub fn otherwise(&mut self, parts: impl IntoIterator<Item = PartId>) -> &mut Self {
        self.table.others = self.known(parts);
        self
    }

    /// Adds one who hears of clashes. Default: nobody.
    pub fn observe_clashes(&mut self, observer: Arc<dyn ClashObserver>) -> &mut Self {
        self.observers.push(observer);
        self
    }

    /// The finished cache.
    #[must_use]
    pub fn build(self) -> MuxCache {
        let (names, sources): (Vec<_>, Vec<_>) = self.parts.into_iter().unzip();
        let line = Arc::new(Line::of(sources.len()));
        MuxCache {
            shared: Arc::new(Shared {
                plan: Plan::new(self.table, self.chosen, sources.len()),
                clashes: Clashes::new(self.observers, names.clone().into()),
                names: names.into(),
                sources: sources.into(),
                line,
                unions: Unions::default(),
            }),
        }
    }

    /// Those that there are, each once.
    fn known(&self, parts: impl IntoIterator<Item = PartId>) -> Parts {
        let mut known = Vec::new();
        for PartId(part) in parts {
            if part < self.parts.len() && !known.contains(&part) {
                known.push(part);
            }
        }
        known.into()
    }
}

/// Which routes a stream has.
#[derive(Debug)]
pub(super) struct Plan {
    /// Those that all streams have, where nothing is chosen by node.
    table: Table,
    chosen: Chosen,
    parts: usize,
    made: Memo<Table, Routes>,
}

impl Plan {
    fn new(table: Table, mut chosen: Chosen, parts: usize) -> Self {
        chosen.types.retain(|url| !table.types.contains_key(url));
        Self {
            table,
            chosen,
            parts,
            made: Memo::keeping(1),
        }
    }

    /// The routes of a stream. Those of streams that are served the same are one value.
    pub(super) fn routes(&self, node: &Node, peer: &Peer) -> Arc<Routes> {
        let mut table = self.table.clone();
        if let Some(choose) = &self.chosen.choose {
            for url in &self.chosen.types {
                let part = choose(node, peer, url).filter(|part| part.0 < self.parts);
                let part = part.into_iter().map(|part| part.0);
                table.types.insert(url.clone(), part.collect());
            }
        }
        match self.made.get(&table) {
            Some(known) => known,
            None => self.made.put(&table, Arc::new(Routes::new(table.clone()))),
        }
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen")
            .field("types", &self.types)
            .finish_non_exhaustive()
    }
}
