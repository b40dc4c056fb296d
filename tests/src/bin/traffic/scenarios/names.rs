use portolan_tests::TestError;

use crate::cluster::ClusterSpec;
use crate::lab::{INGRESS, Lab};
use crate::world::TableSpec;

pub(super) const PATHS: &[&str] = &["/1", "/2", "/3", "/4"];

pub(super) async fn all_names(lab: &mut Lab) -> Result<(), TestError> {
    lab.begin().await?;
    let world = &mut lab.world;
    world.clusters.clear();
    world.tables.clear();
    let renamed = |path: &str| format!("b{}", path.replace('/', "-"));
    for path in PATHS {
        let cluster = ClusterSpec::new(lab.two.address);
        world.clusters.insert(renamed(path), cluster);
    }
    let routes = PATHS
        .iter()
        .map(|path| (String::from(*path), renamed(path)));
    let table = TableSpec::new(routes);
    world.tables.insert("other-routes".to_owned(), table);
    if let Some(listener) = world.listeners.get_mut(INGRESS) {
        listener.table = "other-routes".to_owned();
    }
    lab.publish().await
}
