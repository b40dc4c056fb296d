use portolan_core::{TypeUrl, well_known};
use portolan_engine::Variant;

/// What a service is called, which methods it has, and what its streams carry.
///
/// The services of the protocol are the types of this module. A service of your own, for a type of your own, is as
/// good as they are; give it the name and the methods that its protobuf definition has.
///
/// ```
/// use portolan_core::TypeUrl;
/// use portolan_server::XdsServer;
/// use portolan_server::service::ServiceKind;
/// use tonic::service::Routes;
///
/// #[derive(Debug)]
/// enum Widgets {}
///
/// impl ServiceKind for Widgets {
///     const NAME: &'static str = "acme.v1.WidgetDiscoveryService";
///     const TYPE_URL: Option<TypeUrl> = Some(TypeUrl::from_static("type.googleapis.com/acme.v1.Widget"));
///     const STREAM: Option<&'static str> = Some("StreamWidgets");
/// }
///
/// fn routes(xds: &XdsServer) -> Routes {
///     xds.routes().add_service(xds.service::<Widgets>())
/// }
/// ```
pub trait ServiceKind: Send + Sync + 'static {
    /// Full name of the service, package included.
    const NAME: &'static str;

    /// The type that it serves, which requests need not name (C-037); `None` for any type.
    const TYPE_URL: Option<TypeUrl>;

    /// Name of the method for state of the world. Default: it has none.
    const STREAM: Option<&'static str> = None;

    /// Name of the method for delta. Default: it has none.
    const DELTA: Option<&'static str> = None;

    /// Name of the unary method. Default: it has none.
    const FETCH: Option<&'static str> = None;
}

/// The methods that a discovery service can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// State of the world, such as `StreamClusters`.
    Stream,
    /// Incremental, such as `DeltaClusters`.
    Delta,
    /// One request and one answer, such as `FetchClusters` (C-049).
    Fetch,
}

impl Method {
    /// The variant of the protocol whose messages the method exchanges.
    #[must_use]
    pub const fn variant(self) -> Variant {
        match self {
            Self::Stream | Self::Fetch => Variant::Sotw,
            Self::Delta => Variant::Delta,
        }
    }
}

/// A [`ServiceKind`] as a value.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) name: &'static str,
    pub(crate) type_url: Option<TypeUrl>,
    methods: [(Option<&'static str>, Method); 3],
}

impl Description {
    pub(crate) fn of<K: ServiceKind>() -> Self {
        Self {
            name: K::NAME,
            type_url: K::TYPE_URL,
            methods: [
                (K::STREAM, Method::Stream),
                (K::DELTA, Method::Delta),
                (K::FETCH, Method::Fetch),
            ],
        }
    }

    /// The method that the path of a request stands for.
    pub(crate) fn method(&self, path: &str) -> Option<Method> {
        let (service, name) = path.strip_prefix('/')?.split_once('/')?;
        let mut methods = self.methods.iter();
        let found = methods.find(|(method, _)| service == self.name && *method == Some(name))?;
        Some(found.1)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $service:literal $(of $type_url:ident)? {
        $($method:ident $name:literal)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[non_exhaustive]
            pub enum $kind {}

            impl ServiceKind for $kind {
                const NAME: &'static str = $service;
                const TYPE_URL: Option<TypeUrl> = kinds!(@type $($type_url)?);
                $(const $method: Option<&'static str> = Some($name);)*
            }
        )*

        /// The names of the services of the protocol.
        #[cfg(any(feature = "health", feature = "reflection"))]
        pub(crate) const NAMES: &[&str] = &[$($kind::NAME),*];

        /// All services of the protocol.
        pub(crate) fn all(server: &crate::XdsServer) -> tonic::service::Routes {
            let mut routes = tonic::service::Routes::builder();
            $(routes.add_service(server.service::<$kind>());)*
            routes.routes()
        }
    };
    (@type) => { None };
    (@type $type_url:ident) => { Some(well_known::$type_url) };
}

kinds! {
    /// The aggregated discovery service: all types on one stream (C-023, C-024).
    Ads: "envoy.service.discovery.v3.AggregatedDiscoveryService" {
        STREAM "StreamAggregatedResources"
        DELTA "DeltaAggregatedResources"
    }
    /// Listeners (C-025).
    Lds: "envoy.service.listener.v3.ListenerDiscoveryService" of LISTENER {
        STREAM "StreamListeners"
        DELTA "DeltaListeners"
        FETCH "FetchListeners"
    }
    /// Route tables (C-026).
    Rds: "envoy.service.route.v3.RouteDiscoveryService" of ROUTE {
        STREAM "StreamRoutes"
        DELTA "DeltaRoutes"
        FETCH "FetchRoutes"
    }
    /// Scoped routes (C-027).
    Srds: "envoy.service.route.v3.ScopedRoutesDiscoveryService" of SCOPED_ROUTE {
        STREAM "StreamScopedRoutes"
        DELTA "DeltaScopedRoutes"
        FETCH "FetchScopedRoutes"
    }
    /// Virtual hosts, delta only (C-028).
    Vhds: "envoy.service.route.v3.VirtualHostDiscoveryService" of VIRTUAL_HOST {
        DELTA "DeltaVirtualHosts"
    }
    /// Clusters (C-029).
    Cds: "envoy.service.cluster.v3.ClusterDiscoveryService" of CLUSTER {
        STREAM "StreamClusters"
        DELTA "DeltaClusters"
        FETCH "FetchClusters"
    }
    /// Endpoints of clusters (C-030).
    Eds: "envoy.service.endpoint.v3.EndpointDiscoveryService" of ENDPOINT {
        STREAM "StreamEndpoints"
        DELTA "DeltaEndpoints"
        FETCH "FetchEndpoints"
    }
    /// Endpoints of localities, delta only (C-031).
    Leds: "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService" of LOCALITY_ENDPOINT {
        DELTA "DeltaLocalityEndpoints"
    }
    /// Secrets (C-032).
    Sds: "envoy.service.secret.v3.SecretDiscoveryService" of SECRET {
        STREAM "StreamSecrets"
        DELTA "DeltaSecrets"
        FETCH "FetchSecrets"
    }
    /// Runtime layers (C-033).
    Rtds: "envoy.service.runtime.v3.RuntimeDiscoveryService" of RUNTIME {
        STREAM "StreamRuntime"
        DELTA "DeltaRuntime"
        FETCH "FetchRuntime"
    }
    /// Extension configurations (C-034).
    Ecds: "envoy.service.extension.v3.ExtensionConfigDiscoveryService" of EXTENSION_CONFIG {
        STREAM "StreamExtensionConfigs"
        DELTA "DeltaExtensionConfigs"
        FETCH "FetchExtensionConfigs"
    }
    /// The rate limit service's configuration, state of the world only.
    Rls: "ratelimit.service.ratelimit.v3.RateLimitConfigDiscoveryService" of RATE_LIMIT_CONFIG {
        STREAM "StreamRlsConfigs"
        FETCH "FetchRlsConfigs"
    }
}
