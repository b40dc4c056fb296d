use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use crate::{Name, Reference, References, Resource};

/// One reference, seen from the resource referred to.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    name: Name,
    referrer: Resource,
    at: u32,
}

impl Edge {
    /// The edges of a resource, each with the reference that it stands for.
    pub(super) fn of<'a>(
        referrer: &'a Resource,
        references: &dyn References,
    ) -> impl Iterator<Item = (Self, &'a Reference)> + use<'a> {
        let all = referrer.facts(references).references().iter();
        all.zip(0..).map(|(reference, at)| {
            let (name, referrer) = (reference.name().clone(), referrer.clone());
            (Self { name, referrer, at }, reference)
        })
    }

    pub(super) fn referrer(&self) -> &Resource {
        &self.referrer
    }

    pub(super) fn reference(&self) -> &Reference {
        let facts = self.referrer.known_facts();
        &facts.expect("an edge is made out of facts").references()[self.at as usize]
    }

    /// Edges to one name stand together, ordered by who refers. What one resource says twice of a name is one edge.
    fn order(&self, other: &Self) -> Ordering {
        let (mine, theirs) = (&self.referrer, &other.referrer);
        let by_name = self.name.cmp(&other.name);
        by_name
            .then_with(|| mine.type_url().cmp(theirs.type_url()))
            .then_with(|| mine.name().cmp(theirs.name()))
    }

    fn priority(&self) -> u32 {
        // Drawn anew in each process: nobody can choose names that make a tree deep.
        static DICE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let referrer = &self.referrer;
        let key = (&self.name, referrer.type_url(), referrer.name());
        // The upper half is as random as the rest.
        (DICE.hash_one(key) >> 32) as u32
    }
}

/// The edges that lead to resources of one type, sorted: a persistent value. A changed copy shares with the former one
/// all but the way to what changed.
///
/// It is a treap: a search tree in which random priorities, the highest on top, keep the ways short.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges(Link);

type Link = Option<Arc<Branch>>;

#[derive(Clone, Debug)]
struct Branch {
    edge: Edge,
    priority: u32,
    left: Link,
    right: Link,
}

impl Edges {
    /// Puts an edge in, in place of one of a former value of the same resource. Of two edges of one value that are alike
    /// the first stays.
    pub(super) fn put(&mut self, edge: Edge) {
        let priority = edge.priority();
        put(&mut self.0, edge, priority);
    }

    /// Takes an edge out. One that is not there is no error.
    pub(super) fn remove(&mut self, edge: &Edge) {
        remove(&mut self.0, edge);
    }

    /// The edges to one name, ordered by who refers.
    pub(super) fn to<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Edge> {
        let mut ahead = Vec::new();
        descend(&self.0, name, &mut ahead);
        let sorted = std::iter::from_fn(move || {
            let branch = ahead.pop()?;
            descend(&branch.right, name, &mut ahead);
            Some(&branch.edge)
        });
        sorted.take_while(move |edge| edge.name.as_str() == name)
    }
}

/// Puts on `ahead` the branches on the way to the first edge to `name` that stand behind it or hold it.
fn descend<'a>(mut link: &'a Link, name: &str, ahead: &mut Vec<&'a Branch>) {
    while let Some(branch) = link {
        if branch.edge.name.as_str() < name {
            link = &branch.right;
        } else {
            ahead.push(branch);
            link = &branch.left;
        }
    }
}

/// Like edges have like priorities, and above one there are no lower ones: it is met before the way is cut.
fn put(link: &mut Link, edge: Edge, priority: u32) {
    match link {
        Some(branch) if branch.priority >= priority => {
            let branch = Arc::make_mut(branch);
            match edge.order(&branch.edge) {
                Ordering::Less => put(&mut branch.left, edge, priority),
                Ordering::Greater => put(&mut branch.right, edge, priority),
                Ordering::Equal if edge.referrer.is_same_value(&branch.edge.referrer) => {}
                Ordering::Equal => branch.edge = edge,
            }
        }
        _ => {
            let (left, right) = split(link.take(), &edge);
            *link = Some(Arc::new(Branch {
                edge,
                priority,
                left,
                right,
            }));
        }
    }
}

fn remove(link: &mut Link, edge: &Edge) {
    let Some(branch) = link else {
        return;
    };
    match edge.order(&branch.edge) {
        Ordering::Less => remove(&mut Arc::make_mut(branch).left, edge),
        Ordering::Greater => remove(&mut Arc::make_mut(branch).right, edge),
        Ordering::Equal => *link = merge(branch.left.clone(), branch.right.clone()),
    }
}

/// What stands before `edge`, and the rest.
fn split(link: Link, edge: &Edge) -> (Link, Link) {
    let Some(mut top) = link else {
        return (None, None);
    };
    let branch = Arc::make_mut(&mut top);
    if branch.edge.order(edge).is_lt() {
        let (before, rest) = split(branch.right.take(), edge);
        branch.right = before;
        (Some(top), rest)
    } else {
        let (before, rest) = split(branch.left.take(), edge);
        branch.left = rest;
        (before, Some(top))
    }
}

/// Both, where all of `before` stands before all of `after`.
fn merge(before: Link, after: Link) -> Link {
    match (before, after) {
        (None, only) | (only, None) => only,
        (Some(mut before), Some(mut after)) => {
            if before.priority >= after.priority {
                let branch = Arc::make_mut(&mut before);
                branch.right = merge(branch.right.take(), Some(after));
                Some(before)
            } else {
                let branch = Arc::make_mut(&mut after);
                branch.left = merge(Some(before), branch.left.take());
                Some(after)
            }
        }
    }
}
