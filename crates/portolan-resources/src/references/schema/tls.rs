//! Transport sockets, and the secrets of TLS.

use portolan_core::well_known::SECRET;

use super::{At, Discovers, Field, Message, any, many, one};

pub(super) static TRANSPORT_SOCKET: Message = Message {
    name: "envoy.config.core.v3.TransportSocket",
    fields: &[any("typed_config", 3)],
    discovers: None,
};

pub(super) const IN_ANY: &[&Message] = &[
    &UPSTREAM_TLS_CONTEXT,
    &DOWNSTREAM_TLS_CONTEXT,
    &QUIC_UPSTREAM,
    &QUIC_DOWNSTREAM,
    &STARTTLS_UPSTREAM,
    &STARTTLS_DOWNSTREAM,
    &HTTP_11_PROXY,
    &INTERNAL_UPSTREAM,
    &PROXY_PROTOCOL,
    &TAP,
    &TCP_STATS,
    &QUIC_LB,
];

static UPSTREAM_TLS_CONTEXT: Message = Message {
    name: "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    fields: &[one("common_tls_context", 1, &COMMON_TLS_CONTEXT)],
    discovers: None,
};

static DOWNSTREAM_TLS_CONTEXT: Message = Message {
    name: "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    fields: &[
        one("common_tls_context", 1, &COMMON_TLS_CONTEXT),
        one("session_ticket_keys_sds_secret_config", 5, &SDS_SECRET),
    ],
    discovers: None,
};

static COMMON_TLS_CONTEXT: Message = Message {
    name: "envoy.extensions.transport_sockets.tls.v3.CommonTlsContext",
    fields: &[
        many("tls_certificate_sds_secret_configs", 6, &SDS_SECRET),
        one("validation_context_sds_secret_config", 7, &SDS_SECRET),
        one("combined_validation_context", 8, &COMBINED_VALIDATION),
    ],
    discovers: None,
};

static COMBINED_VALIDATION: Message = Message {
    name: "envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext",
    fields: &[one("validation_context_sds_secret_config", 2, &SDS_SECRET)],
    discovers: None,
};

pub(super) static SDS_SECRET: Message = Message {
    name: "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig",
    fields: &[],
    discovers: Some(Discovers::new(
        SECRET,
        &[At("sds_config", 2)],
        &[At("name", 1)],
        "name",
    )),
};

static QUIC_UPSTREAM: Message = Message {
    name: "envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport",
    fields: &[one("upstream_tls_context", 1, &UPSTREAM_TLS_CONTEXT)],
    discovers: None,
};

static QUIC_DOWNSTREAM: Message = Message {
    name: "envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport",
    fields: &[one("downstream_tls_context", 1, &DOWNSTREAM_TLS_CONTEXT)],
    discovers: None,
};

static STARTTLS_UPSTREAM: Message = Message {
    name: "envoy.extensions.transport_sockets.starttls.v3.UpstreamStartTlsConfig",
    fields: &[one("tls_socket_config", 2, &UPSTREAM_TLS_CONTEXT)],
    discovers: None,
};

static STARTTLS_DOWNSTREAM: Message = Message {
    name: "envoy.extensions.transport_sockets.starttls.v3.StartTlsConfig",
    fields: &[one("tls_socket_config", 2, &DOWNSTREAM_TLS_CONTEXT)],
    discovers: None,
};

const fn around(number: u64) -> Field {
    one("transport_socket", number, &TRANSPORT_SOCKET)
}

static HTTP_11_PROXY: Message = Message {
    name: "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport",
    fields: &[around(1)],
    discovers: None,
};

static INTERNAL_UPSTREAM: Message = Message {
    name: "envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport",
    fields: &[around(3)],
    discovers: None,
};

static PROXY_PROTOCOL: Message = Message {
    name: "envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport",
    fields: &[around(2)],
    discovers: None,
};

static TAP: Message = Message {
    name: "envoy.extensions.transport_sockets.tap.v3.Tap",
    fields: &[around(2)],
    discovers: None,
};

static TCP_STATS: Message = Message {
    name: "envoy.extensions.transport_sockets.tcp_stats.v3.Config",
    fields: &[around(1)],
    discovers: None,
};

static QUIC_LB: Message = Message {
    name: "envoy.extensions.quic.connection_id_generator.quic_lb.v3.Config",
    fields: &[one("encryption_parameters", 5, &SDS_SECRET)],
    discovers: None,
};
