use tonic_reflection::server::Builder;

use crate::service::NAMES;

/// Starts a gRPC reflection service that names the discovery services and knows the whole schema of the xDS APIs, so
/// that tools such as grpcurl can call them and read what they answer.
///
/// The schema of resources of your own can be registered beside it. Tools ask for version `v1`; older ones for
/// `v1alpha`.
///
/// ```
/// use portolan_server::{XdsServer, reflection};
/// use tonic::service::Routes;
///
/// fn routes(xds: &XdsServer) -> Result<Routes, tonic_reflection::server::Error> {
///     Ok(xds.routes().add_service(reflection().build_v1()?))
/// }
/// ```
///
/// Anybody who can connect can read it, but it tells no more than what is public of the API. A call of it lasts for as
/// long as its client pleases, which [`Serve::with_grace`](crate::transport::Serve::with_grace) bounds when a server
/// shuts down.
#[must_use]
pub fn reflection() -> Builder<'static> {
    let builder = Builder::configure()
        .register_encoded_file_descriptor_set(portolan_types::FILE_DESCRIPTOR_SET);
    NAMES
        .iter()
        .fold(builder, |builder, name| builder.with_service_name(*name))
}
