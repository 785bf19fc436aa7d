//! Who a process is, proved by a certificate.
//!
//! A member's certificate carries the DNS name `member-<id>.<cluster>.bellwether`, signed by the
//! cluster's own authority. Both ends check it: the caller while it sets up TLS, the called one as
//! soon as the greeting claims a number. So a member can speak only for itself, and a certificate
//! of one cluster is worth nothing in another.
//!
//! A client's certificate carries `<name>.client.<cluster>.bellwether`, of the same authority. It has one
//! label more than a member's and is good for calling only, so neither can be taken for the other.

use crate::client::ClientIdentity;
use bellwether_core::NodeId;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use webpki::{EndEntityCert, KeyUsage};

/// Why there is no identity to be had from these files or texts.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The cluster's name cannot stand in a certificate.
    #[error(
        "cluster name `{0}` is not usable: it must be 1 to 40 lower-case letters, digits and \
         inner hyphens"
    )]
    Cluster(String),
    /// A client's name cannot stand in a certificate.
    #[error(
        "client name `{0}` is not usable: it must be 1 to 40 lower-case letters, digits and inner \
         hyphens"
    )]
    Client(String),
    /// A file cannot be read.
    #[error("cannot read the {what} `{}`: {error}", path.display())]
    Unreadable {
        /// Which of the three.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{what}{}: {why}", of(path.as_deref()))]
    Unusable {
        /// Which of the three.
        what: &'static str,
        /// Its path, if it came from a file.
        path: Option<PathBuf>,
        /// What is wrong, and what would be right.
        why: String,
    },
}

fn of(path: Option<&Path>) -> String {
    path.map(|path| format!(" `{}`", path.display())).unwrap_or_default()
}

pub(crate) const CA: &str = "CA certificate";
pub(crate) const CERTIFICATE: &str = "certificate";
pub(crate) const KEY: &str = "private key";

/// Where the three texts came from, to name them in errors.
#[derive(Clone, Copy, Default)]
pub(crate) struct Paths<'a>(Option<[&'a Path; 3]>);

impl<'a> Paths<'a> {
    pub(crate) fn of(paths: [&'a Path; 3]) -> Self {
        Paths(Some(paths))
    }

    pub(crate) fn unusable(&self, what: &'static str, why: impl fmt::Display) -> IdentityError {
        let path = self.0.map(|[ca, certificate, key]| match what {
            CA => ca.to_owned(),
            CERTIFICATE => certificate.to_owned(),
            _ => key.to_owned(),
        });
        IdentityError::Unusable { what, path, why: why.to_string() }
    }
}

/// Where a member's or a client's files are in a directory of certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The authority's certificate.
    pub ca: PathBuf,
    /// Its own certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Files {
    /// The files of a member.
    pub fn of(folder: &Path, id: NodeId) -> Self {
        Files::named(folder, &format!("member-{}", id.number()))
    }

    /// The files of a client.
    pub fn of_client(folder: &Path, name: &str) -> Self {
        Files::named(folder, &format!("client-{name}"))
    }

    fn named(folder: &Path, name: &str) -> Self {
        Files {
            ca: folder.join("ca.pem"),
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}-key.pem")),
        }
    }

    /// Loads those of a client.
    pub fn load_client(&self) -> Result<ClientIdentity, IdentityError> {
        ClientIdentity::load(&self.ca, &self.certificate, &self.key)
    }
}

/// The DNS name in a member's certificate.
pub fn member_name(cluster: &str, id: NodeId) -> String {
    format!("member-{}.{cluster}.bellwether", id.number())
}

/// The DNS name in a client's certificate.
pub fn client_name(cluster: &str, name: &str) -> String {
    format!("{name}.client.{cluster}.bellwether")
}

