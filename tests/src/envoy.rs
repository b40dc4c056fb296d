use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use portolan::resources::build;
use portolan::types::envoy::config::core::v3::ConfigSource;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::{TestError, eventually, get};

/// The cluster by which an Envoy reaches its control plane.
const CONTROL_PLANE: &str = "control_plane";

/// How an Envoy talks to its control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bootstrap {
    /// Incremental instead of state of the world.
    pub delta: bool,
    /// Envoy's newer implementation of both variants, which asks differently.
    pub unified_mux: bool,
    /// A stream for each subscription instead of one for all.
    pub per_type: bool,
    /// The name of a runtime layer that is discovered, if there is to be one.
    pub runtime_layer: Option<&'static str>,
    /// Number of worker threads.
    pub workers: u8,
    /// How long connections of a listener that was replaced go on, in seconds. Each is told at once to end.
    pub drain_seconds: u8,
}

impl Bootstrap {
    /// State of the world on one stream.
    pub const SOTW: Self = Self {
        delta: false,
        unified_mux: false,
        per_type: false,
        runtime_layer: None,
        workers: 1,
        drain_seconds: 1,
    };

    /// Incremental on one stream.
    pub const DELTA: Self = Self {
        delta: true,
        ..Self::SOTW
    };

    /// The same in Envoy's newer implementation.
    #[must_use]
    pub const fn unified_mux(self) -> Self {
        Self {
            unified_mux: true,
            ..self
        }
    }

    /// The same on streams of their own.
    #[must_use]
    pub const fn per_type(self) -> Self {
        Self {
            per_type: true,
            ..self
        }
    }

    /// The same with a runtime layer that is discovered.
    #[must_use]
    pub const fn with_runtime_layer(self, name: &'static str) -> Self {
        Self {
            runtime_layer: Some(name),
            ..self
        }
    }

    /// The same with more worker threads, and with another time to drain.
    #[must_use]
    pub const fn with_workers(self, workers: u8, drain_seconds: u8) -> Self {
        Self {
            workers,
            drain_seconds,
            ..self
        }
    }

    /// A name for reports.
    #[must_use]
    pub fn name(self) -> String {
        let streams = if self.per_type { "per type" } else { "ADS" };
        let variant = if self.delta { "delta" } else { "sotw" };
        let mux = if self.unified_mux {
            ", unified mux"
        } else {
            ""
        };
        format!("{streams} {variant}{mux}")
    }

    /// Where this Envoy is to ask for what its resources refer to.
    #[must_use]
    pub fn source(self) -> ConfigSource {
        match (self.per_type, self.delta) {
            (false, _) => build::ads(),
            (true, false) => build::sotw_service(CONTROL_PLANE),
            (true, true) => build::delta_service(CONTROL_PLANE),
        }
    }

    fn yaml(self, id: &str, cluster: &str, server: SocketAddr) -> String {
        let unified = self.unified_mux;
        let (host, port) = (server.ip(), server.port());
        let resources = self.dynamic_resources();
        let layer = self.runtime_layer.map_or_else(String::new, |name| {
            let source = "{ resource_api_version: V3, ads: {} }";
            format!(
                "  - {{ name: {name}, rtds_layer: {{ name: {name}, rtds_config: {source} }} }}\n"
            )
        });
        format!(
            "\
node: {{ id: {id}, cluster: {cluster} }}
admin:
  address: {{ socket_address: {{ address: 127.0.0.1, port_value: 0 }} }}
layered_runtime:
  layers:
  - name: static
    static_layer:
      envoy.reloadable_features.unified_mux: {unified}
{layer}  - name: admin
    admin_layer: {{}}
dynamic_resources:
{resources}
static_resources:
  clusters:
  - name: {CONTROL_PLANE}
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{ http2_protocol_options: {{}} }}
    load_assignment:
      cluster_name: {CONTROL_PLANE}
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {{ socket_address: {{ address: {host}, port_value: {port} }} }}
"
        )
    }

    fn dynamic_resources(self) -> String {
        let api_type = if self.delta { "DELTA_GRPC" } else { "GRPC" };
        let service = format!(
            "{{ api_type: {api_type}, transport_api_version: V3, set_node_on_first_message_only: true, \
             grpc_services: [{{ envoy_grpc: {{ cluster_name: {CONTROL_PLANE}, \
             retry_policy: {{ retry_back_off: {{ base_interval: 0.1s, max_interval: 0.5s }} }} }} }}] }}"
        );
        match self.per_type {
            true => format!(
                "  cds_config: {{ resource_api_version: V3, api_config_source: {service} }}\n  \
                 lds_config: {{ resource_api_version: V3, api_config_source: {service} }}"
            ),
            false => format!(
                "  ads_config: {service}\n  \
                 cds_config: {{ resource_api_version: V3, ads: {{}} }}\n  \
                 lds_config: {{ resource_api_version: V3, ads: {{}} }}"
            ),
        }
    }
}

