//! The model: what a person writes into `services.yaml`. Each entry is checked as it is read, and then whether they fit
//! together, so that what is served makes sense.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use crate::check::check_together;

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
    /// Where `service` stands in the file.
    pub(crate) line: u64,
}

/// Why a file is not served: at least one problem.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problems(Vec<Problem>);

/// What is wrong with a file, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    file: PathBuf,
    line: Option<u64>,
    reason: String,
}

/// What is wrong, and on which line, if it is on one.
pub(crate) type Reason = (Option<u64>, String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Problems {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems: Vec<_> = self.iter().map(ToString::to_string).collect();
        f.write_str(&problems.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl Services {
    pub(crate) fn read(path: &Path) -> Result<Self, Problems> {
        let problems = |reasons: Vec<Reason>| {
            let problems = reasons.into_iter().map(|(line, reason)| Problem {
                file: path.to_owned(),
                line,
                reason,
            });
            Problems(problems.collect())
        };
        let text = read_text(path).map_err(|reason| problems(vec![(None, reason)]))?;
        let services = Self::parse(&text)
            .map_err(|(at, reason)| problems(vec![(at.map(|at| at.line()), reason)]))?;
        check_together(&services).map_err(problems)?;
        Ok(services)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, (Option<Location>, String)> {
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
            routes.push(Route {
                prefix: prefix.value,
                line: service.referenced.line(),
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

fn read_text(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("{size} bytes are more than {MAX_BYTES}"));
    }
    std::fs::read_to_string(path).map_err(|e| e.to_string())
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
