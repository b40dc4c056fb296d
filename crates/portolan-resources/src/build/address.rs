use std::net::SocketAddr;

use portolan_types::envoy::config::core::v3::address::Address as AddressKind;
use portolan_types::envoy::config::core::v3::socket_address::PortSpecifier;
use portolan_types::envoy::config::core::v3::{Address, SocketAddress};

/// A TCP address.
#[must_use]
pub fn socket_address(address: SocketAddr) -> Address {
    host_and_port(address.ip().to_string(), address.port())
}

pub(super) fn host_and_port(host: String, port: u16) -> Address {
    Address {
        address: Some(AddressKind::SocketAddress(SocketAddress {
            address: host,
            port_specifier: Some(PortSpecifier::PortValue(port.into())),
            ..SocketAddress::default()
        })),
    }
}
