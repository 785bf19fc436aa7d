//! The address of an etcd cluster.

use crate::Error;
use bellwether_net::ServerTrust;
use std::env;
use std::path::Path;

/// Names the user of an etcd cluster that wants one.
pub(crate) const USER: &str = "BELLWETHER_ETCD_USER";
/// That user's password.
pub(crate) const PASSWORD: &str = "BELLWETHER_ETCD_PASSWORD";

/// The port at which etcd serves clients, unless it is told otherwise.
const PORT: u16 = 2379;

/// An etcd cluster, and how to be let in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// `host:port` of each server.
    pub(crate) hosts: Vec<String>,
    /// What the keys begin with; empty for etcd's own names.
    pub(crate) prefix: String,
    /// TLS, if there is a certificate to trust.
    pub(crate) trust: Option<ServerTrust>,
    /// A user with the password.
    pub(crate) user: Option<(String, String)>,
}

impl Cluster {
    /// Reads `etcd://host-1:2379,host-2:2379/prefix`.
    pub(crate) fn parse(
        text: &str,
        certs: Option<&str>,
        client: Option<&str>,
    ) -> Result<Self, Error> {
        let bad = |why: &str| Error::endpoint(text, why);
        let wanted =
            "give hosts with ports, and perhaps a prefix: etcd://host-1:2379,host-2:2379/team";
        let (mut hosts, mut prefix) = (Vec::new(), None);
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (word, scheme) = match word.strip_prefix("etcd://") {
                Some(rest) => (rest, true),
                None => (word, false),
            };
            let other = word.starts_with('/')
                || ["unix:", "tls:"].iter().any(|other| word.starts_with(other));
            if other || word.contains("://") || hosts.is_empty() && !scheme {
                return Err(bad(
                    "it mixes an etcd cluster with something else; name one or the other",
                ));
            }
            if prefix.is_some() {
                return Err(bad("the prefix comes last, behind all hosts"));
            }
            let (host, path) =
                word.split_once('/').map_or((word, None), |(host, path)| (host, Some(path)));
            prefix = path.map(str::to_owned);
            hosts.push(host_with_port(host).ok_or_else(|| bad(wanted))?);
        }
        let prefix = prefix.unwrap_or_default();
        if hosts.is_empty() || prefix.contains(char::is_control) {
            return Err(bad(wanted));
        }
        let trust = certs.map(|folder| trust(Path::new(folder), client)).transpose()?;
        let variable = |name| env::var(name).ok().filter(|text: &String| !text.is_empty());
        let user = variable(USER).map(|user| (user, variable(PASSWORD).unwrap_or_default()));
        Ok(Cluster { hosts, prefix, trust, user })
    }
}

fn host_with_port(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let fine = !host.is_empty() && matches!(port.parse::<u16>(), Ok(1..));
            fine.then(|| text.to_owned())
        }
        _ => Some(format!("{text}:{PORT}")),
    }
}

/// `ca.pem` in a directory, and a client's certificate if there is one.
fn trust(folder: &Path, client: Option<&str>) -> Result<ServerTrust, Error> {
    let name = match client {
        Some(name) => Some(name.to_owned()),
        None => crate::endpoints::only_client(folder, false)?,
    };
    let files = name.map(|name| bellwether_net::Files::of_client(folder, &name));
    let identity = files.as_ref().map(|files| (files.certificate.as_path(), files.key.as_path()));
    ServerTrust::load(&folder.join("ca.pem"), identity, "h2")
        .map_err(|error| Error::tls(error.to_string()).because(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, hosts, prefix) in [
            ("etcd://a:2379", &["a:2379"][..], ""),
            ("etcd://a:1, b:2,c", &["a:1", "b:2", "c:2379"], ""),
            ("etcd://a:1,etcd://b:2/team/app", &["a:1", "b:2"], "team/app"),
            ("etcd://[::1]:7/", &["[::1]:7"], ""),
            ("etcd://[::1]", &["[::1]:2379"], ""),
        ] {
            let cluster = Cluster::parse(text, None, None).unwrap();
            assert_eq!(
                (cluster.hosts, cluster.prefix.as_str()),
                (hosts.iter().map(ToString::to_string).collect(), prefix),
                "{text}"
            );
        }
        for text in [
            "etcd://",
            "etcd://a:0",
            "etcd://a b",
            "etcd://:1",
            "etcd://a:1/x,b:2",
            "etcd://a:1,unix:/x",
            "etcd://a:1,/x",
            "etcd://a:1,http://b:1",
            "b:1,etcd://a:1",
        ] {
            let error = Cluster::parse(text, None, None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidEndpoint, "{text}");
        }
    }
}
