//! When a client can use a cluster, as far as its acknowledgements prove it.

use portolan_core::{Name, ReadyWhen, References, Resource};

use crate::Nonce;
use crate::type_state::TypeState;

/// What is known of a client and a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Readiness {
    /// Something that it takes was not sent yet, or was rejected.
    Unsent,
    /// All that it takes was sent, and is not acknowledged.
    Sent,
    Ready,
}

/// How far a client is with a cluster. What is acknowledged of the responses up to `proof` counts, as does what is of all.
///
/// `gate` is the state of clusters, `child` that of their endpoints, where the client asked for any on this stream.
/// Endpoints are sent again behind a cluster that was added or changed, so that what is acknowledged of them came after it.
pub(crate) fn readiness(
    gate: &TypeState,
    child: Option<&TypeState>,
    cluster: &Resource,
    references: &dyn References,
    proof: Option<Nonce>,
) -> Readiness {
    let facts = cluster.facts(references);
    let acked = || of_name(gate, cluster.name(), proof);
    let Some((child, url)) = child.zip(gate.resource_type.reanswers()) else {
        return acked();
    };
    let child_acked = || {
        let names = facts.references_to(url);
        let least = names.map(|name| of_name(child, name, proof)).min();
        least.unwrap_or(Readiness::Ready)
    };
    match facts.ready_when() {
        // Other clusters that warm keep the client from acknowledging this one, but not from rejecting it.
        ReadyWhen::ChildAcked
            if gate.known.holds_name(cluster.name(), &gate.subscription)
                && !gate.suspects.contains(cluster.name()) =>
        {
            child_acked()
        }
        _ => acked().min(child_acked()),
    }
}

fn of_name(state: &TypeState, name: &Name, proof: Option<Nonce>) -> Readiness {
    let is_sent = state.known.holds_name(name, &state.subscription)
        && !state.owed.names.contains_key(name)
        && !state.suspects.contains(name);
    match is_sent {
        false => Readiness::Unsent,
        true if state.window.awaits_name(name, proof) => Readiness::Sent,
        true => Readiness::Ready,
    }
}
