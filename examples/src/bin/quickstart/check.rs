//! Whether what stands in the file fits together, told in the words of the file.

use portolan::consistency::{Checks, Finding, FindingKind, Severity};
use portolan::core::Snapshot;
use portolan::core::well_known::CLUSTER;
use portolan::resources::EnvoyReferences;
use portolan::translator::Translator;

use crate::services::{Reason, Services};
use crate::translate::ServicesTranslator;

/// Checks what would be served, and serves nothing. All proxies are served the same, so this is known before there are
/// any; where each group has its own, the publish loop checks each (see the example `publish_gate`).
pub(crate) fn check_together(services: &Services) -> Result<(), Vec<Reason>> {
    let mut snapshot = Snapshot::builder();
    ServicesTranslator
        .translate(services, &String::new(), &mut snapshot)
        .map_err(|error| vec![(None, error.to_string())])?;
    let report = Checks::new(EnvoyReferences::default()).check(&snapshot.build());
    let findings = report.findings().iter();
    let errors = findings.filter(|finding| finding.severity() >= Severity::Error);
    let mut reasons: Vec<_> = errors
        .flat_map(|finding| in_words_of_the_file(finding, services))
        .collect();
    reasons.sort();
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(reasons),
    }
}

/// A service is a cluster, and all routes are in one table: who edits the file need not know either.
fn in_words_of_the_file(finding: &Finding, services: &Services) -> Vec<Reason> {
    if (finding.kind(), finding.target()) != (FindingKind::Missing, Some(&CLUSTER)) {
        return vec![(None, finding.to_string())];
    }
    let known: Vec<_> = services.endpoints.keys().map(String::as_str).collect();
    let known = known.join(", ");
    let astray = services
        .routes
        .iter()
        .filter(|r| r.service == finding.value());
    let reasons = astray.map(|route| {
        let (prefix, service) = (&route.prefix, &route.service);
        let reason = format!(
            "route {prefix:?} goes to service {service:?}, which is not among the services ({known})"
        );
        (Some(route.line), reason)
    });
    reasons.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(routes: &str) -> Result<(), Vec<Reason>> {
        let file = format!(
            "listener: {{ port: 10000 }}\nservices:\n- name: web\n- name: api\nroutes:\n{routes}"
        );
        check_together(&Services::parse(&file).unwrap())
    }

    #[test]
    fn routes_to_services_that_are_there_are_served() {
        assert_eq!(check("- { prefix: /, service: web }\n"), Ok(()));
    }

    #[test]
    fn routes_to_nowhere_are_refused_all_of_them_each_with_its_line() {
        let routes = "\
- { prefix: /b, service: wbe }
- { prefix: /api, service: api }
- prefix: /a
  service: wbe
- { prefix: /c, service: other }
";
        let reason = |prefix: &str, service: &str| {
            format!(
                "route {prefix:?} goes to service {service:?}, which is not among the services (api, web)"
            )
        };
        let expected = vec![
            (Some(6), reason("/b", "wbe")),
            (Some(9), reason("/a", "wbe")),
            (Some(10), reason("/c", "other")),
        ];
        assert_eq!(check(routes), Err(expected));
    }

    #[test]
    fn what_cannot_be_a_resource_is_refused() {
        let file = "listener: { port: 1 }\nservices: [{ name: 'xdstp://' }]\n";
        let reasons = check_together(&Services::parse(file).unwrap()).unwrap_err();
        assert!(reasons[0].1.contains("xdstp://"), "{reasons:?}");
    }
}
