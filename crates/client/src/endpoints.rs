//! Where members can be reached.

use crate::Error;
use bellwether_net::{ClientIdentity, Files};
use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable that names the members to connect to, separated by commas.
///
/// ```
/// use bellwether::{CERTS, CLIENT, ENDPOINTS, SOCKET};
///
/// assert_eq!([ENDPOINTS, CERTS], ["BELLWETHER_ENDPOINTS", "BELLWETHER_CERTS"]);
/// assert_eq!([SOCKET, CLIENT], ["BELLWETHER_SOCKET", "BELLWETHER_CLIENT"]);
/// ```
pub const ENDPOINTS: &str = "BELLWETHER_ENDPOINTS";
/// The environment variable that names the Unix sockets of members on this host, separated by commas. It counts if
/// [`ENDPOINTS`] is not set.
pub const SOCKET: &str = "BELLWETHER_SOCKET";
/// The environment variable that names the directory of the certificates.
pub const CERTS: &str = "BELLWETHER_CERTS";
/// The environment variable that names the client whose certificate is used, if the directory has several.
pub const CLIENT: &str = "BELLWETHER_CLIENT";

/// Where a packaged member has its socket.
const SOCKETS: &[&str] =
    &["/run/bellwether/bellwether.sock", "/var/lib/bellwether/bellwether.sock"];

/// One place at which a member can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket on this host. The member sees when this process dies.
    Unix(PathBuf),
    /// An address, `host:port`, over mutual TLS.
    Tls(String),
}

impl Endpoint {
    /// Reads `unix:/path/to.sock`, `/path/to.sock`, `tls:host:port` or `host:port`.
    ///
    /// ```
    /// use bellwether::Endpoint;
    ///
    /// let socket = Endpoint::parse("unix:/run/bellwether/bellwether.sock")?;
    /// assert_eq!(socket, Endpoint::Unix("/run/bellwether/bellwether.sock".into()));
    /// assert_eq!(Endpoint::parse("db-1:7400")?, Endpoint::Tls("db-1:7400".into()));
    /// assert!(Endpoint::parse("db-1").is_err());
    /// # Ok::<(), bellwether::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| Error::endpoint(text, why);
        if let Some(path) = text.strip_prefix("unix:").or(text.starts_with('/').then_some(text)) {
            return match path {
                "" => Err(bad("it names no path: unix:/run/bellwether/bellwether.sock")),
                path => Ok(Endpoint::Unix(path.into())),
            };
        }
        let address = text.strip_prefix("tls:").unwrap_or(text);
        let address = address.strip_prefix("//").unwrap_or(address);
        let wanted = "give unix:/path/to.sock, or a host with a port: db-1:7400";
        let (host, port) = address.rsplit_once(':').ok_or_else(|| bad(wanted))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        match port.parse::<u16>() {
            Ok(1..) if !host.is_empty() && host.chars().all(plain) => {
                Ok(Endpoint::Tls(address.to_owned()))
            }
            _ => Err(bad(wanted)),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
            Endpoint::Tls(address) => f.write_str(address),
        }
    }
}

/// Where members can be reached, and the certificate of this client.
///
/// A client on a member's host connects by its Unix socket and needs no certificate; it stays with that member. Other
/// clients connect by TLS, find the coordinator and follow it. You can give both: sockets come first.
///
/// ```no_run
/// use bellwether::{Client, Endpoints};
///
/// # async fn example() -> Result<(), bellwether::Error> {
/// let endpoints = Endpoints::unix("/run/bellwether/bellwether.sock");
/// let client = Client::connect(endpoints).await?;
///
/// let endpoints = Endpoints::tls(["db-1:7400", "db-2:7400"], "/etc/bellwether", Some("app"))?;
/// let client = Client::connect(endpoints).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Endpoints {
    pub(crate) list: Vec<Endpoint>,
    pub(crate) identity: Option<ClientIdentity>,
    pub(crate) timeout: Duration,
    /// An etcd cluster instead.
    #[cfg(feature = "etcd")]
    pub(crate) etcd: Option<crate::etcd::address::Cluster>,
}

