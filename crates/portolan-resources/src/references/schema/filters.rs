//! HTTP filters, and what they are told on single routes.

use super::listener::HTTP_FILTER;
use super::matching::TYPED_EXTENSION_CONFIG;
use super::services::{ACCESS_LOG, GRPC_SERVICE, HTTP_SERVICE, HTTP_URI, RATE_LIMIT_SERVICE};
use super::tls::SDS_SECRET;
use super::{Holds, Message, field, many, one, repeated, uses_cluster};

pub(super) const IN_ANY: &[&Message] = &[
    &ROUTER,
    &EXT_AUTHZ,
    &EXT_AUTHZ_PER_ROUTE,
    &EXT_PROC,
    &EXT_PROC_PER_ROUTE,
    &RATE_LIMIT,
    &RATE_LIMIT_QUOTA,
    &JWT_AUTHENTICATION,
    &OAUTH2,
    &OAUTH2_PER_ROUTE,
    &CREDENTIAL_INJECTOR,
    &GENERIC_CREDENTIAL,
    &OAUTH2_CREDENTIAL,
    &GCP_AUTHENTICATION,
];

static ROUTER: Message = Message {
    name: "envoy.extensions.filters.http.router.v3.Router",
    fields: &[
        many("upstream_log", 3, &ACCESS_LOG),
        many("upstream_http_filters", 8, &HTTP_FILTER),
    ],
    discovers: None,
};

static EXT_AUTHZ: Message = Message {
    name: "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
    fields: &[
        one("grpc_service", 1, &GRPC_SERVICE),
        one("http_service", 3, &EXT_AUTHZ_HTTP_SERVICE),
    ],
    discovers: None,
};

static EXT_AUTHZ_HTTP_SERVICE: Message = Message {
    name: "envoy.extensions.filters.http.ext_authz.v3.HttpService",
    fields: &[one("server_uri", 1, &HTTP_URI)],
    discovers: None,
};

static EXT_AUTHZ_PER_ROUTE: Message = Message {
    name: "envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
    fields: &[one("check_settings", 2, &CHECK_SETTINGS)],
    discovers: None,
};

static CHECK_SETTINGS: Message = Message {
    name: "envoy.extensions.filters.http.ext_authz.v3.CheckSettings",
    fields: &[
        one("grpc_service", 4, &GRPC_SERVICE),
        one("http_service", 5, &EXT_AUTHZ_HTTP_SERVICE),
    ],
    discovers: None,
};

static EXT_PROC: Message = Message {
    name: "envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
    fields: &[
        one("grpc_service", 1, &GRPC_SERVICE),
        one("http_service", 20, &EXT_PROC_HTTP_SERVICE),
    ],
    discovers: None,
};

static EXT_PROC_HTTP_SERVICE: Message = Message {
    name: "envoy.extensions.filters.http.ext_proc.v3.ExtProcHttpService",
    fields: &[one("http_service", 1, &HTTP_SERVICE)],
    discovers: None,
};

static EXT_PROC_PER_ROUTE: Message = Message {
    name: "envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute",
    fields: &[one("overrides", 2, &EXT_PROC_OVERRIDES)],
    discovers: None,
};

static EXT_PROC_OVERRIDES: Message = Message {
    name: "envoy.extensions.filters.http.ext_proc.v3.ExtProcOverrides",
    fields: &[one("grpc_service", 5, &GRPC_SERVICE)],
    discovers: None,
};

static RATE_LIMIT: Message = Message {
    name: "envoy.extensions.filters.http.ratelimit.v3.RateLimit",
    fields: &[one("rate_limit_service", 7, &RATE_LIMIT_SERVICE)],
    discovers: None,
};

static RATE_LIMIT_QUOTA: Message = Message {
    name: "envoy.extensions.filters.http.rate_limit_quota.v3.RateLimitQuotaFilterConfig",
    fields: &[one("rlqs_server", 1, &GRPC_SERVICE)],
    discovers: None,
};

static JWT_AUTHENTICATION: Message = Message {
    name: "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
    fields: &[repeated(field(
        "providers",
        1,
        Holds::Entry(&Holds::Message(&JWT_PROVIDER)),
    ))],
    discovers: None,
};

static JWT_PROVIDER: Message = Message {
    name: "envoy.extensions.filters.http.jwt_authn.v3.JwtProvider",
    fields: &[one("remote_jwks", 3, &REMOTE_JWKS)],
    discovers: None,
};

static REMOTE_JWKS: Message = Message {
    name: "envoy.extensions.filters.http.jwt_authn.v3.RemoteJwks",
    fields: &[one("http_uri", 1, &HTTP_URI)],
    discovers: None,
};

static OAUTH2: Message = Message {
    name: "envoy.extensions.filters.http.oauth2.v3.OAuth2",
    fields: &[one("config", 1, &OAUTH2_CONFIG)],
    discovers: None,
};

static OAUTH2_PER_ROUTE: Message = Message {
    name: "envoy.extensions.filters.http.oauth2.v3.OAuth2PerRoute",
    fields: &[one("config", 1, &OAUTH2_CONFIG)],
    discovers: None,
};

static OAUTH2_CONFIG: Message = Message {
    name: "envoy.extensions.filters.http.oauth2.v3.OAuth2Config",
    fields: &[
        one("token_endpoint", 1, &HTTP_URI),
        one("credentials", 3, &OAUTH2_CREDENTIALS),
    ],
    discovers: None,
};

static OAUTH2_CREDENTIALS: Message = Message {
    name: "envoy.extensions.filters.http.oauth2.v3.OAuth2Credentials",
    fields: &[
        one("token_secret", 2, &SDS_SECRET),
        one("hmac_secret", 3, &SDS_SECRET),
    ],
    discovers: None,
};

static CREDENTIAL_INJECTOR: Message = Message {
    name: "envoy.extensions.filters.http.credential_injector.v3.CredentialInjector",
    fields: &[one("credential", 3, &TYPED_EXTENSION_CONFIG)],
    discovers: None,
};

static GENERIC_CREDENTIAL: Message = Message {
    name: "envoy.extensions.http.injected_credentials.generic.v3.Generic",
    fields: &[one("credential", 1, &SDS_SECRET)],
    discovers: None,
};

static OAUTH2_CREDENTIAL: Message = Message {
    name: "envoy.extensions.http.injected_credentials.oauth2.v3.OAuth2",
    fields: &[
        one("token_endpoint", 1, &HTTP_URI),
        one("client_credentials", 3, &CLIENT_CREDENTIALS),
    ],
    discovers: None,
};

static CLIENT_CREDENTIALS: Message = Message {
    name: "envoy.extensions.http.injected_credentials.oauth2.v3.OAuth2.ClientCredentials",
    fields: &[one("client_secret", 2, &SDS_SECRET)],
    discovers: None,
};

static GCP_AUTHENTICATION: Message = Message {
    name: "envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig",
    fields: &[one("http_uri", 1, &HTTP_URI), uses_cluster("cluster", 5)],
    discovers: None,
};
