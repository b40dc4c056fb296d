use portolan_core::{Resource, well_known};
use portolan_types::envoy::config::core::v3::Address;
use portolan_types::envoy::config::core::v3::address::Address as Kind;
use portolan_types::envoy::config::core::v3::socket_address::{PortSpecifier, Protocol};
use portolan_types::envoy::config::listener::v3::Listener;
use prost::Message;

/// The name that stands in a resource's body; `None` where the type has none there, or the body is no message.
///
/// It should be the resource's own: state-of-the-world clients see nothing else (C-379). Virtual hosts and locality
/// endpoints are named by their keys alone.
#[must_use]
pub fn inner_name(resource: &Resource) -> Option<String> {
    // In each of these it is the first field.
    let named = [
        well_known::CLUSTER,
        well_known::ENDPOINT,
        well_known::EXTENSION_CONFIG,
        well_known::LISTENER,
        well_known::ROUTE,
        well_known::RUNTIME,
        well_known::SCOPED_ROUTE,
        well_known::SECRET,
    ];
    if !named.contains(resource.type_url()) {
        return None;
    }
    let name = crate::references::first_field(&resource.body())?;
    String::from_utf8(name).ok()
}

/// The addresses that a listener binds, such as `tcp 0.0.0.0:8080`: equal where two listeners cannot both have them.
///
/// Left out are those that the system chooses (port 0). That a listener is not to bind its address (`bind_to_port` is off)
/// makes no difference: Envoy takes no two listeners of one address. A body that is no listener binds none.
#[must_use]
pub fn bound_addresses(listener: &Resource) -> Vec<String> {
    if *listener.type_url() != well_known::LISTENER {
        return Vec::new();
    }
    let Ok(listener) = Listener::decode(listener.body()) else {
        return Vec::new();
    };
    let more = listener.additional_addresses.iter();
    let more = more.filter_map(|additional| additional.address.as_ref());
    let addresses = listener.address.iter().chain(more);
    addresses.filter_map(bound).collect()
}

fn bound(address: &Address) -> Option<String> {
    match address.address.as_ref()? {
        Kind::SocketAddress(socket) => {
            let port = match socket.port_specifier.as_ref()? {
                PortSpecifier::PortValue(0) => return None,
                PortSpecifier::PortValue(port) => port.to_string(),
                PortSpecifier::NamedPort(name) => name.clone(),
            };
            let protocol = match socket.protocol() {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
            };
            let place = match socket.network_namespace_filepath.as_str() {
                "" => String::new(),
                namespace => format!(" in {namespace}"),
            };
            let host = match socket.address.contains(':') {
                true => format!("[{}]", socket.address),
                false => socket.address.clone(),
            };
            Some(format!("{protocol} {host}:{port}{place}"))
        }
        Kind::Pipe(pipe) => Some(format!("pipe {}", pipe.path)),
        Kind::EnvoyInternalAddress(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::well_known::{CLUSTER, LISTENER, VIRTUAL_HOST};
    use portolan_types::envoy::config::listener::v3::AdditionalAddress;

    use super::*;
    use crate::{TypedResource, build};

    #[test]
    fn the_name_in_a_body_is_what_clients_see() {
        let cluster = build::eds_cluster("web").encode_to_vec();
        let keyed = |url| {
            Resource::builder(url, "key", cluster.clone())
                .build()
                .unwrap()
        };
        assert_eq!(inner_name(&keyed(CLUSTER)).as_deref(), Some("web"));
        assert_eq!(inner_name(&keyed(VIRTUAL_HOST)), None);
        let broken = Resource::builder(CLUSTER, "key", &b"\xff"[..]);
        assert_eq!(inner_name(&broken.build().unwrap()), None);
    }

    #[test]
    fn a_listener_has_all_its_addresses_but_those_that_nobody_fixed() {
        let bound = |listener: &Listener| bound_addresses(&listener.to_resource().build().unwrap());
        let address = |text: &str| {
            let listener = build::http_listener("l", text.parse().unwrap(), "r");
            listener.address
        };
        let mut listener = build::http_listener("l", "[::1]:443".parse().unwrap(), "r");
        listener.additional_addresses = ["10.0.0.1:443", "0.0.0.0:0"]
            .map(|text| AdditionalAddress {
                address: address(text),
                ..AdditionalAddress::default()
            })
            .into();
        assert_eq!(bound(&listener), ["tcp [::1]:443", "tcp 10.0.0.1:443"]);
        listener.bind_to_port = Some(false);
        assert_eq!(bound(&listener), ["tcp [::1]:443", "tcp 10.0.0.1:443"]);
        let broken = Resource::builder(LISTENER, "l", &b"\xff"[..]);
        assert!(bound_addresses(&broken.build().unwrap()).is_empty());
    }
}
