//! When a client can use a cluster, as far as its acknowledgements prove it.

use portolan_core::{Name, ReadyWhen, References, Resource};

use crate::type_state::TypeState;

/// Whether the client is known to be able to use a cluster.
///
/// `gate` is the state of clusters, `child` that of their endpoints, where the client asked for any on this stream.
/// Endpoints are sent again behind a cluster that was added or changed, so that what is acknowledged of them came after it.
pub(crate) fn is_ready(
    gate: &TypeState,
    child: Option<&TypeState>,
    cluster: &Resource,
    references: &dyn References,
) -> bool {
    let ready_when = cluster.facts(references).ready_when();
    let acked = || is_accepted(gate, cluster.name());
    let Some((child, url)) = child.zip(gate.resource_type.reanswers()) else {
        return acked();
    };
    let mut names = cluster.facts(references).references_to(url);
    let mut child_acked = || names.all(|name| is_accepted(child, name));
    match ready_when {
        ReadyWhen::Acked => acked(),
        // Other clusters that warm keep the client from acknowledging this one.
        ReadyWhen::ChildAcked => {
            gate.known.holds_name(cluster.name(), &gate.subscription) && child_acked()
        }
        _ => acked() && child_acked(),
    }
}

/// Whether the client was sent the name, accepted it, and is owed no more of it.
fn is_accepted(state: &TypeState, name: &Name) -> bool {
    state.known.holds_name(name, &state.subscription)
        && !state.owed.names.contains_key(name)
        && !state.window.awaited().any(|touched| touched.contains(name))
        && !state.suspects.contains(name)
}
