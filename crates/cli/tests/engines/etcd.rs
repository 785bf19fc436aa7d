//! Three servers of etcd on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Servers that run until this is dropped.
pub(crate) struct Servers {
    folder: tempfile::TempDir,
    /// Where each serves clients, and where the others.
    ports: Vec<(u16, u16)>,
    children: Vec<Option<Child>>,
    /// The directory of the certificates, if clients must show one.
    certs: Option<PathBuf>,
}

/// The path of a program, if it is installed.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.exists())
}

/// Ports that were free a moment ago.
fn free_ports(count: usize) -> Vec<u16> {
    let open: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    open.iter().map(|port| port.local_addr().unwrap().port()).collect()
}

impl Servers {
    /// This number of servers, if etcd is installed.
    pub(crate) fn start(size: usize) -> Option<Servers> {
        let servers = Servers::run_all(size, None)?;
        servers.settle();
        Some(servers)
    }

    /// A server that wants certificates which this directory's authority has signed.
    pub(crate) fn with_certificates(certs: &Path) -> Option<Servers> {
        Servers::run_all(1, Some(certs.to_owned()))
    }

    fn run_all(size: usize, certs: Option<PathBuf>) -> Option<Servers> {
        installed("etcd")?;
        let ports = free_ports(2 * size);
        let ports = ports.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        // In memory, if the system has such a place: processes are killed here, and a busy disk would only cost time.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mut servers =
            Servers { folder, ports, children: (0..size).map(|_| None).collect(), certs };
        (0..size).for_each(|server| servers.run(server));
        Some(servers)
    }

    /// Starts one, with what it has on disk.
    pub(crate) fn run(&mut self, server: usize) {
        let cluster = (0..self.ports.len()).zip(&self.ports);
        let cluster: Vec<_> = cluster
            .map(|(server, (_, peer))| format!("e{server}=http://127.0.0.1:{peer}"))
            .collect();
        let (client, peer) = self.ports[server];
        let scheme = if self.certs.is_some() { "https" } else { "http" };
        let (client, peer) =
            (format!("{scheme}://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let tls = self.certs.iter().flat_map(|certs| {
            [("cert-file", "etcd.pem"), ("key-file", "etcd-key.pem"), ("trusted-ca-file", "ca.pem")]
                .map(|(flag, file)| format!("--{flag}={}", certs.join(file).display()))
        });
        let log = std::fs::File::create(self.folder.path().join(format!("{server}.log"))).unwrap();
        let child = Command::new("etcd")
            .args(["--name", &format!("e{server}"), "--log-level", "error"])
            .arg("--data-dir")
            .arg(self.folder.path().join(server.to_string()))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &cluster.join(","), "--initial-cluster-state", "new"])
            // Half of the defaults: a new leader comes sooner.
            .args(["--heartbeat-interval", "50", "--election-timeout", "500"])
            .args(tls)
            .args(self.certs.iter().map(|_| "--client-cert-auth"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children[server] = Some(child);
    }

    /// Waits until there is a leader.
    pub(crate) fn settle(&self) -> usize {
        for _ in 0..600 {
            if let Some(leader) = self.leader() {
                return leader;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("etcd has no leader");
    }

    /// The server that leads, as the servers say.
    pub(crate) fn leader(&self) -> Option<usize> {
        (0..self.ports.len())
            .find(|server| self.metric(*server, "etcd_server_is_leader") == Some(1.0))
    }

    /// A number that a server tells of itself.
    pub(crate) fn metric(&self, server: usize, name: &str) -> Option<f64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[server].0)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")))?;
        line.trim().parse().ok()
    }

    pub(crate) fn pid(&self, server: usize) -> rustix::process::Pid {
        rustix::process::Pid::from_child(self.children[server].as_ref().unwrap())
    }

    /// Kills one.
    pub(crate) fn kill(&mut self, server: usize) {
        if let Some(mut child) = self.children[server].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// `host:port` of each.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.ports.iter().map(|(client, _)| format!("127.0.0.1:{client}")).collect()
    }

    /// Runs etcdctl, if it is here.
    pub(crate) fn ctl(&self, words: &[&str]) -> Option<Command> {
        installed("etcdctl")?;
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.hosts().join(",")]).args(words);
        Some(command)
    }

    /// The leases, as etcd has them.
    pub(crate) fn leases(&self) -> Vec<String> {
        let Some(mut command) = self.ctl(&["lease", "list"]) else { return Vec::new() };
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    }

    /// All keys, as etcd has them.
    pub(crate) fn keys(&self) -> Vec<String> {
        let Some(mut command) = self.ctl(&["get", "", "--prefix", "--keys-only"]) else {
            return Vec::new();
        };
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|server| self.kill(server));
    }
}