impl Endpoints {
    /// The Unix socket of a member on this host.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Endpoints::of(vec![Endpoint::Unix(path.into())], None)
    }

    /// Members' addresses, `host:port`, and the directory with `ca.pem`, `client-NAME.pem` and
    /// `client-NAME-key.pem`, as `bellwether certs --client NAME` makes them. One address is enough: the
    /// others are learnt from it. Without a name there must be one client's certificate only.
    pub fn tls<A: AsRef<str>>(
        addresses: impl IntoIterator<Item = A>,
        certs: impl AsRef<Path>,
        client: Option<&str>,
    ) -> Result<Self, Error> {
        let list = remote(addresses)?;
        let identity = identity(certs.as_ref(), client)?;
        Ok(Endpoints::of(list, Some(identity)))
    }

    /// The same with certificates that are in memory, from a secret store for example: three PEM texts, which are those
    /// of `ca.pem`, `client-NAME.pem` and `client-NAME-key.pem`. The certificate says which cluster it is for.
    ///
    /// Fails with [`ErrorKind::Tls`](crate::ErrorKind::Tls) if a text cannot be used.
    ///
    /// ```no_run
    /// use bellwether::{Client, Endpoints};
    ///
    /// # fn secret(name: &str) -> String { String::new() }
    /// # async fn example() -> Result<(), bellwether::Error> {
    /// let (ca, certificate, key) = (secret("ca"), secret("certificate"), secret("key"));
    /// let endpoints = Endpoints::tls_pem(["db-1:7400", "db-2:7400"], &ca, &certificate, &key)?;
    /// let client = Client::connect(endpoints).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn tls_pem<A: AsRef<str>>(
        addresses: impl IntoIterator<Item = A>,
        ca: &str,
        certificate: &str,
        key: &str,
    ) -> Result<Self, Error> {
        let list = remote(addresses)?;
        let identity = ClientIdentity::from_pem(ca, certificate, key)
            .map_err(|error| Error::tls(error.to_string()).because(error))?;
        Ok(Endpoints::of(list, Some(identity)))
    }

    /// Those of the environment: [`BELLWETHER_ENDPOINTS`](ENDPOINTS), separated by commas, with the
    /// certificates of [`BELLWETHER_CERTS`](CERTS) and [`BELLWETHER_CLIENT`](CLIENT) if some are
    /// addresses. If it is not set, the Unix sockets that [`BELLWETHER_SOCKET`](SOCKET) names; else
    /// those of the cluster that [`bellwether up`](crate::up) runs on this host; else those at which a
    /// packaged member listens.
    pub fn from_env_or_default() -> Result<Self, Error> {
        let variable = |name| env::var(name).ok().filter(|text: &String| !text.trim().is_empty());
        let Some(text) = variable(ENDPOINTS) else {
            let sockets = match variable(SOCKET) {
                Some(named) => named.split(',').map(|path| path.trim().into()).collect(),
                None => sockets_here()?,
            };
            return Ok(Endpoints::of(sockets.into_iter().map(Endpoint::Unix).collect(), None));
        };
        Endpoints::parse(&text, variable(CERTS).as_deref(), variable(CLIENT).as_deref())
    }

    /// Reads a list separated by commas, as in [`BELLWETHER_ENDPOINTS`](ENDPOINTS). Where an address
    /// is among them, there must be a directory of certificates.
    ///
    /// `etcd://host-1:2379,host-2:2379` is an etcd cluster instead, if the crate's feature `etcd` is on. With a directory
    /// of certificates the connections are encrypted; `BELLWETHER_ETCD_USER` and `BELLWETHER_ETCD_PASSWORD` name a user.
    ///
    /// ```
    /// use bellwether::Endpoints;
    ///
    /// Endpoints::parse("unix:/tmp/member-1.sock, unix:/tmp/member-2.sock", None, None)?;
    /// let error = Endpoints::parse("db-1:7400", None, None).unwrap_err();
    /// assert!(error.to_string().contains("BELLWETHER_CERTS"));
    /// # Ok::<(), bellwether::Error>(())
    /// ```
    pub fn parse(text: &str, certs: Option<&str>, client: Option<&str>) -> Result<Self, Error> {
        if text.contains("etcd://") {
            return Endpoints::etcd(text, certs, client);
        }
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let list = words.map(Endpoint::parse).collect::<Result<Vec<_>, _>>()?;
        let remote = list.iter().find(|endpoint| matches!(endpoint, Endpoint::Tls(_)));
        let identity = match (remote, certs) {
            (None, _) => None,
            (Some(_), Some(certs)) => Some(identity(Path::new(certs), client)?),
            (Some(endpoint), None) => {
                let why = format!(
                    "over the network a certificate is needed; name its directory with {CERTS}"
                );
                return Err(Error::endpoint(&endpoint.to_string(), &why));
            }
        };
        if list.is_empty() {
            return Err(Error::endpoint(text, "it names no member"));
        }
        Ok(Endpoints::of(list, identity))
    }

    #[cfg(feature = "etcd")]
    fn etcd(text: &str, certs: Option<&str>, client: Option<&str>) -> Result<Self, Error> {
        let cluster = crate::etcd::address::Cluster::parse(text, certs, client)?;
        Ok(Endpoints { etcd: Some(cluster), ..Endpoints::of(Vec::new(), None) })
    }

    #[cfg(not(feature = "etcd"))]
    fn etcd(text: &str, _: Option<&str>, _: Option<&str>) -> Result<Self, Error> {
        Err(Error::endpoint(
            text,
            "this program was built without the feature `etcd` of the crate `bellwether`",
        ))
    }

    /// How long to look for a member that answers, and for a coordinator; five seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same places, the Unix sockets first.
    fn of(mut list: Vec<Endpoint>, identity: Option<ClientIdentity>) -> Self {
        list.sort_by_key(|endpoint| matches!(endpoint, Endpoint::Tls(_)));
        Endpoints {
            list,
            identity,
            timeout: Duration::from_secs(5),
            #[cfg(feature = "etcd")]
            etcd: None,
        }
    }
}