/// A real Envoy. Killed when dropped.
#[derive(Debug)]
pub struct Envoy {
    admin: SocketAddr,
    log: PathBuf,
    _process: Child,
    _directory: TempDir,
}

/// What an Envoy holds, by its own account.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Held {
    /// Clusters in use.
    pub active: BTreeSet<String>,
    /// Clusters that wait for something before they can be used; a changed one is also active in its old form.
    pub warming: BTreeSet<String>,
    /// The configuration of the clusters in use.
    pub clusters: Vec<Value>,
}

impl Envoy {
    /// Starts the program at `path` as node `id` of the cluster `cluster`, with its control plane at `server`.
    ///
    /// # Errors
    /// It does not start, or its admin interface does not answer within ten seconds.
    pub async fn start(
        path: &Path,
        bootstrap: Bootstrap,
        id: &str,
        cluster: &str,
        server: SocketAddr,
    ) -> Result<Self, TestError> {
        let directory = TempDir::with_prefix("portolan-envoy-")?;
        let file = |name: &str| directory.path().join(name);
        let (config, admin_file, log) = (file("envoy.yaml"), file("admin"), file("log"));
        std::fs::write(&config, bootstrap.yaml(id, cluster, server))?;
        let process = Command::new(path)
            .arg("-c")
            .arg(&config)
            .arg("--admin-address-path")
            .arg(&admin_file)
            .arg("--log-path")
            .arg(&log)
            .args(["--concurrency", &bootstrap.workers.to_string()])
            .args(["--drain-time-s", &bootstrap.drain_seconds.to_string()])
            .args(["--drain-strategy", "immediate", "--disable-hot-restart"])
            .args(["--log-level", "warning"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let admin = eventually("the admin interface", Duration::from_secs(10), || async {
            let text = std::fs::read_to_string(&admin_file)?;
            let address: SocketAddr = text.trim().parse()?;
            get(address, "/server_info").await?;
            Ok::<_, TestError>(address)
        });
        let admin = admin.await.map_err(|e| format!("{e}\n{}", read(&log)))?;
        Ok(Self {
            admin,
            log,
            _process: process,
            _directory: directory,
        })
    }

    /// What it holds now.
    ///
    /// # Errors
    /// The admin interface does not answer.
    pub async fn held(&self) -> Result<Held, TestError> {
        let dump = self.json("/config_dump").await?;
        let mut held = Held::default();
        for config in dump["configs"].as_array().into_iter().flatten() {
            held.active
                .extend(names(&config["dynamic_active_clusters"], "cluster"));
            held.warming
                .extend(names(&config["dynamic_warming_clusters"], "cluster"));
            let clusters = config["dynamic_active_clusters"]
                .as_array()
                .into_iter()
                .flatten();
            held.clusters
                .extend(clusters.map(|entry| entry["cluster"].clone()));
        }
        Ok(held)
    }

    /// What its admin interface says at `path`.
    ///
    /// # Errors
    /// It does not answer, or not with JSON.
    pub async fn json(&self, path: &str) -> Result<Value, TestError> {
        Ok(serde_json::from_str(&get(self.admin, path).await?.body)?)
    }

    /// Where its listener `name` listens.
    ///
    /// # Errors
    /// The admin interface does not answer, or there is no such listener.
    pub async fn listener(&self, name: &str) -> Result<SocketAddr, TestError> {
        let reply = get(self.admin, "/listeners").await?;
        let line = reply
            .body
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix("::"));
        Ok(line.ok_or_else(|| format!("no listener {name}"))?.parse()?)
    }

    /// One of its counters or gauges.
    ///
    /// # Errors
    /// The admin interface does not answer, or there is no such number.
    pub async fn stat(&self, name: &str) -> Result<u64, TestError> {
        let reply = get(self.admin, &format!("/stats?filter=^{name}$")).await?;
        let value = reply
            .body
            .trim()
            .rsplit_once(": ")
            .map(|(_, value)| value.parse());
        Ok(value.ok_or_else(|| format!("no stat {name}"))??)
    }

    /// What it wrote into its log.
    #[must_use]
    pub fn log(&self) -> String {
        read(&self.log)
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn names<'a>(entries: &'a Value, field: &'a str) -> impl Iterator<Item = String> + 'a {
    let entries = entries.as_array().into_iter().flatten();
    entries.filter_map(move |entry| Some(entry[field]["name"].as_str()?.to_owned()))
}
