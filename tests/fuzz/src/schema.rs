use portolan_consistency::Policy;
use portolan_consistency::schema::{Rule, Validator, Violation};
use portolan_resources::TypedResource;
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::core::v3::TypedExtensionConfig;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::Secret;
use portolan_types::envoy::service::runtime::v3::Runtime;

use crate::input::Input;

/// A body of any type, validated: what is told has bounds, what is ignored is not told, and what is allowed is allowed in
/// the words of another encoder too.
pub fn schema(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.below(8);
    let body = input.rest();
    match kind {
        0 => check::<Cluster>(body),
        1 => check::<RouteConfiguration>(body),
        2 => check::<ClusterLoadAssignment>(body),
        3 => check::<Listener>(body),
        4 => check::<ScopedRouteConfiguration>(body),
        5 => check::<Secret>(body),
        6 => check::<Runtime>(body),
        _ => check::<TypedExtensionConfig>(body),
    }
}

fn check<R: TypedResource + Default>(body: &[u8]) {
    let found = validate::<R>(&Validator::new(), body);
    assert!(found.len() <= 20);
    for violation in &found {
        // A step is a name of the schema or the key of a map, of which a part is shown; there are so many at most.
        assert!(violation.path().len() < 200_000 && violation.says().len() < 2_000);
        assert_ne!(violation.rule(), Rule::KnownType);
    }
    let deaf = Rule::ALL
        .into_iter()
        .fold(Validator::new(), |validator, rule| {
            validator.with_rule(rule, Policy::Ignore)
        });
    assert!(validate::<R>(&deaf, body).is_empty());

    let Ok(message) = R::decode(body) else {
        return;
    };
    let again = validate::<R>(&Validator::new(), &message.encode_to_vec());
    assert!(!found.is_empty() || again.is_empty(), "{again:?}");
}

fn validate<R: TypedResource>(validator: &Validator, body: &[u8]) -> Vec<Violation> {
    validator.validate(R::TYPE_URL.as_str(), body)
}
