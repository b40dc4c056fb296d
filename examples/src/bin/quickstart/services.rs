//! The model: what a person writes into `services.yaml`. Checked as a whole, so that what is served makes sense.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

/// Largest file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The services of a small fleet and how they are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Services {
    pub(crate) port: u16,
    pub(crate) endpoints: BTreeMap<String, Vec<SocketAddr>>,
    pub(crate) routes: Vec<Route>,
}

/// Requests whose path starts with `prefix` go to `service`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) prefix: String,
    pub(crate) service: String,
}

/// Why a file is not served, and where in it the reason stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    file: PathBuf,
    line: Option<u64>,
    reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Problem {}

impl Services {
    pub(crate) fn read(path: &Path) -> Result<Self, Problem> {
        let problem = |reason| Problem {
            file: path.to_owned(),
            line: None,
            reason,
        };
        let size = std::fs::metadata(path)
            .map_err(|e| problem(e.to_string()))?
            .len();
        if size > MAX_BYTES {
            return Err(problem(format!("{size} bytes are more than {MAX_BYTES}")));
        }
        let text = std::fs::read_to_string(path).map_err(|e| problem(e.to_string()))?;
        Self::parse(&text).map_err(|(location, reason)| Problem {
            file: path.to_owned(),
            line: location.map(|l| l.line()),
            reason,
        })
    }

    fn parse(text: &str) -> Result<Self, (Option<Location>, String)> {
        let options = serde_saphyr::options! { with_snippet: false };
        let file: File = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| (error.location(), first_line(&error.to_string())))?;
        let mut endpoints = BTreeMap::new();
        for service in file.services {
            let name = service.name;
            check(!name.value.is_empty(), &name, || {
                "a service needs a name".to_owned()
            })?;
            let addresses = service
                .endpoints
                .iter()
                .map(address)
                .collect::<Result<_, _>>()?;
            let twin = endpoints.insert(name.value.clone(), addresses);
            check(twin.is_none(), &name, || {
                format!("service {:?} stands here twice", name.value)
            })?;
        }
        let mut routes: Vec<Route> = Vec::new();
        for route in file.routes {
            let (prefix, service) = (route.prefix, route.service);
            check(prefix.value.starts_with('/'), &prefix, || {
                format!("prefix {:?} must start with a slash", prefix.value)
            })?;
            check(
                routes.iter().all(|r| r.prefix != prefix.value),
                &prefix,
                || format!("prefix {:?} stands here twice", prefix.value),
            )?;
            check(endpoints.contains_key(&service.value), &service, || {
                let known: Vec<_> = endpoints.keys().map(String::as_str).collect();
                format!(
                    "route {:?} goes to service {:?}, which is not among the services ({})",
                    prefix.value,
                    service.value,
                    known.join(", ")
                )
            })?;
            routes.push(Route {
                prefix: prefix.value,
                service: service.value,
            });
        }
        let port = file.listener.port;
        check(port.value != 0, &port, || {
            "the listener needs a port from 1 to 65535".to_owned()
        })?;
        Ok(Self {
            port: port.value,
            endpoints,
            routes,
        })
    }
}

fn check<T>(
    good: bool,
    at: &Spanned<T>,
    reason: impl FnOnce() -> String,
) -> Result<(), (Option<Location>, String)> {
    match good {
        true => Ok(()),
        false => Err((Some(at.referenced), reason())),
    }
}

fn address(text: &Spanned<String>) -> Result<SocketAddr, (Option<Location>, String)> {
    text.value.parse().map_err(|_| {
        let reason = format!(
            "endpoint {:?} is not an address like 127.0.0.1:80",
            text.value
        );
        (Some(text.referenced), reason)
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listener: ListenerEntry,
    #[serde(default)]
    services: Vec<ServiceEntry>,
    #[serde(default)]
    routes: Vec<RouteEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListenerEntry {
    port: Spanned<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceEntry {
    name: Spanned<String>,
    #[serde(default)]
    endpoints: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteEntry {
    prefix: Spanned<String>,
    service: Spanned<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
listener:
  port: 10000
services:
  - name: web
    endpoints: [\"127.0.0.1:9001\"]
routes:
  - prefix: /
    service: web
";

    fn refused(text: &str) -> (Option<u64>, String) {
        let (location, reason) = Services::parse(text).unwrap_err();
        (location.map(|l| l.line()), reason)
    }

    #[test]
    fn a_good_file_is_read() {
        let services = Services::parse(GOOD).unwrap();
        assert_eq!(services.port, 10000);
        assert_eq!(
            services.endpoints["web"],
            ["127.0.0.1:9001".parse().unwrap()]
        );
        assert_eq!(services.routes[0].service, "web");
    }

    #[test]
    fn the_file_that_comes_with_the_example_is_good() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("services.yaml");
        assert!(Services::read(&path).is_ok());
    }

    #[test]
    fn a_route_to_nowhere_is_refused_with_its_line() {
        let (line, reason) = refused(&GOOD.replace("service: web", "service: wbe"));
        assert_eq!(line, Some(8));
        assert!(
            reason.contains("\"wbe\"") && reason.contains("(web)"),
            "{reason}"
        );
    }

    #[test]
    fn a_name_that_stands_twice_is_refused_with_its_line() {
        let twice = GOOD.replace("routes:", "  - name: web\nroutes:");
        let (line, reason) = refused(&twice);
        assert_eq!(line, Some(6));
        assert!(reason.contains("twice"), "{reason}");
    }

    #[test]
    fn an_unknown_field_is_refused_with_its_line() {
        let (line, reason) = refused(&GOOD.replace("    endpoints:", "    endpoint:"));
        assert_eq!(line, Some(5));
        assert!(reason.contains("endpoint"), "{reason}");
    }

    #[test]
    fn broken_syntax_is_refused_with_its_line() {
        let (line, _) = refused(&GOOD.replace("[\"127.0.0.1:9001\"]", "[\"127.0.0.1:9001\""));
        assert!(line.is_some());
    }

    #[test]
    fn what_is_no_address_or_no_port_is_refused() {
        let (line, reason) = refused(&GOOD.replace("127.0.0.1:9001", "localhost"));
        assert_eq!(line, Some(5));
        assert!(reason.contains("localhost"), "{reason}");
        assert_eq!(refused(&GOOD.replace("10000", "0")).0, Some(2));
        assert_eq!(refused(&GOOD.replace("10000", "70000")).0, Some(2));
    }
}
