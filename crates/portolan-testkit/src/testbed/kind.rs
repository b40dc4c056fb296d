use bytes::Bytes;
use portolan_core::{Resource, ResourceBuilder, TypeUrl, well_known};
use portolan_resources::{TypedResource, build};
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::core::v3::Metadata;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::RouteConfiguration;
use portolan_types::prost_types::Value;
use portolan_types::prost_types::value::Kind as ValueKind;
use prost::DecodeError;

/// A type of resources that the testbed serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Listener,
    Cluster,
    Route,
    Endpoint,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Listener, Self::Cluster, Self::Route, Self::Endpoint];

    /// The type of this URL, or whose discovery service has this name.
    pub(super) fn named(text: &str) -> Option<Self> {
        let is_named = |kind: &Self| kind.type_url().as_str() == text || kind.short_name() == text;
        Self::ALL.into_iter().find(is_named)
    }

    /// What the type of this URL is called: by its service, or by its URL if the testbed makes none of its resources.
    pub(super) fn name_of(type_url: &str) -> &str {
        Self::named(type_url).map_or(type_url, |kind| kind.short_name())
    }

    pub(super) fn type_url(self) -> TypeUrl {
        match self {
            Self::Listener => well_known::LISTENER,
            Self::Cluster => well_known::CLUSTER,
            Self::Route => well_known::ROUTE,
            Self::Endpoint => well_known::ENDPOINT,
        }
    }

    pub(super) fn short_name(self) -> &'static str {
        match self {
            Self::Listener => "LDS",
            Self::Cluster => "CDS",
            Self::Route => "RDS",
            Self::Endpoint => "EDS",
        }
    }

    /// The least that a client accepts: it refers to no other resource, and no two get in each other's way.
    pub(super) fn minimal(self, name: &str) -> ResourceBuilder {
        match self {
            Self::Listener => {
                let routes = build::route_configuration(name, []);
                build::inline_http_listener(name, ([127, 0, 0, 1], 0).into(), routes).to_resource()
            }
            Self::Cluster => build::static_cluster(name, []).to_resource(),
            Self::Route => build::route_configuration(name, []).to_resource(),
            Self::Endpoint => build::assignment(name, []).to_resource(),
        }
    }

    /// The resource that these bytes are, as they are.
    pub(super) fn encoded(self, body: Bytes) -> Result<ResourceBuilder, DecodeError> {
        match self {
            Self::Listener => encoded::<Listener>(body),
            Self::Cluster => encoded::<Cluster>(body),
            Self::Route => encoded::<RouteConfiguration>(body),
            Self::Endpoint => encoded::<ClusterLoadAssignment>(body),
        }
    }

    /// The resource that these bytes are, with other content that a client takes as well.
    pub(super) fn revised(self, body: Bytes) -> Result<ResourceBuilder, DecodeError> {
        match self {
            Self::Listener => revised::<Listener>(body),
            Self::Cluster => revised::<Cluster>(body),
            Self::Route => revised::<RouteConfiguration>(body),
            Self::Endpoint => revised::<ClusterLoadAssignment>(body),
        }
    }
}

fn encoded<R: TypedResource + Default>(body: Bytes) -> Result<ResourceBuilder, DecodeError> {
    let message = R::decode(body.clone())?;
    let name = message.resource_name();
    Ok(Resource::builder(R::TYPE_URL, name, body))
}

fn revised<R: Revise + Default>(body: Bytes) -> Result<ResourceBuilder, DecodeError> {
    let mut message = R::decode(body)?;
    message.revise();
    Ok(message.to_resource())
}

/// Content that can be changed again and again, without a change of what a proxy does.
trait Revise: TypedResource {
    fn revise(&mut self);
}

impl Revise for Listener {
    fn revise(&mut self) {
        count(self.metadata.get_or_insert_default());
    }
}

impl Revise for Cluster {
    fn revise(&mut self) {
        count(self.metadata.get_or_insert_default());
    }
}

impl Revise for RouteConfiguration {
    fn revise(&mut self) {
        count(self.metadata.get_or_insert_default());
    }
}

impl Revise for ClusterLoadAssignment {
    /// It has no metadata. The factor, 140 by default, matters to assignments of several priorities or localities.
    fn revise(&mut self) {
        let policy = self.policy.get_or_insert_default();
        let factor = policy.overprovisioning_factor.unwrap_or(140);
        policy.overprovisioning_factor = Some(factor.checked_add(1).unwrap_or(100));
    }
}

/// Counts a revision in the metadata, which no proxy looks at unless told to.
fn count(metadata: &mut Metadata) {
    let ours = metadata
        .filter_metadata
        .entry("portolan.testbed".to_owned())
        .or_default();
    let revision = ours.fields.entry("revision".to_owned()).or_default();
    let last = match revision.kind {
        Some(ValueKind::NumberValue(number)) => number,
        _ => 0.0,
    };
    let kind = Some(ValueKind::NumberValue(last + 1.0));
    *revision = Value { kind };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(resource: ResourceBuilder) -> Bytes {
        resource.build().unwrap().body()
    }

    #[test]
    fn a_type_is_known_by_its_url_and_by_its_service() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.type_url().as_str()), Some(kind));
            assert_eq!(Kind::named(kind.short_name()), Some(kind));
        }
        assert_eq!(Kind::named(""), None);
        assert_eq!(Kind::named("SDS"), None);
    }

    #[test]
    fn a_minimal_resource_is_of_its_type_and_name() {
        for kind in Kind::ALL {
            let made = kind.minimal("a");
            assert_eq!(made.type_url(), &kind.type_url());
            let read = kind.encoded(body(made)).unwrap();
            assert_eq!(read.name().as_str(), "a");
        }
    }

    #[test]
    fn each_revision_differs_from_all_before() {
        for kind in Kind::ALL {
            let mut seen = vec![body(kind.minimal("a"))];
            for _ in 0..3 {
                let revised = kind.revised(seen.last().unwrap().clone()).unwrap();
                assert_eq!(revised.name().as_str(), "a");
                let revised = body(revised);
                assert!(!seen.contains(&revised), "{kind:?}");
                seen.push(revised);
            }
        }
    }

    #[test]
    fn given_bytes_are_kept_as_they_are() {
        // Fields out of order, and one that the schema does not have.
        let given = Bytes::from_static(b"\xfa\xff\x01\x01x\x0a\x01a");
        let resource = Kind::Cluster.encoded(given.clone()).unwrap();
        assert_eq!(resource.name().as_str(), "a");
        assert_eq!(body(resource), given);
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        for kind in Kind::ALL {
            assert!(kind.encoded(Bytes::from_static(b"\xff")).is_err());
        }
    }
}
