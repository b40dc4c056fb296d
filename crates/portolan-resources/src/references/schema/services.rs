//! Services that Envoy itself calls: access logs, tracing, rate limits. It does its work without them.

use super::{Message, any, one, uses_cluster};

pub(super) static GRPC_SERVICE: Message = Message {
    name: "envoy.config.core.v3.GrpcService",
    fields: &[one("envoy_grpc", 1, &ENVOY_GRPC)],
    discovers: None,
};

static ENVOY_GRPC: Message = Message {
    name: "envoy.config.core.v3.GrpcService.EnvoyGrpc",
    fields: &[uses_cluster("cluster_name", 1)],
    discovers: None,
};

pub(super) static HTTP_URI: Message = Message {
    name: "envoy.config.core.v3.HttpUri",
    fields: &[uses_cluster("cluster", 2)],
    discovers: None,
};

pub(super) static HTTP_SERVICE: Message = Message {
    name: "envoy.config.core.v3.HttpService",
    fields: &[one("http_uri", 1, &HTTP_URI)],
    discovers: None,
};

pub(super) static RATE_LIMIT_SERVICE: Message = Message {
    name: "envoy.config.ratelimit.v3.RateLimitServiceConfig",
    fields: &[one("grpc_service", 2, &GRPC_SERVICE)],
    discovers: None,
};

pub(super) static ACCESS_LOG: Message = Message {
    name: "envoy.config.accesslog.v3.AccessLog",
    fields: &[any("typed_config", 4)],
    discovers: None,
};

pub(super) const IN_ANY: &[&Message] = &[
    &HTTP_GRPC_ACCESS_LOG,
    &TCP_GRPC_ACCESS_LOG,
    &OPEN_TELEMETRY_ACCESS_LOG,
    &FLUENTD_ACCESS_LOG,
    &ZIPKIN,
    &DATADOG,
    &LIGHTSTEP,
    &OPEN_TELEMETRY,
    &SKY_WALKING,
    &FLUENTD,
];

static COMMON_GRPC_ACCESS_LOG: Message = Message {
    name: "envoy.extensions.access_loggers.grpc.v3.CommonGrpcAccessLogConfig",
    fields: &[one("grpc_service", 2, &GRPC_SERVICE)],
    discovers: None,
};

static HTTP_GRPC_ACCESS_LOG: Message = Message {
    name: "envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig",
    fields: &[one("common_config", 1, &COMMON_GRPC_ACCESS_LOG)],
    discovers: None,
};

static TCP_GRPC_ACCESS_LOG: Message = Message {
    name: "envoy.extensions.access_loggers.grpc.v3.TcpGrpcAccessLogConfig",
    fields: &[one("common_config", 1, &COMMON_GRPC_ACCESS_LOG)],
    discovers: None,
};

static OPEN_TELEMETRY_ACCESS_LOG: Message = Message {
    name: "envoy.extensions.access_loggers.open_telemetry.v3.OpenTelemetryAccessLogConfig",
    fields: &[
        one("common_config", 1, &COMMON_GRPC_ACCESS_LOG),
        one("http_service", 8, &HTTP_SERVICE),
        one("grpc_service", 9, &GRPC_SERVICE),
    ],
    discovers: None,
};

static FLUENTD_ACCESS_LOG: Message = Message {
    name: "envoy.extensions.access_loggers.fluentd.v3.FluentdAccessLogConfig",
    fields: &[uses_cluster("cluster", 1)],
    discovers: None,
};

static ZIPKIN: Message = Message {
    name: "envoy.config.trace.v3.ZipkinConfig",
    fields: &[
        uses_cluster("collector_cluster", 1),
        one("collector_service", 9, &HTTP_SERVICE),
    ],
    discovers: None,
};

static DATADOG: Message = Message {
    name: "envoy.config.trace.v3.DatadogConfig",
    fields: &[uses_cluster("collector_cluster", 1)],
    discovers: None,
};

static LIGHTSTEP: Message = Message {
    name: "envoy.config.trace.v3.LightstepConfig",
    fields: &[uses_cluster("collector_cluster", 1)],
    discovers: None,
};

static OPEN_TELEMETRY: Message = Message {
    name: "envoy.config.trace.v3.OpenTelemetryConfig",
    fields: &[
        one("grpc_service", 1, &GRPC_SERVICE),
        one("http_service", 3, &HTTP_SERVICE),
    ],
    discovers: None,
};

static SKY_WALKING: Message = Message {
    name: "envoy.config.trace.v3.SkyWalkingConfig",
    fields: &[one("grpc_service", 1, &GRPC_SERVICE)],
    discovers: None,
};

static FLUENTD: Message = Message {
    name: "envoy.extensions.tracers.fluentd.v3.FluentdConfig",
    fields: &[uses_cluster("cluster", 1)],
    discovers: None,
};
