//! `up --plain`: a line per change, and commands from standard input.

use super::command::{Command, usages};
use super::{Next, Session};
use bellwether_shell::{Failure, print};
use std::io::BufRead;
use tokio::sync::mpsc;

/// Runs until told to end.
pub(crate) async fn run(session: &mut Session) -> Result<(), Failure> {
    print(&greeting(session))?;
    let mut lines = standard_input();
    let (mut open, mut printed) = (true, 0);
    loop {
        for news in session.world.news.iter().filter(|news| news.seq > printed) {
            print(&format!("{:8.3}s  {}\n", news.at_ms as f64 / 1_000.0, news.text))?;
        }
        printed = session.world.latest();
        tokio::select! {
            next = session.next() => match next {
                Next::End => return Ok(()),
                Next::Order(order) => session.obey(order).await,
                Next::News => {}
            },
            line = lines.recv(), if open => match line {
                // Its end says nothing: a script may have had nothing to say.
                None => open = false,
                Some(line) if line.trim().is_empty() => {}
                Some(line) => match Command::parse(&line, session.world.seats.len() as u32) {
                    Ok(Command::Quit) => return Ok(()),
                    Ok(command) => session.command(&command).await,
                    Err(complaint) => session.note(format!("error: {complaint}")),
                },
            }
        }
    }
}

fn greeting(session: &Session) -> String {
    let cluster = &session.cluster;
    let mut text = format!("{} members, each in its own process:\n", cluster.members.len());
    for member in &cluster.members {
        let pid = member.pid().unwrap_or_default();
        text += &format!("  member {}  pid {pid}  http://{}\n", member.id, member.http);
    }
    text += &format!("dashboard  {}\n", session.handle.url());
    if let Some(socket) = cluster.members.first().and_then(|member| cluster.socket(member.id)) {
        text += &format!(
            "clients: all commands find the cluster; programs use --socket {}\n",
            socket.display()
        );
    }
    let goes = if cluster.is_temporary() { ", removed at the end" } else { "" };
    text += &format!("files: {}{goes}\n", cluster.folder().display());
    text + &format!("commands: {}\nCtrl-C ends all members\n", usages())
}

/// Lines, read by a thread of their own: a read from a terminal cannot be given up.
fn standard_input() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
