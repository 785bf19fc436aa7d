//! Who a client is, as far as a member can tell.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Who a client is: what its connection proves, and not what it calls itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// By the name in its certificate.
    Certificate(String),
    /// By the user of its process, on this host. One that cannot be told is nobody's.
    User(u32),
    /// By where it comes from: HTTP has no better way.
    Address(IpAddr),
}

impl Identity {
    /// That of a client over HTTP. A host of version 6 has a whole network of addresses to choose from.
    pub(crate) fn of_address(address: IpAddr) -> Self {
        Identity::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            address => address,
        })
    }

    /// That of a client by Unix socket.
    pub(crate) fn of_user(user: Option<u32>) -> Self {
        // What the system calls nobody.
        Identity::User(user.unwrap_or(65_534))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Certificate(name) => write!(f, "the certificate of '{name}'"),
            Identity::User(user) => write!(f, "user {user}"),
            Identity::Address(address) => write!(f, "address {address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_identity_over_http() {
        let of = |text: &str| Identity::of_address(text.parse().unwrap()).to_string();
        assert_eq!(of("127.0.0.1"), "address 127.0.0.1");
        assert_eq!(of("::ffff:10.0.0.7"), "address 10.0.0.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::9"));
        assert_ne!(of("2001:db8:1:2::9"), of("2001:db8:1:3::9"));
    }
}
