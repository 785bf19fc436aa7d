//! A member's identity: what [`identity`](crate::identity) says of its certificate, checked, and the
//! two sides of TLS with it.

#![expect(clippy::disallowed_types, reason = "a certificate expires by the calendar")]

use super::stats::lock;
use crate::identity::{
    CA, CERTIFICATE, Files, IdentityError, Paths, certificates, check_cluster, check_usages,
    member_name, member_of, parse_client_name, private_key, provider, read, roots, server_name,
    unusable_key,
};
use bellwether_core::NodeId;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use webpki::{EndEntityCert, KeyUsage};

/// A process's number, its cluster and the means to prove both. Clones share the certificate: when one of them
/// [adopts](Identity::adopt) another certificate, all of them have it.
#[derive(Clone)]
pub struct Identity {
    cluster: String,
    id: NodeId,
    credentials: Arc<Mutex<Credentials>>,
}

/// A certificate with its key, ready for both sides of TLS.
#[derive(Clone)]
struct Credentials {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    expires: SystemTime,
}

impl Identity {
    /// Loads three PEM files: the cluster's CA certificate, and the member's certificate and key.
    pub fn load(
        cluster: &str,
        id: NodeId,
        ca: &Path,
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, IdentityError> {
        let (texts, paths) = read([ca, certificate, key])?;
        Identity::build(cluster, id, [&texts[0], &texts[1], &texts[2]], paths)
    }

    /// The same from texts.
    pub fn from_pem(
        cluster: &str,
        id: NodeId,
        ca: &str,
        certificate: &str,
        key: &str,
    ) -> Result<Self, IdentityError> {
        let texts = [ca, certificate, key].map(str::as_bytes);
        Identity::build(cluster, id, texts, Paths::default())
    }

    fn build(
        cluster: &str,
        id: NodeId,
        [ca, certificate, key]: [&[u8]; 3],
        paths: Paths<'_>,
    ) -> Result<Self, IdentityError> {
        check_cluster(cluster)?;
        let roots = roots(ca).map_err(|why| paths.unusable(CA, why))?;
        let chain = certificates(certificate).map_err(|why| paths.unusable(CERTIFICATE, why))?;
        let expires = check_certificate(&chain, &roots, cluster, id)
            .map_err(|why| paths.unusable(CERTIFICATE, why))?;
        let key = private_key(key, paths)?;
        let (server, client) =
            tls(roots, chain, key).map_err(|error| unusable_key(error, paths))?;
        let credentials =
            Credentials { server: Arc::new(server), client: Arc::new(client), expires };
        let credentials = Arc::new(Mutex::new(credentials));
        Ok(Identity { cluster: cluster.to_owned(), id, credentials })
    }

    /// Takes over the certificate of another identity of the same process. New connections use it on both
    /// sides; those that exist stay as they are.
    ///
    /// # Panics
    ///
    /// If the other is of another process or cluster: a process does not become another one.
    pub fn adopt(&self, newer: &Identity) {
        assert_eq!((&self.cluster, self.id), (&newer.cluster, newer.id), "of the same process");
        let newer = lock(&newer.credentials).clone();
        *lock(&self.credentials) = newer;
    }

    /// When its certificate ends, or the first of those between it and the authority.
    pub fn expires(&self) -> SystemTime {
        lock(&self.credentials).expires
    }

    /// The cluster's name.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The process's number.
    pub fn id(&self) -> NodeId {
        self.id
    }

    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        lock(&self.credentials).server.clone()
    }

    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        lock(&self.credentials).client.clone()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", member_name(&self.cluster, self.id))
    }
}

impl Files {
    /// Loads those of a member.
    pub fn load(&self, cluster: &str, id: NodeId) -> Result<Identity, IdentityError> {
        Identity::load(cluster, id, &self.ca, &self.certificate, &self.key)
    }
}

/// The client of this cluster whose certificate this is, if it is one and no member's.
pub(crate) fn client_of(certificate: &CertificateDer<'_>, cluster: &str) -> Option<String> {
    if member_of(certificate, cluster).is_some() {
        return None;
    }
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let mut names = certificate.valid_dns_names().filter_map(parse_client_name);
    names.find(|(_, theirs)| *theirs == cluster).map(|(name, _)| name.to_owned())
}

/// Whether a certificate is the one of this member of this cluster.
pub(crate) fn speaks_for(certificate: &CertificateDer<'_>, cluster: &str, id: NodeId) -> bool {
    let Some(name) = server_name(cluster, id) else { return false };
    EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.verify_is_valid_for_subject_name(&name).is_ok())
}

/// Finds out at the start what every peer would find out later, and when the certificate ends.
fn check_certificate(
    chain: &[CertificateDer<'_>],
    roots: &RootCertStore,
    cluster: &str,
    id: NodeId,
) -> Result<SystemTime, String> {
    let Some((first, between)) = chain.split_first() else { return Err("is empty".to_owned()) };
    let certificate =
        EndEntityCert::try_from(first).map_err(|error| format!("is not usable: {error}"))?;
    if !speaks_for(first, cluster, id) {
        let wanted = member_name(cluster, id);
        let found: Vec<_> = certificate.valid_dns_names().collect();
        return Err(format!(
            "is for `{}`, not for `{wanted}`; use this member's own certificate, or correct the \
             id or the cluster's name",
            found.join("`, `")
        ));
    }
    let usages = [KeyUsage::server_auth(), KeyUsage::client_auth()];
    check_usages(&certificate, between, roots, &usages)?;
    Ok(expiry(&certificate, between, roots))
}

/// 9999-12-31T23:59:59Z: the end of a certificate that does not end (RFC 5280, 4.1.2.5).
const LAST_SECOND: u64 = 253_402_300_799;

/// When others will no longer believe the certificate. The library tells the end of validity only as the reason
/// of a refusal, so it is asked about the last moment that it knows.
fn expiry(
    certificate: &EndEntityCert<'_>,
    between: &[CertificateDer<'_>],
    roots: &RootCertStore,
) -> SystemTime {
    let algorithms = provider().signature_verification_algorithms;
    let mut at = UnixTime::since_unix_epoch(Duration::from_secs(LAST_SECOND));
    loop {
        let usage = KeyUsage::client_auth();
        let verified = certificate.verify_for_usage(
            algorithms.all,
            &roots.roots,
            between,
            at,
            usage,
            None,
            None,
        );
        match verified {
            // The end of the certificate itself comes first; then, at that moment, of one above it.
            Err(webpki::Error::CertExpired { not_after, .. }) if not_after < at => at = not_after,
            _ => return UNIX_EPOCH + Duration::from_secs(at.as_secs()),
        }
    }
}

/// TLS 1.3 only, with a certificate on both sides. Sessions are not resumed: connections live long,
/// and a peer is then always judged by the certificate that it has now.
fn tls(
    roots: RootCertStore,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<(ServerConfig, ClientConfig), rustls::Error> {
    let versions = &[&rustls::version::TLS13];
    let roots = Arc::new(roots);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider())
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    let mut server = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())?;
    server.send_tls13_tickets = 0;
    let mut client = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    client.resumption = Resumption::disabled();
    Ok((server, client))
}
