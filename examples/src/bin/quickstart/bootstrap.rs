//! The bootstrap that tells an Envoy where its control plane is.

use std::net::SocketAddr;

/// The bootstrap for a control plane at `address`: everything is discovered on one delta stream.
pub(crate) fn yaml(address: SocketAddr) -> String {
    format!(
        "\
node:
  id: quickstart
  cluster: quickstart
admin:
  address: {{ socket_address: {{ address: 127.0.0.1, port_value: 9901 }} }}
dynamic_resources:
  ads_config:
    api_type: DELTA_GRPC
    transport_api_version: V3
    set_node_on_first_message_only: true
    grpc_services:
    - envoy_grpc: {{ cluster_name: control_plane }}
  cds_config: {{ resource_api_version: V3, ads: {{}} }}
  lds_config: {{ resource_api_version: V3, ads: {{}} }}
static_resources:
  clusters:
  - name: control_plane
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config:
          http2_protocol_options: {{}}
    load_assignment:
      cluster_name: control_plane
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {{ socket_address: {{ address: \"{}\", port_value: {} }} }}
",
        address.ip(),
        address.port()
    )
}

/// Says how to start an Envoy with it.
pub(crate) fn explain(bootstrap: &str) {
    println!("\nsave this as envoy.yaml:\n\n{bootstrap}");
    println!("and start: envoy -c envoy.yaml");
    println!("without an Envoy at hand, run with --demo-client to see the protocol at work\n");
}
