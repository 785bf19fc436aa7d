//! The terminal: keys in, pictures out, and left as it was found.

use super::cluster::Condition;
use super::command::Command;
use super::view::{View, render};
use super::{Next, Session};
use bellwether_shell::Failure;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::mpsc;

/// Gives the terminal back on every way out. A panic does so too, by the library's hook.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Runs until told to end.
pub(crate) async fn run(session: &mut Session) -> Result<(), Failure> {
    let unable =
        |error| Failure::Input(format!("cannot draw on the terminal: {error}; try --plain"));
    let mut terminal = ratatui::try_init().map_err(unable)?;
    let _guard = Guard;
    let mut view = View {
        lease: session.cluster.choices.lease,
        dashboard: session.handle.url(),
        ..View::default()
    };
    let mut keys = keyboard();
    loop {
        let now = session.now();
        view.choose_coordinator(&session.world);
        terminal.draw(|frame| render(frame, &session.world, &view, now)).map_err(unable)?;
        tokio::select! {
            next = session.next() => match next {
                Next::End => return Ok(()),
                Next::Order(order) => session.obey(order).await,
                Next::News => {}
            },
            key = keys.recv() => match key {
                // The terminal is gone.
                None => return Ok(()),
                Some(key) => match pressed(key, &mut view, session) {
                    Some(Command::Quit) => return Ok(()),
                    Some(command) => session.command(&command).await,
                    None => {}
                },
            }
        }
    }
}

/// What a key asks for.
fn pressed(key: KeyEvent, view: &mut View, session: &Session) -> Option<Command> {
    let seats = &session.world.seats;
    let chosen = seats.get(view.chosen)?;
    let id = chosen.id;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if view.help && !control && key.code != KeyCode::Char('q') {
        view.help = false;
        return None;
    }
    match key.code {
        KeyCode::Char('c') if control => return Some(Command::Quit),
        KeyCode::Char('q') => return Some(Command::Quit),
        KeyCode::Char('?' | 'h') => view.help = true,
        KeyCode::Up => view.choose(view.chosen.saturating_sub(1)),
        KeyCode::Down => view.choose((view.chosen + 1).min(seats.len() - 1)),
        // A second time removes the mark.
        KeyCode::Char(' ') if view.marked.remove(&view.chosen) => {}
        KeyCode::Char(' ') => {
            view.marked.insert(view.chosen);
        }
        KeyCode::Char('k') => return Some(Command::Kill(id)),
        KeyCode::Char('p') if chosen.condition == Condition::Paused => {
            return Some(Command::Resume(id));
        }
        KeyCode::Char('p') => return Some(Command::Pause(id)),
        KeyCode::Char('r') => return Some(Command::Revive(id)),
        KeyCode::Char('s') => return Some(Command::StepDown),
        KeyCode::Char('t') => return Some(Command::Transfer(id)),
        KeyCode::Char('c') => return cut(view, session),
        _ => {}
    }
    None
}

/// Cuts off what is marked, or else what is chosen; heals if there is a cut and nothing is marked.
fn cut(view: &mut View, session: &Session) -> Option<Command> {
    let seats = &session.world.seats;
    if view.marked.is_empty() && seats.iter().any(|seat| !seat.blocked.is_empty()) {
        return Some(Command::Heal);
    }
    let places = match view.marked.is_empty() {
        true => BTreeSet::from([view.chosen]),
        false => std::mem::take(&mut view.marked),
    };
    let (mut one, mut other) = (BTreeSet::new(), BTreeSet::new());
    for (place, seat) in seats.iter().enumerate() {
        let side = if places.contains(&place) { &mut one } else { &mut other };
        side.insert(seat.id);
    }
    (!other.is_empty()).then(|| Command::Split(vec![one, other]))
}

/// Keys, read by a thread of their own.
fn keyboard() -> mpsc::Receiver<KeyEvent> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        while !sender.is_closed() {
            match event::poll(Duration::from_millis(100)) {
                Ok(false) => {}
                Ok(true) => match event::read() {
                    Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => {
                        if sender.blocking_send(key).is_err() {
                            return;
                        }
                    }
                    Ok(_) => {}
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
    });
    receiver
}
