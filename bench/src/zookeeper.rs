//! Three members of ZooKeeper, and a client of the usual lock on it.
//!
//! The lock is the recipe of ZooKeeper's documentation: an ephemeral, sequential node below the lock's. The lowest one
//! holds it, and each of the others watches the one before it. The client speaks the protocol itself, as far as the
//! recipe needs it: one request at a time, numbers with the most significant byte first, text with its length first.

use crate::Outcome;
use crate::process::{Process, ports};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// A cluster that has no leader by then never has one.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest time-out of a session that servers give with their defaults. Every request renews it.
const SESSION_MS: i32 = 40_000;
const MEMBERS: usize = 3;

/// What is asked for.
const CREATE: i32 = 1;
const DELETE: i32 = 2;
const EXISTS: i32 = 3;
const CHILDREN: i32 = 8;
const CLOSE: i32 = -11;
/// The number of a reply that answers no request: something that was watched has changed.
const EVENT: i32 = -1;
/// Errors: no such node, and one that is there already.
const NO_NODE: i32 = -101;
const NODE_EXISTS: i32 = -110;
/// Kinds of nodes: it stays; or it ends with its session, and its name gets a number.
const STAYS: i32 = 0;
const EPHEMERAL_SEQUENTIAL: i32 = 3;
/// Everybody may do everything.
const ALL: i32 = 31;

/// The members.
pub(crate) struct Zookeeper {
    members: Vec<Process>,
    /// Where clients reach the one that leads, which saves a hop.
    leader: u16,
    pub(crate) version: String,
}

/// Why there is none to be measured.
pub(crate) fn absent(jar: &Path) -> Option<String> {
    let hint = "apt-get install zookeeper installs it";
    (!jar.exists())
        .then(|| format!("no ZooKeeper at {}, so it is not measured; {hint}", jar.display()))
}

/// The version in what a member says of itself.
fn version(said: &str) -> String {
    let line = said.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
    let number = line.and_then(|line| line.split(['-', ',']).next());
    format!("ZooKeeper {}", number.unwrap_or("of unknown version"))
}

impl Zookeeper {
    /// Starts the members and waits until one of them leads.
    pub(crate) async fn start(jar: &Path, folder: &Path) -> Outcome<Self> {
        let ports = ports(3 * MEMBERS)?;
        let (clients, peers) = ports.split_at(MEMBERS);
        let servers: String = (1..=MEMBERS)
            .zip(peers.chunks(2))
            .map(|(id, at)| format!("server.{id}=127.0.0.1:{}:{}\n", at[0], at[1]))
            .collect();
        let mut members = Vec::new();
        for (id, client) in (1..).zip(clients) {
            let data = folder.join(format!("zookeeper-{id}"));
            let file = folder.join(format!("zookeeper-{id}.cfg"));
            // As in the example of the package.
            let config = format!(
                "tickTime=2000\ninitLimit=10\nsyncLimit=5\nmaxClientCnxns=0\nadmin.enableServer=false\n\
                 clientPortAddress=127.0.0.1\nclientPort={client}\ndataDir={}\n{servers}",
                data.display()
            );
            let written = std::fs::create_dir_all(&data)
                .and_then(|()| std::fs::write(data.join("myid"), format!("{id}\n")))
                .and_then(|()| std::fs::write(&file, config));
            written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            let beside: PathBuf = jar.with_file_name("slf4j-nop.jar");
            let args = [
                "-Xmx256m".to_owned(),
                "-cp".to_owned(),
                format!("{}:{}", jar.display(), beside.display()),
                "org.apache.zookeeper.server.quorum.QuorumPeerMain".to_owned(),
                file.display().to_string(),
            ];
            let name = format!("zookeeper-{id}");
            members.push(Process::start(&name, Path::new("java"), args, folder)?);
        }
        let mut cluster = Zookeeper { members, leader: 0, version: String::new() };
        let leader = timeout(PATIENCE, find_leader(clients)).await;
        for member in &mut cluster.members {
            member.check()?;
        }
        (cluster.leader, cluster.version) =
            leader.map_err(|_| "the members of ZooKeeper elect no leader".to_owned())?;
        Ok(cluster)
    }

    /// A client on a connection of its own, with a session of its own, of this lock.
    pub(crate) async fn client(&self, lock: &str) -> Outcome<Client> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.leader)).await.map_err(said)?;
        stream.set_nodelay(true).map_err(said)?;
        let folder = format!("/{}", lock.replace('/', "-"));
        let mut client =
            Client { stream: BufReader::new(stream), number: 0, folder, own: String::new() };
        client.begin().await?;
        Ok(client)
    }

    /// Ends the members.
    pub(crate) async fn end(self) {
        for member in self.members {
            member.end().await;
        }
    }
}

