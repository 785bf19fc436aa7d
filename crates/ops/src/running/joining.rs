//! Locks within locks.
//!
//! `bellwether lock a -- sh -c 'bellwether lock b -- ...'` is one job that holds `a` and wants `b`.
//! If they were two sessions, the cluster could not see that the first waits for the second, and two such jobs
//! that take `a` and `b` in different order would wait for each other for ever. So the inner command
//! asks the outer one to take the lock in its own session.
//!
//! The outer command listens at a socket whose name its job has in the environment. It serves
//! processes of its own user only. A connection is one request; when it is closed, the lock is given
//! back.

use super::args::How;
use super::exit_code;
use bellwether::{Error, ErrorKind, Session};
use bellwether_shell::Failure;
use rustix::process::getuid;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener, UnixStream as StdStream};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// Names the socket of the outermost command.
pub(super) const WITHIN: &str = "BELLWETHER_WITHIN";
/// The locks that this job holds, all together, separated by commas.
pub(super) const LOCKS: &str = "BELLWETHER_LOCKS";

/// What an inner command wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wish {
    pub(super) names: Vec<String>,
    pub(super) how: How,
    /// The longest wait; none if there is no limit. Zero means that the request does not wait.
    pub(super) wait: Option<Duration>,
}

/// What an outer command says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Says {
    /// It is held.
    Granted { token: u64, session: String },
    /// It is not, and this is why, with the exit code for it.
    Refused { code: u8, text: String },
    /// Another part of this job has it or wants it: two parts of a job wait for each other in
    /// sessions of their own.
    Taken,
    /// It was held, and is no more.
    Lost { how: String },
}

/// Asks for the locks of a wish.
pub(super) fn request(session: &Session, wish: &Wish) -> Option<bellwether::LockRequest> {
    let mut names = wish.names.iter();
    let with = |request: bellwether::LockRequest| match wish.how {
        How::Exclusive => request,
        How::Shared => request.shared(),
        How::Permits(take, of) => request.permits(take, of),
    };
    let first = with(session.lock(names.next()?));
    let all = names.fold(first, |request, name| with(request.and(name)));
    Some(match wish.wait {
        None => all,
        Some(Duration::ZERO) => all.try_lock(),
        Some(wait) => all.timeout(wait),
    })
}

/// Serves the commands within a job. It ends when this is dropped.
pub(super) struct Outer {
    name: String,
    _tasks: JoinSet<()>,
}

impl Outer {
    /// Serves them in this session, which holds these locks already.
    pub(super) fn start(session: Session, own: Vec<String>) -> io::Result<Outer> {
        let name = format!("bellwether-{:032x}", bellwether_net::draw());
        let listener = StdListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut inner = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while inner.try_join_next().is_some() {}
                let mine = stream.peer_cred().is_ok_and(|peer| peer.uid() == getuid().as_raw());
                if mine {
                    let (session, own) = (session.clone(), own.clone());
                    inner.spawn(async move {
                        // A caller that is gone need not know.
                        let _ = serve(stream, session, own).await;
                    });
                }
            }
        });
        Ok(Outer { name, _tasks: tasks })
    }

    /// What the job has in its environment.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

async fn serve(stream: UnixStream, session: Session, own: Vec<String>) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let Some(line) = lines.next_line().await? else { return Ok(()) };
    let wish: Wish = serde_json::from_str(&line)?;
    let Some(request) = request(&session, &wish) else { return Ok(()) };
    let granted = tokio::select! {
        granted = request => granted,
        // The caller has gone.
        _ = lines.next_line() => return Ok(()),
    };
    let lock = match granted {
        Ok(lock) => lock,
        Err(error)
            if error.kind() == ErrorKind::AlreadyRequested
                && error.name().is_some_and(|name| own.iter().all(|own| own != name)) =>
        {
            return say(&mut writer, &Says::Taken).await;
        }
        Err(error) => {
            let (code, text) = (exit_code(error.kind()), told(&error));
            return say(&mut writer, &Says::Refused { code, text }).await;
        }
    };
    let (token, session) = (lock.token().0, session.id().to_string());
    say(&mut writer, &Says::Granted { token, session }).await?;
    let lost = tokio::select! {
        how = lock.lost() => Some(how.to_string()),
        _ = lines.next_line() => None,
    };
    match lost {
        Some(how) => say(&mut writer, &Says::Lost { how }).await,
        None => {
            let _ = lock.release().await;
            // A caller that waits for it sees the end of the connection.
            Ok(())
        }
    }
}

async fn say(writer: &mut OwnedWriteHalf, what: &Says) -> io::Result<()> {
    let line = serde_json::to_string(what)? + "\n";
    writer.write_all(line.as_bytes()).await
}

/// A lock that the outer command holds for this one.
pub(super) struct Joined {
    pub(super) token: u64,
    pub(super) session: String,
    lines: Mutex<Lines<BufReader<OwnedReadHalf>>>,
    writer: OwnedWriteHalf,
}

impl Joined {
    /// Waits until it is lost, and says how. May be cancelled.
    pub(super) async fn lost(&self) -> String {
        let line = self.lines.lock().await.next_line().await;
        match line.ok().flatten().map(|line| serde_json::from_str(&line)) {
            Some(Ok(Says::Lost { how })) => how,
            _ => "the command around this one has ended".to_owned(),
        }
    }

    /// Gives it back, and waits until the cluster knows.
    pub(super) async fn release(mut self) {
        if self.writer.shutdown().await.is_ok() {
            while let Ok(Some(_)) = self.lines.get_mut().next_line().await {}
        }
    }
}

/// Asks the outer command at this socket; `None` if this one has to see for itself.
pub(super) async fn join(socket: &str, wish: &Wish) -> Result<Option<Joined>, Failure> {
    match ask(socket, wish).await {
        Ok((Says::Granted { token, session }, lines, writer)) => {
            Ok(Some(Joined { token, session, lines: Mutex::new(lines), writer }))
        }
        Ok((Says::Refused { code, text }, ..)) => Err(Failure::Exit(code, text)),
        // The variable may be left over from a command that is gone.
        Ok((Says::Taken | Says::Lost { .. }, ..)) | Err(_) => Ok(None),
    }
}

async fn ask(
    socket: &str,
    wish: &Wish,
) -> io::Result<(Says, Lines<BufReader<OwnedReadHalf>>, OwnedWriteHalf)> {
    let stream = StdStream::connect_addr(&SocketAddr::from_abstract_name(socket)?)?;
    stream.set_nonblocking(true)?;
    let (reader, mut writer) = UnixStream::from_std(stream)?.into_split();
    let line = serde_json::to_string(wish)? + "\n";
    writer.write_all(line.as_bytes()).await?;
    let mut lines = BufReader::new(reader).lines();
    let line = lines.next_line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((serde_json::from_str(&line)?, lines, writer))
}

/// An error as `lock` tells it: a deadlock with its whole cycle.
pub(super) fn told(error: &Error) -> String {
    let Some(deadlock) = error.deadlock() else { return error.to_string() };
    let mut text =
        "deadlock: each of these waits for the next one, and the last for the first; this \
                    request was aborted\n"
            .to_owned();
    for wait in &deadlock.cycle {
        text += &format!("  {} ({}) waits for '{}'\n", wait.session, wait.client, wait.lock);
    }
    text + "Ask for locks in the same order everywhere, or for all at once: bellwether lock a,b -- ..."
}