/// Addresses of members on any host.
fn remote<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>) -> Result<Vec<Endpoint>, Error> {
    let parse = |address: A| match Endpoint::parse(address.as_ref())? {
        Endpoint::Unix(path) => {
            Err(Error::endpoint(&path.display().to_string(), "it is a Unix socket"))
        }
        endpoint => Ok(endpoint),
    };
    addresses.into_iter().map(parse).collect()
}

/// The sockets of the one cluster of `bellwether up` that runs here, or of a packaged member.
fn sockets_here() -> Result<Vec<PathBuf>, Error> {
    match crate::up::running().as_slice() {
        [] => Ok(SOCKETS.iter().map(PathBuf::from).collect()),
        [cluster] => Ok(crate::up::sockets(cluster)),
        several => {
            let named = several.iter().map(|cluster| cluster.join("1.sock").display().to_string());
            let why = format!(
                "{} clusters of `bellwether up` run on this host; name one with {SOCKET}",
                several.len()
            );
            Err(Error::endpoint(&named.collect::<Vec<_>>().join(", "), &why))
        }
    }
}

/// The certificate of this client in a directory, or of the only one there.
fn identity(folder: &Path, client: Option<&str>) -> Result<ClientIdentity, Error> {
    let name = match client {
        Some(name) => name.to_owned(),
        None => only_client(folder, true)?.unwrap_or_default(),
    };
    let files = Files::of_client(folder, &name);
    files.load_client().map_err(|error| Error::tls(error.to_string()).because(error))
}

