//! How spans of time, sizes and addresses are written in a configuration.
//!
//! Every parser says what it got and what it would have liked.

use bellwether_member::Preempt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// `100ms`, `1.5s`, `250us`, `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wanted = "a span such as \"250us\", \"100ms\", \"1.5s\" or \"2m\"";
    let (number, unit) = split_unit(text);
    let micros_per_unit = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" | "min" => 60e6,
        "" => return Err(format!("'{text}' has no unit; give {wanted}")),
        _ => return Err(format!("'{text}' is not {wanted}")),
    };
    match number.parse::<f64>() {
        Ok(number) if number * micros_per_unit > 86_400e6 => {
            Err(format!("'{text}' is longer than a day"))
        }
        Ok(number) => Ok(Duration::from_micros((number * micros_per_unit).round() as u64)),
        Err(_) => Err(format!("'{text}' is not {wanted}")),
    }
}

/// The words of [`duration`].
pub(crate) fn show_duration(span: Duration) -> String {
    let micros = span.as_micros();
    match micros {
        0 => "0ms".to_owned(),
        _ if micros.is_multiple_of(60_000_000) => format!("{}m", micros / 60_000_000),
        _ if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
        _ if micros.is_multiple_of(1_000) => format!("{}ms", micros / 1_000),
        _ => format!("{micros}us"),
    }
}

/// `64KiB`, `1MiB`, or plain bytes.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(format!("'{text}' is not a size such as \"64KiB\" or \"1MiB\"")),
    };
    let number = number.parse::<usize>().ok().and_then(|number| number.checked_mul(scale));
    number.ok_or_else(|| format!("'{text}' is not a size such as \"64KiB\" or \"1MiB\""))
}

/// The words of [`size`].
pub(crate) fn show_size(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        _ => bytes.to_string(),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    (number, unit.trim_start())
}

/// `always`, `never`, `after 30s`.
pub(crate) fn preempt(text: &str) -> Result<Preempt, String> {
    match text {
        "always" => Ok(Preempt::Always),
        "never" => Ok(Preempt::Never),
        _ => match text.strip_prefix("after ") {
            Some(span) => duration(span.trim()).map(Preempt::After),
            None => Err(format!("'{text}' is not one of \"always\", \"never\", \"after 30s\"")),
        },
    }
}

/// The words of [`preempt`].
pub(crate) fn show_preempt(preempt: Preempt) -> String {
    match preempt {
        Preempt::Always => "always".to_owned(),
        Preempt::Never => "never".to_owned(),
        Preempt::After(span) => format!("after {}", show_duration(span)),
    }
}

/// An address to listen on: an IP address and a port.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "'{text}' is not an address to listen on; give an IP address and a port: \"0.0.0.0:7400\""
        )
    })
}

/// An address that others can reach: a name or an IP address, and a port.
pub fn address(text: &str) -> Result<String, String> {
    let wanted = "a name or an IP address with a port: \"host-1:7400\"";
    let refused = || Err(format!("'{text}' is not {wanted}"));
    if let Ok(address) = text.parse::<SocketAddr>() {
        if address.ip().is_unspecified() {
            return Err(format!("'{text}' is not an address that others can reach; give {wanted}"));
        }
        return if address.port() == 0 { refused() } else { Ok(text.to_owned()) };
    }
    let Some((host, port)) = text.rsplit_once(':') else { return refused() };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let fine = !host.is_empty() && host.len() <= 253 && host.chars().all(plain);
    match port.parse::<u16>() {
        Ok(1..) if fine => Ok(text.to_owned()),
        _ => refused(),
    }
}

/// Where to listen to be reached at this address: exactly there if it is this host's own loopback,
/// else on every interface, because the address that others use may be one that this host does not
/// have (a container, a translated address).
pub(crate) fn listen_for(address: &str) -> Option<SocketAddr> {
    if let Ok(address) = address.parse::<SocketAddr>() {
        let everywhere = match address {
            SocketAddr::V4(_) => IpAddr::from([0; 4]),
            SocketAddr::V6(_) => IpAddr::from([0; 16]),
        };
        let ip = if address.ip().is_loopback() { address.ip() } else { everywhere };
        return Some(SocketAddr::new(ip, address.port()));
    }
    let (host, port) = address.rsplit_once(':')?;
    let ip = if host == "localhost" { IpAddr::from([127, 0, 0, 1]) } else { IpAddr::from([0; 4]) };
    Some(SocketAddr::new(ip, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_read_and_shown() {
        for (text, micros) in
            [("250us", 250), ("100ms", 100_000), ("1.5s", 1_500_000), ("2m", 120_000_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["100ms", "90s", "2m", "250us"] {
            assert_eq!(show_duration(duration(text).unwrap()), text);
        }
        for text in ["", "ms", "100", "-5ms", "1..5s", "5 weeks", "25h", "nan", "1e9s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration("2000m").unwrap_err().contains("longer than a day"));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1 MiB").map(show_size), Ok("1MiB".to_owned()));
        for text in ["", "MiB", "1.5MiB", "-1", "1GB", "99999999999999999999"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn preemption_has_three_forms() {
        for text in ["always", "never", "after 30s"] {
            assert_eq!(preempt(text).map(show_preempt), Ok(text.to_owned()));
        }
        assert!(preempt("sometimes").unwrap_err().contains("\"after 30s\""));
        assert!(preempt("after").is_err() && preempt("after lunch").is_err());
    }

    #[test]
    fn addresses_need_a_host_and_a_port() {
        for good in ["host-1:7400", "10.0.0.1:7400", "[::1]:7400", "db.example.org:1"] {
            assert_eq!(address(good), Ok(good.to_owned()));
        }
        for bad in ["", "host", "host:", ":7400", "host:0", "10.0.0.1:0", "host:70000", "a b:1"] {
            assert!(address(bad).unwrap_err().contains("host-1:7400"), "{bad}");
        }
        assert!(address("0.0.0.0:7400").is_err());
        assert!(listen("localhost:7400").unwrap_err().contains("0.0.0.0:7400"));
    }

    #[test]
    fn a_member_listens_where_it_is_reached() {
        let of = |address| listen_for(address).map(|address| address.to_string());
        assert_eq!(of("127.0.0.1:7401").as_deref(), Some("127.0.0.1:7401"));
        assert_eq!(of("localhost:7401").as_deref(), Some("127.0.0.1:7401"));
        assert_eq!(of("10.1.2.3:7401").as_deref(), Some("0.0.0.0:7401"));
        assert_eq!(of("host-1:7401").as_deref(), Some("0.0.0.0:7401"));
        assert_eq!(of("[2001:db8::1]:7401").as_deref(), Some("[::]:7401"));
    }
}
