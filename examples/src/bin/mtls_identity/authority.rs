//! Where the certificates come from. A company has such a thing already; this one lives as long as the program.

use rcgen::{BasicConstraints, CertificateParams, Error, IsCa, Issuer, KeyPair, SanType};
use tonic::transport::{Certificate, Identity};

/// An authority, whose word the server and the clients take.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let certificate = Certificate::from_pem(params.self_signed(&key)?.pem());
        let issuer = Issuer::new(params, key);
        Ok(Self {
            issuer,
            certificate,
        })
    }

    /// What to verify others' certificates with.
    pub(crate) fn certificate(&self) -> Certificate {
        self.certificate.clone()
    }

    /// The certificate of a name, and its key.
    pub(crate) fn issue(&self, name: SanType) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![name];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity::from_pem(certificate.pem(), key.serialize_pem()))
    }
}