/// The name of the only client whose certificate is in a directory.
pub(crate) fn only_client(folder: &Path, needed: bool) -> Result<Option<String>, Error> {
    let unreadable = |error: io::Error| {
        Error::tls(format!("cannot read {}: {error}", folder.display())).because(error)
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.file_name();
        let name =
            file.to_str().and_then(|name| name.strip_prefix("client-")?.strip_suffix(".pem"));
        names.extend(name.filter(|name| !name.ends_with("-key")).map(str::to_owned));
    }
    names.sort();
    match names.as_slice() {
        [name] => Ok(Some(name.clone())),
        [] if !needed => Ok(None),
        [] => Err(Error::tls(format!(
            "there is no client's certificate (client-NAME.pem) in {}; `bellwether certs --client \
             NAME` makes one",
            folder.display()
        ))),
        _ => Err(Error::tls(format!(
            "there are certificates of several clients in {}: {}; say which with {CLIENT}",
            folder.display(),
            names.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use bellwether_net::certs;

    #[test]
    fn endpoints_are_read_as_people_write_them() {
        for (text, shown) in [
            ("unix:a.sock", "unix:a.sock"),
            ("/run/a.sock", "unix:/run/a.sock"),
            ("tls:host:7400", "host:7400"),
            ("tls://host-1.example:7400", "host-1.example:7400"),
            ("[::1]:7400", "[::1]:7400"),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), shown, "{text}");
        }
        for text in
            ["", "unix:", "host", "host:", ":7400", "host:0", "host:70000", "a b:1", "http://a:1"]
        {
            let error = Endpoint::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidEndpoint, "{text}");
        }
        assert!(Endpoints::parse(" , ", None, None).unwrap_err().to_string().contains("no member"));
    }

    #[test]
    fn sockets_come_first() {
        let folder = tempfile::tempdir().unwrap();
        certs::prepare_all(folder.path(), "test", &[], &["app"], 10).unwrap();
        let certs = folder.path().to_str();
        let endpoints = Endpoints::parse("b:1,/a.sock", certs, None).unwrap();
        assert_eq!(endpoints.list[0], Endpoint::Unix("/a.sock".into()));
        assert_eq!(endpoints.identity.unwrap().name(), "app");
    }

    #[test]
    fn what_is_wrong_with_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let tls = |client| Endpoints::tls(["a:1"], path, client).unwrap_err().to_string();
        assert!(tls(None).contains("client-NAME.pem"), "{}", tls(None));
        certs::prepare_all(path, "test", &[], &["app", "cron"], 10).unwrap();
        assert!(tls(None).contains("app, cron"), "{}", tls(None));
        assert!(tls(Some("other")).contains("client-other.pem"), "{}", tls(Some("other")));
        let missing = Endpoints::tls(["a:1"], path.join("nowhere"), None).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Tls, "{missing}");
        Endpoints::tls(["a:1"], path, Some("cron")).unwrap();
    }

    #[test]
    fn certificates_may_be_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        certs::prepare_all(folder.path(), "test", &[], &["app"], 10).unwrap();
        let [ca, certificate, key] = ["ca.pem", "client-app.pem", "client-app-key.pem"]
            .map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
        let endpoints = Endpoints::tls_pem(["a:1"], &ca, &certificate, &key).unwrap();
        assert_eq!(endpoints.identity.unwrap().name(), "app");
        let swapped = Endpoints::tls_pem(["a:1"], &ca, &key, &certificate).unwrap_err();
        assert_eq!(swapped.kind(), ErrorKind::Tls, "{swapped}");
        let socket = Endpoints::tls_pem(["/a.sock"], &ca, &certificate, &key).unwrap_err();
        assert_eq!(socket.kind(), ErrorKind::InvalidEndpoint, "{socket}");
    }
}
