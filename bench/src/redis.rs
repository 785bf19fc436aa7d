//! One Redis, and a client of the usual lock on it.
//!
//! The lock is a key: set if it is not there, with a value that only the holder knows and a time
//! after which it goes by itself; and given back by a script that removes it if the value is still
//! the holder's.

use crate::Outcome;
use crate::process::{Process, ports};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Script};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A server that does not answer by then never does.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a lock usually lasts if it is not released.
const LASTS_MS: u32 = 30_000;
const UNLOCK: &str = "if redis.call('get', KEYS[1]) == ARGV[1] \
                      then return redis.call('del', KEYS[1]) else return 0 end";

/// The server.
pub(crate) struct Redis {
    server: Process,
    port: u16,
    socket: PathBuf,
}

/// What it writes to its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    /// Every command, synced before it is answered.
    Everything,
}

/// How a client reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Tcp,
    Unix,
}

impl Redis {
    /// Starts the server and waits until it answers.
    pub(crate) async fn start(program: &Path, folder: &Path, keeps: Keeps) -> Outcome<Self> {
        let port = ports(1)?[0];
        let (name, appends) = match keeps {
            Keeps::Nothing => ("redis", "no"),
            Keeps::Everything => ("redis-always", "yes"),
        };
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let socket = folder.join("redis.sock");
        let (port_text, socket_text) = (port.to_string(), socket.display().to_string());
        let args = [
            ["--port", &port_text],
            ["--bind", "127.0.0.1"],
            ["--unixsocket", &socket_text],
            ["--save", ""],
            ["--appendonly", appends],
            ["--appendfsync", "always"],
        ];
        let server = Process::start(name, program, args.iter().flatten(), &folder)?;
        let mut redis = Redis { server, port, socket };
        let answers = async {
            while redis.connect(Way::Tcp).await.is_err() || redis.connect(Way::Unix).await.is_err()
            {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let answers = timeout(PATIENCE, answers).await;
        redis.server.check()?;
        answers.map_err(|_| "Redis does not answer".to_owned())?;
        Ok(redis)
    }

    async fn connect(&self, way: Way) -> Outcome<MultiplexedConnection> {
        let url = match way {
            Way::Tcp => format!("redis://127.0.0.1:{}", self.port),
            Way::Unix => format!("redis+unix://{}", self.socket.display()),
        };
        let client = redis::Client::open(url).map_err(said)?;
        // No timer for each request: it would cost something.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        client.get_multiplexed_async_connection_with_config(&config).await.map_err(said)
    }

    /// A client on a connection of its own, of this lock.
    pub(crate) async fn client(&self, way: Way, lock: &str) -> Outcome<Client> {
        let connection = self.connect(way).await?;
        let token = format!("holder of {lock}");
        Ok(Client { connection, lock: lock.to_owned(), token, unlock: Script::new(UNLOCK) })
    }

    /// Ends the server.
    pub(crate) async fn end(self) {
        self.server.end().await;
    }
}

/// A client of the lock.
pub(crate) struct Client {
    connection: MultiplexedConnection,
    lock: String,
    token: String,
    unlock: Script,
}

impl Client {
    /// Takes the lock, which must be free.
    pub(crate) async fn lock(&mut self) -> Outcome<()> {
        let mut command = redis::cmd("SET");
        command.arg(&self.lock).arg(&self.token).arg("NX").arg("PX").arg(LASTS_MS);
        let set: Option<String> = command.query_async(&mut self.connection).await.map_err(said)?;
        match set {
            Some(_) => Ok(()),
            None => Err(format!("Redis: the lock '{}' is not free", self.lock)),
        }
    }

    /// Gives the lock back.
    pub(crate) async fn unlock(&mut self) -> Outcome<()> {
        let mut script = self.unlock.key(&self.lock);
        let call = script.arg(&self.token).invoke_async::<u32>(&mut self.connection);
        match call.await.map_err(said)? {
            1 => Ok(()),
            _ => Err(format!("Redis: the lock '{}' was lost", self.lock)),
        }
    }
}

fn said(error: redis::RedisError) -> String {
    format!("Redis: {error}")
}
