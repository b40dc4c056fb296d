use super::edges;

edges! {
    certificates: LISTENER r#"filter_chains { transport_socket { typed_config { [@tls.DownstreamTlsContext] { common_tls_context {
        tls_certificate_sds_secret_configs { name: "a" sds_config @ADS } tls_certificate_sds_secret_configs { name: "b" sds_config @ADS }
    } } } } }"# => [
        hard SECRET "a" "filter_chains[0].transport_socket.downstream_tls_context.common_tls_context.tls_certificate_sds_secret_configs[0].name",
        hard SECRET "b" "filter_chains[0].transport_socket.downstream_tls_context.common_tls_context.tls_certificate_sds_secret_configs[1].name",
    ];

    validation_context: LISTENER r#"filter_chains { transport_socket { typed_config { [@tls.DownstreamTlsContext] {
        common_tls_context { validation_context_sds_secret_config { name: "v" sds_config @ADS } }
    } } } }"# => [
        hard SECRET "v" "filter_chains[0].transport_socket.downstream_tls_context.common_tls_context.validation_context_sds_secret_config.name"
    ];

    combined_validation_context: LISTENER r#"filter_chains { transport_socket { typed_config { [@tls.DownstreamTlsContext] { common_tls_context {
        combined_validation_context { validation_context_sds_secret_config { name: "v" sds_config @ADS } }
    } } } } }"# => [
        hard SECRET "v" "filter_chains[0].transport_socket.downstream_tls_context.common_tls_context.combined_validation_context.validation_context_sds_secret_config.name"
    ];

    session_ticket_keys: LISTENER r#"default_filter_chain { transport_socket { typed_config { [@tls.DownstreamTlsContext] {
        session_ticket_keys_sds_secret_config { name: "k" sds_config @ADS }
    } } } }"# => [
        hard SECRET "k" "default_filter_chain.transport_socket.downstream_tls_context.session_ticket_keys_sds_secret_config.name"
    ];

    quic: LISTENER r#"filter_chains { transport_socket { typed_config { [@socket.quic.v3.QuicDownstreamTransport] { downstream_tls_context {
        common_tls_context { tls_certificate_sds_secret_configs { name: "a" sds_config @ADS } }
    } } } } }"# => [
        hard SECRET "a" "filter_chains[0].transport_socket.quic_downstream_transport.downstream_tls_context.common_tls_context.tls_certificate_sds_secret_configs[0].name"
    ];

    upstream: CLUSTER r#"name: "c" transport_socket { typed_config { [@tls.UpstreamTlsContext] { common_tls_context {
        tls_certificate_sds_secret_configs { name: "a" sds_config @ADS } validation_context_sds_secret_config { name: "v" sds_config @ADS }
    } } } }"# => [
        hard SECRET "a" "transport_socket.upstream_tls_context.common_tls_context.tls_certificate_sds_secret_configs[0].name",
        hard SECRET "v" "transport_socket.upstream_tls_context.common_tls_context.validation_context_sds_secret_config.name",
    ];

    upstream_by_match: CLUSTER r#"transport_socket_matches { name: "m" transport_socket { typed_config { [@tls.UpstreamTlsContext] {
        common_tls_context { tls_certificate_sds_secret_configs { name: "a" sds_config @ADS } }
    } } } }"# => [
        hard SECRET "a" "transport_socket_matches[0].transport_socket.upstream_tls_context.common_tls_context.tls_certificate_sds_secret_configs[0].name"
    ];

    upstream_within_another_socket: CLUSTER r#"transport_socket { typed_config { [@socket.proxy_protocol.v3.ProxyProtocolUpstreamTransport] {
        transport_socket { typed_config { [@tls.UpstreamTlsContext] {
            common_tls_context { tls_certificate_sds_secret_configs { name: "a" sds_config @ADS } }
        } } }
    } } }"# => [
        hard SECRET "a" "transport_socket.proxy_protocol_upstream_transport.transport_socket.upstream_tls_context.common_tls_context.tls_certificate_sds_secret_configs[0].name"
    ];

    secrets_of_the_bootstrap_and_of_files: CLUSTER r#"transport_socket { typed_config { [@tls.UpstreamTlsContext] { common_tls_context {
        tls_certificate_sds_secret_configs { name: "a" } validation_context_sds_secret_config { name: "v" sds_config @FILE }
    } } } }"# => [];
}
