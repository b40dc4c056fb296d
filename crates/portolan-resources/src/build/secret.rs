use bytes::Bytes;
use portolan_types::envoy::config::core::v3::DataSource;
use portolan_types::envoy::config::core::v3::data_source::Specifier;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::{Secret, TlsCertificate};

/// A certificate chain and its private key, both PEM.
#[must_use]
pub fn tls_certificate(
    name: impl Into<String>,
    chain: impl Into<Bytes>,
    key: impl Into<Bytes>,
) -> Secret {
    let inline = |bytes: Bytes| {
        Some(DataSource {
            specifier: Some(Specifier::InlineBytes(bytes)),
            ..DataSource::default()
        })
    };
    Secret {
        name: name.into(),
        r#type: Some(Type::TlsCertificate(TlsCertificate {
            certificate_chain: inline(chain.into()),
            private_key: inline(key.into()),
            ..TlsCertificate::default()
        })),
    }
}
