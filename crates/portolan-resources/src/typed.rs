use portolan_core::{
    Resource, ResourceBuilder, ResourceError, SnapshotBuilder, TypeUrl, well_known,
};
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::core::v3::TypedExtensionConfig;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::Secret;
use portolan_types::envoy::service::runtime::v3::Runtime;
use prost::Message;

/// A message that is a resource: its type, and which of its fields is its name.
///
/// Implement it for a message of your own to use it like Envoy's. Virtual hosts and locality endpoints have no
/// implementation: their names do not stand in the message.
pub trait TypedResource: Message + Sized {
    /// The type.
    const TYPE_URL: TypeUrl;

    /// The name. An empty one is refused when the resource is built.
    fn resource_name(&self) -> &str;

    /// The message as a resource: encoded, and open for a version, a TTL and the like.
    ///
    /// Equal messages encode equally, since maps are ordered, so they have equal versions.
    fn to_resource(&self) -> ResourceBuilder {
        Resource::builder(Self::TYPE_URL, self.resource_name(), self.encode_to_vec())
    }
}

macro_rules! typed {
    ($($message:ty => $url:ident by $field:ident;)*) => {$(
        impl TypedResource for $message {
            const TYPE_URL: TypeUrl = well_known::$url;

            fn resource_name(&self) -> &str {
                &self.$field
            }
        }
    )*};
}

typed! {
    Cluster => CLUSTER by name;
    ClusterLoadAssignment => ENDPOINT by cluster_name;
    Listener => LISTENER by name;
    RouteConfiguration => ROUTE by name;
    ScopedRouteConfiguration => SCOPED_ROUTE by name;
    Secret => SECRET by name;
    Runtime => RUNTIME by name;
    TypedExtensionConfig => EXTENSION_CONFIG by name;
}

/// Puts messages into a snapshot.
pub trait AddTyped {
    /// Adds a message that must be new to the snapshot.
    ///
    /// # Errors
    /// [`ResourceError::Duplicate`] where a resource of that type and name was added before,
    /// [`ResourceError::Unnamed`] where the message has no name.
    fn add<R: TypedResource>(&mut self, message: &R) -> Result<&mut Self, ResourceError>;
}

impl AddTyped for SnapshotBuilder {
    fn add<R: TypedResource>(&mut self, message: &R) -> Result<&mut Self, ResourceError> {
        self.insert(message.to_resource())
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::Snapshot;
    use prost::Name;

    use super::*;

    #[test]
    fn each_message_has_the_url_that_protobuf_gives_it() {
        fn check<R: TypedResource + Name>() {
            assert_eq!(R::TYPE_URL.as_str(), R::type_url());
        }
        check::<Cluster>();
        check::<ClusterLoadAssignment>();
        check::<Listener>();
        check::<RouteConfiguration>();
        check::<ScopedRouteConfiguration>();
        check::<Secret>();
        check::<Runtime>();
        check::<TypedExtensionConfig>();
    }

    #[test]
    fn c379_a_resource_has_the_name_that_stands_in_its_message() {
        fn check<R: TypedResource + Default>(name_of: fn(&mut R) -> &mut String) {
            let mut message = R::default();
            "own".clone_into(name_of(&mut message));
            let resource = message.to_resource().build().unwrap();
            assert_eq!(&**resource.name(), "own");
            let mut sent = R::decode(resource.body()).unwrap();
            assert_eq!(name_of(&mut sent), "own");
        }
        check::<Cluster>(|message| &mut message.name);
        check::<ClusterLoadAssignment>(|message| &mut message.cluster_name);
        check::<Listener>(|message| &mut message.name);
        check::<RouteConfiguration>(|message| &mut message.name);
        check::<ScopedRouteConfiguration>(|message| &mut message.name);
        check::<Secret>(|message| &mut message.name);
        check::<Runtime>(|message| &mut message.name);
        check::<TypedExtensionConfig>(|message| &mut message.name);
    }

    #[test]
    fn a_message_without_a_name_is_refused() {
        let error = Snapshot::builder().add(&Cluster::default()).unwrap_err();
        assert!(matches!(error, ResourceError::Unnamed { .. }));
    }
}
