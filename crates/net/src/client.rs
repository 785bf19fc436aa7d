//! A client of the cluster, as the members' address meets it: who it is, and the way to a member.
//!
//! A client knows where members listen and which authority it trusts, not which member is where. So it
//! accepts every server with the certificate of *a* member of its cluster, and is told which member answered.

use crate::identity::{
    CERTIFICATE, IdentityError, Paths, certificates, check_usages, client_name, member_of,
    parse_client_name, private_key, provider, read, roots, server_name, unusable_key,
};
use crate::socket;
use bellwether_core::NodeId;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use webpki::{EndEntityCert, KeyUsage};

/// A connection to a member, encrypted.
pub type ClientStream = tokio_rustls::client::TlsStream<TcpStream>;

/// A client's name, its cluster and the means to prove both.
#[derive(Clone)]
pub struct ClientIdentity {
    cluster: String,
    name: String,
    tls: Arc<ClientConfig>,
}

/// Why there is no connection to a member.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    /// It cannot be reached, or not in time.
    #[error("{0}")]
    Unreachable(io::Error),
    /// It can be reached, and one of the two does not believe the other's certificate.
    #[error("TLS: {0}")]
    Tls(io::Error),
}

impl ClientIdentity {
    /// Loads three PEM files: the cluster's CA certificate, and the client's certificate and key. The
    /// certificate says which cluster it is for.
    pub fn load(ca: &Path, certificate: &Path, key: &Path) -> Result<Self, IdentityError> {
        let (texts, paths) = read([ca, certificate, key])?;
        ClientIdentity::build([&texts[0], &texts[1], &texts[2]], paths)
    }

    /// The same from texts.
    pub fn from_pem(ca: &str, certificate: &str, key: &str) -> Result<Self, IdentityError> {
        ClientIdentity::build([ca, certificate, key].map(str::as_bytes), Paths::default())
    }

    fn build([ca, certificate, key]: [&[u8]; 3], paths: Paths<'_>) -> Result<Self, IdentityError> {
        let unusable = |why: String| paths.unusable(CERTIFICATE, why);
        let roots = Arc::new(roots(ca).map_err(|why| paths.unusable(crate::identity::CA, why))?);
        let chain = certificates(certificate).map_err(unusable)?;
        let Some((first, between)) = chain.split_first() else {
            return Err(unusable("holds no certificate".to_owned()));
        };
        let (name, cluster) = {
            let certificate = EndEntityCert::try_from(first)
                .map_err(|error| unusable(format!("is not usable: {error}")))?;
            let names: Vec<_> = certificate.valid_dns_names().collect();
            let found = names.iter().find_map(|dns| parse_client_name(dns)).ok_or_else(|| {
                unusable(format!(
                    "is for `{}`, not for a client; `bellwether certs --client NAME` makes one",
                    names.join("`, `")
                ))
            })?;
            check_usages(&certificate, between, &roots, &[KeyUsage::client_auth()])
                .map_err(unusable)?;
            (found.0.to_owned(), found.1.to_owned())
        };
        let key = private_key(key, paths)?;
        let tls = Self::tls(&cluster, roots, chain, key);
        let tls = Arc::new(tls.map_err(|error| unusable_key(error, paths))?);
        Ok(ClientIdentity { cluster, name, tls })
    }

    fn tls(
        cluster: &str,
        roots: Arc<rustls::RootCertStore>,
        chain: Vec<CertificateDer<'static>>,
        key: rustls::pki_types::PrivateKeyDer<'static>,
    ) -> Result<ClientConfig, rustls::Error> {
        let inner = WebPkiServerVerifier::builder_with_provider(roots, provider())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let verifier = AnyMember { cluster: cluster.to_owned(), inner };
        let mut tls = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            // Not dangerous: it asks for the name that the certificate has, and then the usual
            // verifier checks everything, that name too.
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(chain, key)?;
        tls.resumption = Resumption::disabled();
        Ok(tls)
    }

    /// The cluster that the certificate is for.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The name in the certificate.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connects to the member of the cluster that listens there, and says which it is. Each of the two
    /// parts, reaching the address and TLS, may take this long.
    pub async fn connect(
        &self,
        address: &str,
        within: Duration,
    ) -> Result<(ClientStream, NodeId), NoConnection> {
        let late = |what: &str| io::Error::new(io::ErrorKind::TimedOut, what.to_owned());
        let tcp = timeout(within, TcpStream::connect(address)).await;
        let tcp = tcp.unwrap_or_else(|_| Err(late("no answer in time")));
        let tcp = tcp.map_err(NoConnection::Unreachable)?;
        socket::prepare(&tcp, within);
        // A placeholder for any member: the verifier looks at the certificate instead.
        let name = ServerName::try_from(format!("member.{}.bellwether", self.cluster));
        let name = name.map_err(|error| NoConnection::Tls(io::Error::other(error)))?;
        let tls = timeout(within, TlsConnector::from(self.tls.clone()).connect(name, tcp)).await;
        let tls = tls.unwrap_or_else(|_| Err(late("no greeting in time")));
        let tls = tls.map_err(|error| match error.get_ref() {
            Some(inner) if inner.is::<rustls::Error>() => NoConnection::Tls(error),
            _ => NoConnection::Unreachable(error),
        })?;
        let certificate = tls.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let id = certificate.and_then(|certificate| member_of(certificate, &self.cluster));
        let no_member = || NoConnection::Tls(io::Error::other("the certificate is not a member's"));
        Ok((tls, id.ok_or_else(no_member)?))
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientIdentity({})", client_name(&self.cluster, &self.name))
    }
}

/// Believes every member of one cluster.
#[derive(Debug)]
struct AnyMember {
    cluster: String,
    inner: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for AnyMember {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _any: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let name = member_of(certificate, &self.cluster)
            .and_then(|id| server_name(&self.cluster, id))
            .ok_or(rustls::Error::InvalidCertificate(CertificateError::NotValidForName))?;
        self.inner.verify_server_cert(certificate, between, &name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
