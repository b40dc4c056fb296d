//! What changes while there is load.

mod connections;
mod listeners;
mod moves;
mod names;
mod rejections;
mod warming;

use std::pin::Pin;

use portolan_tests::TestError;

use crate::lab::Lab;

type Run = for<'a> fn(&'a mut Lab) -> Pin<Box<dyn Future<Output = Result<(), TestError>> + 'a>>;

/// A change, or several. A run begins with the listener `ingress` and ends when the Envoy does what was published last.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What is asked for; each path has a cluster of its own.
    pub(crate) paths: &'static [&'static str],
    pub(crate) run: Run,
}

const fn scenario(name: &'static str, about: &'static str, run: Run) -> Scenario {
    Scenario {
        name,
        about,
        paths: &["/"],
        run,
    }
}

pub(crate) const ALL: &[Scenario] = &[
    scenario(
        "move_and_retire",
        "a new cluster in the place of an old one",
        |lab| Box::pin(moves::move_and_retire(lab)),
    ),
    Scenario {
        paths: names::PATHS,
        ..scenario(
            "all_names",
            "the names of all clusters and of the route table change",
            |lab| Box::pin(names::all_names(lab)),
        )
    },
    scenario(
        "settings",
        "a cluster's settings change five times, its endpoints stay",
        |lab| Box::pin(moves::settings(lab)),
    ),
    scenario(
        "thirty_moves",
        "thirty moves to new clusters within 3 s",
        |lab| Box::pin(moves::thirty_moves(lab)),
    ),
    scenario(
        "flips",
        "ten moves between two clusters, 100 ms apart",
        |lab| Box::pin(moves::flips(lab)),
    ),
    scenario(
        "endpoints_late",
        "a move to a cluster whose endpoints come 500 ms later",
        |lab| Box::pin(warming::endpoints_late(lab)),
    ),
    scenario(
        "endpoints_empty",
        "a move to a cluster that has no endpoints for 500 ms",
        |lab| Box::pin(warming::endpoints_empty(lab)),
    ),
    scenario(
        "health_checked",
        "a move to a cluster whose first health check takes 400 ms",
        |lab| Box::pin(warming::health_checked(lab)),
    ),
    scenario(
        "strict_dns",
        "a move to a cluster whose host takes 400 ms to resolve",
        |lab| Box::pin(warming::strict_dns(lab)),
    ),
    scenario(
        "upstream_tls",
        "a move to a cluster with TLS whose secret comes 400 ms later",
        |lab| Box::pin(warming::upstream_tls(lab)),
    ),
    scenario(
        "unrelated_cold",
        "a move while another new cluster never warms",
        |lab| Box::pin(warming::unrelated_cold(lab)),
    ),
    scenario(
        "listener_added",
        "a new listener with a route table and a cluster of its own",
        |lab| Box::pin(listeners::added(lab)),
    ),
    scenario(
        "listener_added_early",
        "the same, with endpoints that come 500 ms later",
        |lab| Box::pin(listeners::added_early(lab)),
    ),
    scenario(
        "listener_removed",
        "a listener goes with its route table and its cluster",
        |lab| Box::pin(listeners::removed(lab)),
    ),
    scenario(
        "cluster_rejected",
        "a move to a cluster that is rejected, and mended 500 ms later",
        |lab| Box::pin(rejections::cluster(lab)),
    ),
    scenario(
        "routes_rejected",
        "a move by a route table that is rejected, and mended 500 ms later",
        |lab| Box::pin(rejections::routes(lab)),
    ),
    scenario(
        "client_away",
        "a move while the client is not connected",
        |lab| Box::pin(connections::client_away(lab)),
    ),
    scenario(
        "restart",
        "the control plane dies in the middle of a move and starts anew",
        |lab| Box::pin(connections::restart(lab)),
    ),
];
