//! What is served.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, build};
use portolan::types::Any;
use portolan::types::envoy::config::core::v3::data_source::Specifier;
use portolan::types::envoy::config::core::v3::substitution_format_string::Format;
use portolan::types::envoy::config::core::v3::{DataSource, SubstitutionFormatString};
use portolan::types::envoy::config::listener::v3::filter::ConfigType;
use portolan::types::envoy::config::listener::v3::{Filter, FilterChain, Listener};
use portolan::types::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use portolan::types::envoy::config::route::v3::route::Action;
use portolan::types::envoy::config::route::v3::{HeaderMatcher, RetryPolicy, Route, VirtualHost};
use portolan::types::envoy::extensions::filters::common::fault::v3::FaultDelay;
use portolan::types::envoy::extensions::filters::common::fault::v3::fault_delay::{
    FaultDelaySecifier, HeaderDelay,
};
use portolan::types::envoy::extensions::filters::http::fault::v3::HttpFault;
use portolan::types::envoy::extensions::filters::http::router::v3::Router;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, LocalReplyConfig, Rds, http_filter,
};
use portolan::types::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use portolan::types::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, Secret,
};
use portolan::types::envoy::r#type::v3::FractionalPercent;
use portolan::types::prost::{Message, Name};
use portolan_tests::TestError;

use crate::cluster::ClusterSpec;

/// What the answers begin with that Envoy gives by itself; its flags and its reason follow.
pub(crate) const LOCAL_REPLY: &str = "by Envoy: ";

/// The header of requests that Envoy is to try again when they fail.
pub(crate) const RETRY: &str = "x-retry";

/// All that is published, changed by the scenarios.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) listeners: BTreeMap<String, ListenerSpec>,
    pub(crate) tables: BTreeMap<String, TableSpec>,
    pub(crate) clusters: BTreeMap<String, ClusterSpec>,
    /// Certificates that upstreams are trusted with, as PEM.
    pub(crate) trusted: BTreeMap<String, String>,
}

/// A listener, and the name of its route table.
#[derive(Clone, Debug)]
pub(crate) struct ListenerSpec {
    pub(crate) address: SocketAddr,
    pub(crate) table: String,
}

/// A route table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableSpec {
    /// Prefixes and clusters.
    pub(crate) routes: Vec<(String, String)>,
    /// A virtual host without domains, so that the table is rejected.
    pub(crate) broken: bool,
}

impl World {
    pub(crate) fn fill(&self, out: &mut SnapshotBuilder) -> Result<(), TestError> {
        for (name, cluster) in &self.clusters {
            out.add(&cluster.message(name))?;
            if let Some(assignment) = cluster.assignment(name) {
                out.add(&assignment)?;
            }
        }
        for (name, table) in &self.tables {
            out.add(&build::route_configuration(name, [table.host()]))?;
        }
        for (name, listener) in &self.listeners {
            out.add(&listener.message(name))?;
        }
        for (name, certificate) in &self.trusted {
            out.add(&trusted(name, certificate))?;
        }
        Ok(())
    }

    /// The clusters of a listener, by path.
    pub(crate) fn served(&self, listener: &ListenerSpec) -> Vec<(&str, &ClusterSpec)> {
        let table = self.tables.get(&listener.table);
        let routes = table.map_or(&[][..], |table| &table.routes);
        let served = routes
            .iter()
            .filter_map(|(path, cluster)| Some((path.as_str(), self.clusters.get(cluster)?)));
        served.collect()
    }
}

impl TableSpec {
    pub(crate) fn new(routes: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            routes: routes.into_iter().collect(),
            broken: false,
        }
    }

    fn host(&self) -> VirtualHost {
        let domains = if self.broken { &[][..] } else { &["*"] };
        let routes = self.routes.iter().flat_map(|(prefix, cluster)| {
            let route = build::prefix_route(prefix, cluster);
            [retried(route.clone()), route]
        });
        VirtualHost {
            include_request_attempt_count: true,
            ..build::virtual_host("all", domains.iter().copied(), routes)
        }
    }
}

/// The same for requests that ask to be tried again when they fail.
fn retried(mut route: Route) -> Route {
    if let Some(asked) = &mut route.r#match {
        asked.headers.push(HeaderMatcher {
            name: RETRY.to_owned(),
            header_match_specifier: Some(HeaderMatchSpecifier::PresentMatch(true)),
            ..HeaderMatcher::default()
        });
    }
    if let Some(Action::Route(action)) = &mut route.action {
        action.retry_policy = Some(RetryPolicy {
            retry_on: "5xx".to_owned(),
            num_retries: Some(2),
            ..RetryPolicy::default()
        });
    }
    route
}

impl ListenerSpec {
    /// With a filter that holds requests for as long as they ask for, and answers that say why Envoy gave them.
    fn message(&self, name: &str) -> Listener {
        let delay = FaultDelay {
            percentage: Some(FractionalPercent {
                numerator: 100,
                ..FractionalPercent::default()
            }),
            fault_delay_secifier: Some(FaultDelaySecifier::HeaderDelay(HeaderDelay {})),
        };
        let fault = HttpFault {
            delay: Some(delay),
            ..HttpFault::default()
        };
        let manager = HttpConnectionManager {
            stat_prefix: name.to_owned(),
            route_specifier: Some(RouteSpecifier::Rds(Rds {
                config_source: Some(build::ads()),
                route_config_name: self.table.clone(),
            })),
            http_filters: vec![
                filter("envoy.filters.http.fault", &fault),
                filter("envoy.filters.http.router", &Router::default()),
            ],
            local_reply_config: Some(local_reply()),
            ..HttpConnectionManager::default()
        };
        let filter = Filter {
            name: "envoy.filters.network.http_connection_manager".to_owned(),
            config_type: Some(ConfigType::TypedConfig(Any::pack(&manager))),
        };
        Listener {
            name: name.to_owned(),
            address: Some(build::socket_address(self.address)),
            filter_chains: vec![FilterChain {
                filters: vec![filter],
                ..FilterChain::default()
            }],
            ..Listener::default()
        }
    }
}

fn filter<M: Message + Name>(name: &str, config: &M) -> HttpFilter {
    HttpFilter {
        name: name.to_owned(),
        config_type: Some(http_filter::ConfigType::TypedConfig(Any::pack(config))),
        ..HttpFilter::default()
    }
}

fn local_reply() -> LocalReplyConfig {
    let format = format!("{LOCAL_REPLY}%RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS%");
    LocalReplyConfig {
        body_format: Some(SubstitutionFormatString {
            format: Some(Format::TextFormatSource(inline(format))),
            ..SubstitutionFormatString::default()
        }),
        ..LocalReplyConfig::default()
    }
}

fn trusted(name: &str, certificate: &str) -> Secret {
    Secret {
        name: name.to_owned(),
        r#type: Some(Type::ValidationContext(CertificateValidationContext {
            trusted_ca: Some(inline(certificate.to_owned())),
            ..CertificateValidationContext::default()
        })),
    }
}

fn inline(text: String) -> DataSource {
    DataSource {
        specifier: Some(Specifier::InlineString(text)),
        ..DataSource::default()
    }
}
