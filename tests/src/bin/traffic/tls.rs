//! An upstream that speaks TLS.

use std::sync::Arc;

use portolan_tests::TestError;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// What takes connections with a certificate of its own, and that certificate as PEM.
pub(crate) fn acceptor() -> Result<(TlsAcceptor, String), TestError> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    Ok((TlsAcceptor::from(Arc::new(config)), made.cert.pem()))
}
