//! Members and clients in network namespaces, joined by a switch of our own.
//!
//! # How
//! The command starts itself again by `unshare` in a network and a mount namespace of its own, so
//! that all it makes is gone with it, even if it is killed. There it makes a namespace for each
//! member and client, moves one end of a TAP device into each, and passes frames between the other
//! ends: [`switch`]. Neighbours are known to each other from the start, so nothing is ever sent to all.
//! The conductor has a port, too, and no rule is ever made for it.

pub(crate) mod rule;
pub(crate) mod switch;
mod tap;

use bellwether_shell::Failure;
use rule::Port;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use switch::{Switch, mac};

/// Says to the command that it is inside already.
const INSIDE: &str = "BELLWETHER_TORTURE_INSIDE";
/// What runs before it: a place for the names of namespaces that no other process sees.
const PREPARE: &str = "mkdir -p /run/netns && mount -t tmpfs none /run/netns && exec \"$@\"";
/// The port of the conductor.
pub(crate) const CONDUCTOR: Port = 254;
/// The port of the first client; members have their numbers.
const CLIENTS: Port = 100;

/// What cannot be done without being root ends with the code of `EX_NOPERM`.
const NOT_ALLOWED: u8 = 77;

/// The port of a client, by its place.
pub(crate) fn client(place: usize) -> Port {
    CLIENTS + place as Port
}

fn address(port: Port) -> IpAddr {
    Ipv4Addr::new(10, 77, 0, port).into()
}

/// Starts the command again in namespaces of its own, unless it is there already.
pub(crate) fn enter() -> Result<(), Failure> {
    if std::env::var_os(INSIDE).is_some() {
        return Ok(());
    }
    if !cfg!(target_os = "linux") {
        let what = "--namespaces: only Linux has network namespaces; leave it out for loopback";
        return Err(Failure::Input(what.to_owned()));
    }
    if !rustix::process::geteuid().is_root() {
        let what = "--namespaces needs root: it makes network namespaces, TAP devices and mounts. \
                    Run it with sudo, or without --namespaces for faults on loopback";
        return Err(Failure::Exit(NOT_ALLOWED, what.to_owned()));
    }
    for (program, package) in
        [("unshare", "util-linux"), ("nsenter", "util-linux"), ("ip", "iproute2")]
    {
        if Command::new(program).arg("-V").output().is_err() {
            let what = format!("--namespaces: cannot run '{program}'; install {package}");
            return Err(Failure::Input(what));
        }
    }
    let unable = |error| Failure::Input(format!("--namespaces: cannot start again: {error}"));
    let program = std::env::current_exe().map_err(unable)?;
    let words = ["--net", "--mount", "--", "sh", "-c", PREPARE, "sh"];
    let mut command = Command::new("unshare");
    command.args(words).arg(program).args(std::env::args_os().skip(1)).env(INSIDE, "1");
    Err(unable(command.exec()))
}

/// The namespaces, and the switch between them.
pub(crate) struct Network {
    pub(crate) switch: Switch,
    ports: Vec<Port>,
}

impl Network {
    /// Makes a namespace for each of these ports.
    pub(crate) fn start(ports: &[Port], seed: u64) -> Result<Network, Failure> {
        let unable = |error: std::io::Error| {
            let what =
                format!("--namespaces: cannot make a TAP device: {error}; is there /dev/net/tun?");
            Failure::Input(what)
        };
        let mut devices = BTreeMap::new();
        let mut commands = String::from("link set lo up\n");
        let all: Vec<Port> = ports.iter().copied().chain([CONDUCTOR]).collect();
        for port in &all {
            devices.insert(*port, tap::open(&device(*port)).map_err(unable)?);
            if *port != CONDUCTOR {
                let _ = writeln!(commands, "netns add {0}\nlink set {0} netns {0}", device(*port));
            }
        }
        ip(&["-batch", "-"], &commands)?;
        for port in &all {
            let name = device(*port);
            let mut commands = format!(
                "link set lo up\nlink set {name} address {}\naddr add {}/24 dev {name}\n\
                 link set {name} up\n",
                mac(*port),
                address(*port)
            );
            for other in all.iter().filter(|other| *other != port) {
                let (to, mac) = (address(*other), mac(*other));
                let _ = writeln!(commands, "neigh add {to} lladdr {mac} dev {name} nud permanent");
            }
            match *port == CONDUCTOR {
                true => ip(&["-batch", "-"], &commands)?,
                false => ip(&["-n", &name, "-batch", "-"], &commands)?,
            }
        }
        let switch = Switch::start(devices, seed).map_err(unable)?;
        Ok(Network { switch, ports: ports.to_vec() })
    }

    pub(crate) fn address(port: Port) -> IpAddr {
        address(port)
    }

    /// What starts a program in the namespace of a port.
    pub(crate) fn launcher(port: Port) -> Vec<OsString> {
        let words =
            ["nsenter".to_owned(), format!("--net=/run/netns/{}", device(port)), "--".to_owned()];
        words.map(OsString::from).to_vec()
    }
}

impl Drop for Network {
    /// For the next one. At the end of the process all is gone anyway.
    fn drop(&mut self) {
        self.switch.end();
        for port in &self.ports {
            let _ = ip(&["netns", "del", &device(*port)], "");
        }
        let _ = ip(&["link", "del", &device(CONDUCTOR)], "");
    }
}

/// The name of a port's device, and of its namespace.
fn device(port: Port) -> String {
    format!("bw{port}")
}

/// Runs `ip` with these commands.
fn ip(words: &[&str], commands: &str) -> Result<(), Failure> {
    let unable = |why: String| Failure::Input(format!("--namespaces: ip fails: {why}"));
    let spawned = Command::new("ip")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|error| unable(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(commands.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| unable(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(unable(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
