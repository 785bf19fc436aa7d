//! Servers that are no members: whom a client of theirs trusts, and how it proves who it is.

use crate::client::{ClientStream, NoConnection};
use crate::identity::{CA, KEY, Paths};
use crate::identity::{
    CERTIFICATE, IdentityError, certificates, private_key, provider, read_one, roots, unusable_key,
};
use crate::socket;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// An authority whose servers are believed under their host's name, and perhaps a certificate to show to them.
#[derive(Clone)]
pub struct ServerTrust(Arc<ClientConfig>);

impl fmt::Debug for ServerTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTrust(..)")
    }
}

impl ServerTrust {
    /// Loads PEM files: the authority's certificate, and the client's certificate and key if the servers want
    /// them. `protocol` is what is to be spoken, such as `h2`.
    pub fn load(
        ca: &Path,
        identity: Option<(&Path, &Path)>,
        protocol: &str,
    ) -> Result<Self, IdentityError> {
        let unusable = |what, path: &Path, why| IdentityError::Unusable {
            what,
            path: Some(path.to_owned()),
            why,
        };
        let trusted = roots(&read_one(CA, ca)?).map_err(|why| unusable(CA, ca, why))?;
        let failed = |error: rustls::Error| unusable(CA, ca, error.to_string());
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(failed)?
            .with_root_certificates(trusted);
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let paths = Paths::of([ca, certificate, key]);
                let chain = certificates(&read_one(CERTIFICATE, certificate)?)
                    .map_err(|why| unusable(CERTIFICATE, certificate, why))?;
                let secret = private_key(&read_one(KEY, key)?, paths)?;
                config
                    .with_client_auth_cert(chain, secret)
                    .map_err(|error| unusable_key(error, paths))?
            }
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Ok(ServerTrust(Arc::new(config)))
    }

    /// Connects to `host:port`. Each of the two parts, reaching the address and TLS, may take this long.
    pub async fn connect(
        &self,
        address: &str,
        within: Duration,
    ) -> Result<ClientStream, NoConnection> {
        let late = |what: &str| io::Error::new(io::ErrorKind::TimedOut, what.to_owned());
        let tcp = timeout(within, TcpStream::connect(address)).await;
        let tcp = tcp.unwrap_or_else(|_| Err(late("no answer in time")));
        let tcp = tcp.map_err(NoConnection::Unreachable)?;
        socket::prepare(&tcp, within);
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host);
        let name = name.map_err(|error| NoConnection::Tls(io::Error::other(error)))?;
        let tls = timeout(within, TlsConnector::from(self.0.clone()).connect(name, tcp)).await;
        let tls = tls.unwrap_or_else(|_| Err(late("no greeting in time")));
        tls.map_err(|error| match error.get_ref() {
            Some(inner) if inner.is::<rustls::Error>() => NoConnection::Tls(error),
            _ => NoConnection::Unreachable(error),
        })
    }
}