/// Where clients reach the leader, and its version.
async fn find_leader(ports: &[u16]) -> (u16, String) {
    loop {
        for port in ports {
            if let Ok(said) = about(*port).await
                && said.contains("Mode: leader")
            {
                return (*port, version(&said));
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn about(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.write_all(b"srvr").await?;
    let mut said = String::new();
    stream.read_to_string(&mut said).await?;
    Ok(said)
}

/// A client of the lock.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// Of the last request.
    number: i32,
    folder: String,
    /// The node that stands for the lock while it is held.
    own: String,
}

impl Client {
    /// Begins a session, and makes the lock's node.
    async fn begin(&mut self) -> Outcome<()> {
        let mut hello = Frame::default();
        hello.number(0).long(0).number(SESSION_MS).long(0).text(&[0; 16]);
        self.send(hello).await?;
        self.receive().await?;
        let folder = self.folder.clone();
        match self.create(&folder, STAYS).await {
            Ok(_) | Err(Refused::Code(NODE_EXISTS)) => Ok(()),
            Err(error) => Err(error.words()),
        }
    }

    /// Returns when the lock is held.
    pub(crate) async fn lock(&mut self) -> Outcome<()> {
        let place = format!("{}/n-", self.folder);
        self.own = self.create(&place, EPHEMERAL_SEQUENTIAL).await.map_err(|e| e.words())?;
        let own = self.own.rsplit('/').next().unwrap_or_default().to_owned();
        loop {
            let mut asks = Frame::default();
            asks.text(self.folder.as_bytes()).byte(0);
            let mut answer = self.ask(CHILDREN, asks).await.map_err(|error| error.words())?;
            let names = answer.texts()?;
            // All names have the same length, so their order is that of their numbers.
            let Some(before) = names.into_iter().filter(|name| *name < own).max() else {
                return Ok(());
            };
            let mut watches = Frame::default();
            watches.text(format!("{}/{before}", self.folder).as_bytes()).byte(1);
            match self.ask(EXISTS, watches).await {
                Ok(_) => while self.receive().await?.take_number()? != EVENT {},
                Err(Refused::Code(NO_NODE)) => {}
                Err(error) => return Err(error.words()),
            }
        }
    }

    /// Returns when the lock is given back.
    pub(crate) async fn unlock(&mut self) -> Outcome<()> {
        let own = std::mem::take(&mut self.own);
        let mut asks = Frame::default();
        asks.text(own.as_bytes()).number(-1);
        self.ask(DELETE, asks).await.map(drop).map_err(|error| error.words())
    }

    /// Ends the session.
    pub(crate) async fn close(mut self) -> Outcome<()> {
        self.ask(CLOSE, Frame::default()).await.map(drop).map_err(|error| error.words())
    }

    /// Makes a node; its name.
    async fn create(&mut self, path: &str, kind: i32) -> Result<String, Refused> {
        let mut asks = Frame::default();
        asks.text(path.as_bytes()).text(b"me").number(1).number(ALL);
        asks.text(b"world").text(b"anyone").number(kind);
        self.ask(CREATE, asks).await?.take_text().map_err(Refused::Broken)
    }

    async fn ask(&mut self, what: i32, body: Frame) -> Result<Answer, Refused> {
        self.number += 1;
        let mut frame = Frame::default();
        frame.number(self.number).number(what).0.extend(body.0);
        self.send(frame).await.map_err(Refused::Broken)?;
        loop {
            let mut answer = self.receive().await.map_err(Refused::Broken)?;
            // An event of a watch that is not waited for any more comes between.
            if answer.take_number().map_err(Refused::Broken)? == self.number {
                answer.skip(8).map_err(Refused::Broken)?;
                return match answer.take_number().map_err(Refused::Broken)? {
                    0 => Ok(answer),
                    code => Err(Refused::Code(code)),
                };
            }
        }
    }

    async fn send(&mut self, frame: Frame) -> Outcome<()> {
        let mut bytes = (frame.0.len() as u32).to_be_bytes().to_vec();
        bytes.extend(frame.0);
        self.stream.get_mut().write_all(&bytes).await.map_err(said)
    }

    async fn receive(&mut self) -> Outcome<Answer> {
        let length = self.stream.read_u32().await.map_err(said)?;
        let mut bytes = vec![0; length as usize];
        self.stream.read_exact(&mut bytes).await.map_err(said)?;
        Ok(Answer { bytes, read: 0 })
    }
}

/// Why a request was not carried out.
enum Refused {
    /// The server says so.
    Code(i32),
    Broken(String),
}

impl Refused {
    fn words(self) -> String {
        match self {
            Refused::Code(code) => format!("ZooKeeper: error {code}"),
            Refused::Broken(words) => words,
        }
    }
}

/// A request as it is written.
#[derive(Default)]
struct Frame(Vec<u8>);

impl Frame {
    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn number(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn long(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn text(&mut self, text: &[u8]) -> &mut Self {
        self.number(text.len() as i32).0.extend(text);
        self
    }
}

/// A reply as it is read.
struct Answer {
    bytes: Vec<u8>,
    read: usize,
}

impl Answer {
    fn skip(&mut self, length: usize) -> Outcome<&[u8]> {
        let part = self.bytes.get(self.read..self.read + length);
        self.read += length;
        part.ok_or_else(|| "ZooKeeper: a reply is shorter than it says".to_owned())
    }

    fn take_number(&mut self) -> Outcome<i32> {
        let bytes = self.skip(4)?;
        Ok(bytes.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes)))
    }

    fn take_text(&mut self) -> Outcome<String> {
        let length = self.take_number()?.max(0) as usize;
        Ok(String::from_utf8_lossy(self.skip(length)?).into_owned())
    }

    fn texts(&mut self) -> Outcome<Vec<String>> {
        let count = self.take_number()?.max(0);
        (0..count).map(|_| self.take_text()).collect()
    }
}

fn said(error: std::io::Error) -> String {
    format!("ZooKeeper: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let mut frame = Frame::default();
        frame.number(-7).number(2).text(b"n-1").text(b"").long(1);
        let mut answer = Answer { bytes: frame.0, read: 0 };
        assert_eq!(answer.take_number(), Ok(-7));
        assert_eq!(answer.texts(), Ok(vec!["n-1".to_owned(), String::new()]));
        assert_eq!(answer.skip(8).map(<[u8]>::len), Ok(8));
        assert!(answer.take_number().is_err(), "it has ended");
    }

    #[test]
    fn a_member_says_more_than_its_version() {
        let said =
            "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29\nMode: leader\n";
        assert_eq!(version(said), "ZooKeeper 3.8.0");
    }
}
