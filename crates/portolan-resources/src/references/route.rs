use portolan_core::{Facts, ReadyWhen, Reference, well_known::VIRTUAL_HOST};
use portolan_types::envoy::config::route::v3::RouteConfiguration;

use super::is_discovered;

/// A route table that discovers its virtual hosts refers to `<route>/`, the prefix of all their names.
pub(super) fn facts(route: &RouteConfiguration) -> Facts {
    let vhds = route
        .vhds
        .as_ref()
        .and_then(|vhds| vhds.config_source.as_ref());
    let reference = is_discovered(vhds)
        .then(|| Reference::new(VIRTUAL_HOST, format!("{}/", route.name), "vhds"));
    Facts::new(Vec::from_iter(reference), ReadyWhen::Acked)
}

#[cfg(test)]
mod tests {
    use portolan_types::envoy::config::route::v3::Vhds;

    use super::*;
    use crate::build;

    #[test]
    fn a_table_with_discovered_hosts_refers_to_their_prefix() {
        let mut route = build::route_configuration("ns/r", []);
        assert!(facts(&route).references().is_empty());
        route.vhds = Some(Vhds {
            config_source: Some(build::ads()),
        });
        let facts = facts(&route);
        let names: Vec<_> = facts
            .references_to(&VIRTUAL_HOST)
            .map(|n| n.as_str())
            .collect();
        assert_eq!(names, ["ns/r/"]);
    }
}