/// The name and the cluster of the client whose DNS name this is.
pub(crate) fn parse_client_name(dns: &str) -> Option<(&str, &str)> {
    let (name, rest) = dns.strip_suffix(".bellwether")?.split_once('.')?;
    let cluster = rest.strip_prefix("client.")?;
    (is_plain(name) && is_plain(cluster)).then_some((name, cluster))
}

/// The member of this cluster whose certificate this is, if it is one.
pub(crate) fn member_of(certificate: &CertificateDer<'_>, cluster: &str) -> Option<NodeId> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    certificate.valid_dns_names().find_map(|dns| {
        let number = dns.strip_prefix("member-")?.split_once('.')?.0.parse().ok()?;
        let id = NodeId::new(number);
        (dns == member_name(cluster, id)).then_some(id)
    })
}

/// The same as the TLS library wants it. Fails only for a cluster name that
/// [`check_cluster`] refuses.
pub(crate) fn server_name(cluster: &str, id: NodeId) -> Option<ServerName<'static>> {
    ServerName::try_from(member_name(cluster, id)).ok()
}

/// Whether a name can be a cluster's: it becomes part of a DNS name.
pub fn check_cluster(cluster: &str) -> Result<(), IdentityError> {
    if is_plain(cluster) { Ok(()) } else { Err(IdentityError::Cluster(cluster.to_owned())) }
}

/// Whether a name can be a client's, for the same reason.
pub fn check_client(name: &str) -> Result<(), IdentityError> {
    if is_plain(name) { Ok(()) } else { Err(IdentityError::Client(name.to_owned())) }
}

/// Whether it can be one label of a DNS name.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=40).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// The contents of the three files.
pub(crate) fn read(paths: [&Path; 3]) -> Result<([Vec<u8>; 3], Paths<'_>), IdentityError> {
    let [ca, certificate, key] = paths;
    let texts = [read_one(CA, ca)?, read_one(CERTIFICATE, certificate)?, read_one(KEY, key)?];
    Ok((texts, Paths::of(paths)))
}

/// The contents of one of them.
pub(crate) fn read_one(what: &'static str, path: &Path) -> Result<Vec<u8>, IdentityError> {
    let unreadable = |error| IdentityError::Unreadable { what, path: path.to_owned(), error };
    std::fs::read(path).map_err(unreadable)
}

pub(crate) fn private_key(
    pem: &[u8],
    paths: Paths<'_>,
) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_slice(pem)
        .map_err(|_| paths.unusable(KEY, "holds no private key in PEM form (BEGIN PRIVATE KEY)"))
}

/// Why certificate and key make no TLS together.
pub(crate) fn unusable_key(error: rustls::Error, paths: Paths<'_>) -> IdentityError {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            paths.unusable(KEY, "does not belong to the certificate; use the pair made together")
        }
        error => paths.unusable(KEY, error),
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err("holds no certificate in PEM form (BEGIN CERTIFICATE)".to_owned()),
    }
}

pub(crate) fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).map_err(|error| format!("is not usable: {error}"))?;
    }
    Ok(roots)
}

/// Whether others of the same authority would believe the certificate now.
pub(crate) fn check_usages(
    certificate: &EndEntityCert<'_>,
    between: &[CertificateDer<'_>],
    roots: &RootCertStore,
    usages: &[KeyUsage],
) -> Result<(), String> {
    let algorithms = provider().signature_verification_algorithms;
    for usage in usages.iter().copied() {
        let (now, anchors) = (UnixTime::now(), &roots.roots);
        certificate
            .verify_for_usage(algorithms.all, anchors, between, now, usage, None, None)
            .map_err(|error| match error {
                webpki::Error::CertExpired { .. } => {
                    "has expired; make a new one and restart".to_owned()
                }
                webpki::Error::CertNotValidYet { .. } => {
                    "is not valid yet; is this host's date right?".to_owned()
                }
                webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
                    "was not signed by the given CA certificate".to_owned()
                }
                error => format!("would be refused by the other members: {error}"),
            })?;
    }
    Ok(())
}
