//! Certificates for development: an authority per cluster, and one certificate per member and per
//! client.
//!
//! Everything here is also what a real authority would do; what makes it "development" is that the
//! authority's key lies in a file beside the others. [`identity`](crate::Identity) says what a
//! member's certificate must contain.

use super::identity::Identity;
use crate::client::ClientIdentity;
use crate::clock;
use crate::identity::{IdentityError, check_client, check_cluster, client_name, member_name};

pub use crate::identity::Files;

use bellwether_core::NodeId;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    /// The cluster's name cannot stand in a certificate, or what exists already does not fit.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// A file cannot be read or written.
    #[error("cannot {action} `{}`: {error}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Of a certificate and its key only one is there.
    #[error(
        "`{}` is there, but `{}` is not; restore it, or move the former away, and both are made again",
        there.display(), missing.display()
    )]
    Half {
        /// The one that is there.
        there: PathBuf,
        /// The one that is missing.
        missing: PathBuf,
    },
}

/// A certificate and its private key, in PEM form.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// The public part.
    pub certificate: String,
    /// The secret part.
    pub key: String,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// Makes the authority of a cluster. Its certificate is what every member trusts.
pub fn authority(cluster: &str, days: u32) -> Result<Pair, CertError> {
    check_cluster(cluster)?;
    let key = KeyPair::generate()?;
    let mut params = authority_params(cluster);
    valid_for(&mut params, days);
    Ok(Pair { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
}

/// Makes a member's certificate, signed by the authority of this cluster that [`authority`] made.
pub fn member(cluster: &str, authority: &Pair, id: NodeId, days: u32) -> Result<Pair, CertError> {
    check_cluster(cluster)?;
    let usages = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let pair = sign(cluster, authority, &member_name(cluster, id), &usages, days)?;
    // An authority of another cluster, or a key that is not the certificate's, shows here.
    Identity::from_pem(cluster, id, &authority.certificate, &pair.certificate, &pair.key)?;
    Ok(pair)
}

/// Makes a client's certificate, signed by the same authority.
pub fn client(cluster: &str, authority: &Pair, name: &str, days: u32) -> Result<Pair, CertError> {
    check_cluster(cluster)?;
    check_client(name)?;
    let usages = [ExtendedKeyUsagePurpose::ClientAuth];
    let pair = sign(cluster, authority, &client_name(cluster, name), &usages, days)?;
    ClientIdentity::from_pem(&authority.certificate, &pair.certificate, &pair.key)?;
    Ok(pair)
}

fn sign(
    cluster: &str,
    authority: &Pair,
    name: &str,
    usages: &[ExtendedKeyUsagePurpose],
    days: u32,
) -> Result<Pair, CertError> {
    let issuer = Issuer::new(authority_params(cluster), KeyPair::from_pem(&authority.key)?);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.distinguished_name = distinguished(name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = usages.to_vec();
    valid_for(&mut params, days);
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem() })
}

/// What an authority's certificate says, apart from its validity: the same whenever it is asked, so
/// that a later member's certificate names the issuer as the earlier ones do.
fn authority_params(cluster: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished(&format!("Bellwether authority of {cluster}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn distinguished(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// From an hour ago, for hosts whose clocks are behind.
fn valid_for(params: &mut CertificateParams, days: u32) {
    let now = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(clock::wall().as_secs());
    params.not_before = now - Duration::from_secs(3600);
    params.not_after = now + Duration::from_secs(u64::from(days.clamp(1, 36_500)) * 86_400);
}

/// Makes what is missing in a directory: the authority, and the certificates of these members and
/// clients. What exists is never overwritten. Returns the files that were written.
pub fn prepare_all(
    folder: &Path,
    cluster: &str,
    members: &[NodeId],
    clients: &[&str],
    days: u32,
) -> Result<Vec<PathBuf>, CertError> {
    check_cluster(cluster)?;
    clients.iter().try_for_each(|name| check_client(name))?;
    std::fs::create_dir_all(folder).map_err(io_error("create the directory", folder))?;
    let mut signer = Signer { folder, cluster, days, authority: None, written: Vec::new() };
    for id in members {
        let make = |authority: &Pair| member(cluster, authority, *id, days);
        signer.make(&Files::of(folder, *id), make)?;
    }
    for name in clients {
        let make = |authority: &Pair| client(cluster, authority, name, days);
        signer.make(&Files::of_client(folder, name), make)?;
    }
    Ok(signer.written)
}

/// An authority that is looked for, or made, when something needs to be signed: its key may be kept
/// elsewhere as long as nothing does.
struct Signer<'a> {
    folder: &'a Path,
    cluster: &'a str,
    days: u32,
    authority: Option<Pair>,
    written: Vec<PathBuf>,
}

impl Signer<'_> {
    /// Makes a pair of files, unless they are there.
    fn make(
        &mut self,
        files: &Files,
        make: impl FnOnce(&Pair) -> Result<Pair, CertError>,
    ) -> Result<(), CertError> {
        if half(&files.certificate, &files.key)? {
            return Ok(());
        }
        let (ca, ca_key) = (self.folder.join("ca.pem"), self.folder.join("ca-key.pem"));
        let authority = match &self.authority {
            Some(pair) => pair,
            None if half(&ca, &ca_key)? => {
                self.authority.insert(Pair { certificate: read(&ca)?, key: read(&ca_key)? })
            }
            None => {
                let pair = authority(self.cluster, self.days)?;
                save(&ca, &ca_key, &pair, &mut self.written)?;
                self.authority.insert(pair)
            }
        };
        let pair = make(authority)?;
        save(&files.certificate, &files.key, &pair, &mut self.written)
    }
}

/// Whether a certificate and its key are there: both or neither.
fn half(certificate: &Path, key: &Path) -> Result<bool, CertError> {
    match (certificate.exists(), key.exists()) {
        (true, true) => Ok(true),
        (false, false) => Ok(false),
        (first, _) => {
            let (there, missing) = if first { (certificate, key) } else { (key, certificate) };
            Err(CertError::Half { there: there.to_owned(), missing: missing.to_owned() })
        }
    }
}

fn read(path: &Path) -> Result<String, CertError> {
    std::fs::read_to_string(path).map_err(io_error("read", path))
}

fn save(
    certificate: &Path,
    key: &Path,
    pair: &Pair,
    written: &mut Vec<PathBuf>,
) -> Result<(), CertError> {
    for (path, text, mode) in [(key, &pair.key, 0o600), (certificate, &pair.certificate, 0o644)] {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
            .map_err(io_error("create", path))?;
        file.write_all(text.as_bytes()).map_err(io_error("write", path))?;
        written.push(path.to_owned());
    }
    Ok(())
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CertError {
    let path = path.to_owned();
    move |error| CertError::Io { action, path, error }
}
