//! HTTP filters, as extension configurations: what they refer to they refer to in a listener too.

use super::edges;

edges! {
    ext_authz: EXTENSION_CONFIG r#"typed_config { [@http.ext_authz.v3.ExtAuthz] { @GRPC } }"# => [
        soft CLUSTER "c" "ext_authz.grpc_service.envoy_grpc.cluster_name"
    ];

    ext_authz_over_http: EXTENSION_CONFIG r#"typed_config { [@http.ext_authz.v3.ExtAuthz] { http_service { server_uri { cluster: "c" } } } }"# => [
        soft CLUSTER "c" "ext_authz.http_service.server_uri.cluster"
    ];

    ext_proc: EXTENSION_CONFIG r#"typed_config { [@http.ext_proc.v3.ExternalProcessor] { @GRPC } }"# => [
        soft CLUSTER "c" "external_processor.grpc_service.envoy_grpc.cluster_name"
    ];

    ext_proc_over_http: EXTENSION_CONFIG r#"typed_config { [@http.ext_proc.v3.ExternalProcessor] { http_service { http_service @HTTP } } }"# => [
        soft CLUSTER "c" "external_processor.http_service.http_service.http_uri.cluster"
    ];

    rate_limit: EXTENSION_CONFIG r#"typed_config { [@http.ratelimit.v3.RateLimit] { rate_limit_service { @GRPC } } }"# => [
        soft CLUSTER "c" "rate_limit.rate_limit_service.grpc_service.envoy_grpc.cluster_name"
    ];

    rate_limit_quota: EXTENSION_CONFIG r#"typed_config { [@http.rate_limit_quota.v3.RateLimitQuotaFilterConfig] { rlqs_server { envoy_grpc { cluster_name: "c" } } } }"# => [
        soft CLUSTER "c" "rate_limit_quota_filter_config.rlqs_server.envoy_grpc.cluster_name"
    ];

    keys_of_tokens: EXTENSION_CONFIG r#"typed_config { [@http.jwt_authn.v3.JwtAuthentication] { providers { key: "a.b" value { remote_jwks @HTTP } } } }"# => [
        soft CLUSTER "c" "jwt_authentication.providers[\"a.b\"].remote_jwks.http_uri.cluster"
    ];

    oauth2: EXTENSION_CONFIG r#"typed_config { [@http.oauth2.v3.OAuth2] { config {
        token_endpoint { cluster: "c" }
        credentials { token_secret { name: "t" sds_config @ADS } hmac_secret { name: "h" sds_config @ADS } }
    } } }"# => [
        soft CLUSTER "c" "oauth2.config.token_endpoint.cluster",
        hard SECRET "t" "oauth2.config.credentials.token_secret.name",
        hard SECRET "h" "oauth2.config.credentials.hmac_secret.name",
    ];

    injected_credential: EXTENSION_CONFIG r#"typed_config { [@http.credential_injector.v3.CredentialInjector] { credential { name: "g" typed_config {
        [type.googleapis.com/envoy.extensions.http.injected_credentials.generic.v3.Generic] { credential { name: "s" sds_config @ADS } }
    } } } }"# => [hard SECRET "s" "credential_injector.credential.generic.credential.name"];

    filters_and_logs_of_the_router: EXTENSION_CONFIG r#"typed_config { [@http.router.v3.Router] {
        upstream_log { typed_config { [@log.grpc.v3.HttpGrpcAccessLogConfig] { common_config { @GRPC } } } }
        upstream_http_filters { name: "e" config_discovery { config_source @ADS } }
    } }"# => [
        soft CLUSTER "c" "router.upstream_log[0].http_grpc_access_log_config.common_config.grpc_service.envoy_grpc.cluster_name",
        hard EXTENSION_CONFIG "e" "router.upstream_http_filters[0].config_discovery",
    ];

    filter_that_is_chosen_by_a_matcher: EXTENSION_CONFIG r#"typed_config { [type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] {
        extension_config { name: "x" typed_config { [@http.ext_authz.v3.ExtAuthz] { @GRPC } } }
        xds_matcher { matcher_tree { exact_match_map { map { key: "k" value { action { name: "composite" typed_config {
            [@http.composite.v3.ExecuteFilterAction] { dynamic_config { name: "e" config_discovery { config_source @ADS } } }
        } } } } } } }
    } }"# => [
        soft CLUSTER "c" "extension_with_matcher.extension_config.ext_authz.grpc_service.envoy_grpc.cluster_name",
        hard EXTENSION_CONFIG "e" "extension_with_matcher.xds_matcher.matcher_tree.exact_match_map.map[\"k\"].action.execute_filter_action.dynamic_config.config_discovery",
    ];
}
