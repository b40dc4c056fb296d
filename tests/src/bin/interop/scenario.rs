use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use portolan_tests::{Backend, Bootstrap, Envoy, TestControlPlane, TestError, eventually, get};
use tokio::net::TcpListener;

use crate::steps;
use crate::world::World;

/// Cluster of the Envoy's node.
const GROUP: &str = "interop";

/// How many steps ran and failed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Results {
    pub(crate) ran: usize,
    pub(crate) failed: usize,
}

impl Results {
    pub(crate) fn add(&mut self, other: Self) {
        self.ran += other.ran;
        self.failed += other.failed;
    }
}

/// One Envoy, its control plane, and what is behind it.
pub(crate) struct Scenario {
    pub(crate) variant: Bootstrap,
    pub(crate) plane: TestControlPlane,
    pub(crate) envoy: Envoy,
    pub(crate) world: World,
    pub(crate) one: Backend,
    pub(crate) two: Backend,
}

/// Runs all steps with one Envoy, each on what the one before left.
pub(crate) async fn run(envoy: &Path, variant: Bootstrap) -> Results {
    let mut results = Results::default();
    let started = Instant::now();
    let scenario = Scenario::start(envoy, variant).await;
    let scenario = report(
        &mut results,
        "start to first proxied 200",
        started,
        scenario,
    );
    let Some(mut scenario) = scenario else {
        return results;
    };
    for (name, step) in steps::ALL {
        let started = Instant::now();
        let result = step(&mut scenario).await;
        if report(&mut results, name, started, result).is_none() {
            eprintln!("{}", scenario.envoy.log());
            for event in scenario.plane.recorder().since(0) {
                eprintln!("    {event:?}");
            }
            return results;
        }
    }
    results
}

/// Counts a step and prints what came of it.
pub(crate) fn report<T>(
    results: &mut Results,
    name: &str,
    started: Instant,
    result: Result<T, TestError>,
) -> Option<T> {
    let took = started.elapsed().as_millis();
    results.ran += 1;
    match result {
        Ok(value) => {
            println!("  ok    {took:>5} ms  {name}");
            Some(value)
        }
        Err(error) => {
            results.failed += 1;
            println!("  FAIL  {took:>5} ms  {name}: {error}");
            None
        }
    }
}

impl Scenario {
    async fn start(envoy: &Path, variant: Bootstrap) -> Result<Self, TestError> {
        let (one, two) = (Backend::start("one").await?, Backend::start("two").await?);
        let mut world = World::new(free_port().await?, variant.source());
        world
            .clusters
            .insert("a", crate::world::ClusterSpec::of([one.address()]));
        world.routes = vec![("/", "a")];
        let plane = TestControlPlane::start(GROUP).await?;
        plane.publish(|out| world.fill(out))?;
        let envoy = Envoy::start(envoy, variant, "envoy-1", GROUP, plane.address()).await?;
        let scenario = Self {
            variant,
            plane,
            envoy,
            world,
            one,
            two,
        };
        scenario
            .answers("/", "one", Duration::from_secs(10))
            .await?;
        Ok(scenario)
    }

    /// Publishes the world as it is now.
    pub(crate) fn publish(&self) -> Result<(), TestError> {
        self.plane.publish(|out| self.world.fill(out))
    }

    /// Waits until requests for `path` are answered by the backend `by`.
    pub(crate) async fn answers(
        &self,
        path: &str,
        by: &str,
        within: Duration,
    ) -> Result<(), TestError> {
        let listen = self.world.listen;
        eventually(&format!("{path} answered by {by}"), within, || async {
            match get(listen, path).await {
                Ok(reply) if reply.status == 200 && reply.body == by => Ok(()),
                Ok(reply) => Err(format!("{} {:?}", reply.status, reply.body)),
                Err(error) => Err(error.to_string()),
            }
        })
        .await?;
        Ok(())
    }

    /// Waits until nothing warms and every response was acknowledged.
    pub(crate) async fn settles(&self) -> Result<(), TestError> {
        eventually("nothing warming", Duration::from_secs(3), || async {
            let held = self.envoy.held().await?;
            match held.warming.is_empty() {
                true => Ok::<_, TestError>(()),
                false => Err(format!("warming: {:?}", held.warming).into()),
            }
        })
        .await?;
        Ok(())
    }
}

async fn free_port() -> Result<u16, TestError> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await?
        .local_addr()?
        .port())
}
