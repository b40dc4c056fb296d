//! An Envoy under load, its control plane, and what is behind it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use portolan_tests::{Bootstrap, Envoy, TestError, get};
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::cluster::{ClusterSpec, Waits};
use crate::link::Link;
use crate::load::{Load, Mix, Outcome};
use crate::mode::DRAIN_SECONDS;
use crate::plane::Plane;
use crate::upstream::Upstream;
use crate::world::{ListenerSpec, TableSpec, World};

/// What the Envoy says of itself.
pub(crate) const NODE: &str = "envoy-1";
pub(crate) const GROUP: &str = "traffic";

/// The listener that is there all the time.
pub(crate) const INGRESS: &str = "ingress";

/// Its route table, at first.
pub(crate) const TABLE: &str = "routes";

/// How long there is load before a scenario starts and after it has settled.
const STEADY: Duration = Duration::from_millis(400);

/// How often an Envoy that works is asked how far it is; each time costs it some milliseconds.
const LOOK: Duration = Duration::from_millis(100);

/// Within what a scenario must have come to its end. Longer than all that the control plane waits for.
const SETTLED: Duration = Duration::from_secs(40);

/// The stage of one run of a scenario. At first each path is served by a cluster of its own on the upstream `one`.
pub(crate) struct Lab {
    pub(crate) plane: Plane,
    pub(crate) link: Link,
    pub(crate) world: World,
    pub(crate) one: Upstream,
    pub(crate) two: Upstream,
    envoy: Envoy,
    paths: &'static [&'static str],
    mix: Mix,
    loads: Vec<(Load, Counts)>,
}

/// What counts as a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// A status of 500 or more, and errors of the transport.
    All,
    /// The status alone: the listener goes away, and its connections with it. Requests without one are not counted at all.
    Status,
}

impl Lab {
    pub(crate) async fn start(
        envoy: &Path,
        bootstrap: Bootstrap,
        plane: Plane,
        paths: &'static [&'static str],
        mix: Mix,
    ) -> Result<Self, TestError> {
        let one = Upstream::start("one", None).await?;
        let two = Upstream::start("two", None).await?;
        let link = Link::to(plane.address()).await?;
        let bootstrap = bootstrap.with_workers(4, DRAIN_SECONDS);
        let envoy = Envoy::start(envoy, bootstrap, NODE, GROUP, link.address).await?;
        let mut lab = Self {
            plane,
            link,
            world: World::default(),
            one,
            two,
            envoy,
            paths,
            mix,
            loads: Vec::new(),
        };
        let table = TableSpec::new(paths.iter().map(|path| (String::from(*path), first(path))));
        for path in paths {
            let cluster = ClusterSpec::new(lab.one.address);
            lab.world.clusters.insert(first(path), cluster);
        }
        lab.world.tables.insert(TABLE.to_owned(), table);
        let ingress = ListenerSpec {
            address: free_address().await?,
            table: TABLE.to_owned(),
        };
        lab.world.listeners.insert(INGRESS.to_owned(), ingress);
        Ok(lab)
    }

    /// Publishes what there is at first, and puts load on the listener that stays.
    pub(crate) async fn begin(&mut self) -> Result<(), TestError> {
        self.publish().await?;
        self.settles().await?;
        let ingress = self.world.listeners.get(INGRESS).ok_or("no listener")?;
        self.put_load(ingress.address, Counts::All);
        sleep(STEADY).await;
        Ok(())
    }

    /// Publishes the world as it is now.
    pub(crate) async fn publish(&mut self) -> Result<(), TestError> {
        self.plane.publish(&self.world).await
    }

    /// Puts load on a listener.
    pub(crate) fn put_load(&mut self, listener: SocketAddr, counts: Counts) {
        let load = Load::start(listener, self.paths, self.mix);
        self.loads.push((load, counts));
    }

    /// Takes the cluster of the first path away and puts another in its place, on the upstream `two`.
    pub(crate) fn replace(&mut self, name: &str, cluster: ClusterSpec) {
        self.world.clusters.insert(name.to_owned(), cluster);
        self.lead_to(name);
    }

    /// Takes the cluster of the first path away and leads the path to another.
    pub(crate) fn lead_to(&mut self, name: &str) {
        let table = self.world.tables.get_mut(TABLE);
        if let Some((_, cluster)) = table.and_then(|table| table.routes.first_mut()) {
            let before = std::mem::replace(cluster, name.to_owned());
            if before != name {
                self.world.clusters.remove(&before);
            }
        }
    }

    /// Waits until the Envoy does what the world says, and has given up what the world does not have.
    pub(crate) async fn settles(&self) -> Result<(), TestError> {
        let deadline = Instant::now() + SETTLED;
        loop {
            match self.is_settled().await {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() > deadline => {
                    return Err(format!("not settled within {SETTLED:?}: {why}").into());
                }
                Err(_) => sleep(LOOK).await,
            }
        }
    }

    async fn is_settled(&self) -> Result<(), TestError> {
        let active = self.envoy.held().await?.active;
        let waits = |name: &&String| {
            self.world
                .clusters
                .get(*name)
                .is_some_and(|cluster| cluster.waits == Waits::Forever)
        };
        let active: BTreeSet<_> = active.iter().filter(|name| !waits(name)).collect();
        let expected: BTreeSet<_> = self
            .world
            .clusters
            .keys()
            .filter(|name| !waits(name))
            .collect();
        if active != expected {
            return Err(format!("its clusters are {active:?}, not {expected:?}").into());
        }
        for listener in self.world.listeners.values() {
            for (path, cluster) in self.world.served(listener) {
                let reply = get(listener.address, path).await?;
                if reply.status != 200 || reply.body != self.name(cluster) {
                    let text = format!("{path} is answered {} {}", reply.status, reply.body);
                    return Err(text.into());
                }
            }
        }
        Ok(())
    }

    fn name(&self, cluster: &ClusterSpec) -> &'static str {
        match cluster.upstream == self.one.address {
            true => self.one.name,
            false => self.two.name,
        }
    }

    /// What went over the streams, and what the Envoy complained of.
    pub(crate) fn trace(&self) -> String {
        format!("{}{}", self.plane.trace(), self.envoy.log())
    }

    /// Stops the load, and gives what came of it.
    pub(crate) async fn finish(mut self) -> Vec<(Outcome, Counts)> {
        sleep(STEADY).await;
        let mut outcomes = Vec::new();
        for (load, counts) in self.loads.drain(..) {
            outcomes.push((load.stop().await, counts));
        }
        outcomes
    }
}

/// The cluster that serves a path at first.
pub(crate) fn first(path: &str) -> String {
    format!("a{}", path.replace('/', "-"))
}

pub(crate) async fn free_address() -> Result<SocketAddr, TestError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    Ok(listener.local_addr()?)
}
