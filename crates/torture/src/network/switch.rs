//! A switch in user space: reads frames from the TAP devices of all ports, and passes them on as the
//! rules say.

use super::super::chance::Chance;
use super::rule::{Port, Rule, Rules};
use bellwether_net::Clock;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The largest frame: an Ethernet frame without jumbo extensions is below it.
const FRAME_MAX: usize = 2_048;
/// The addresses of a frame come first: six bytes of the receiver, six of the sender.
const HEADER: usize = 14;
/// When nothing waits, look again after this.
const IDLE: Duration = Duration::from_secs(1);

/// The Ethernet address of a port.
pub(super) fn mac(port: Port) -> String {
    format!("02:00:00:00:00:{port:02x}")
}

/// The port that a frame is for; none if it is for all, which nothing here needs.
fn receiver(frame: &[u8]) -> Option<Port> {
    (frame.len() >= HEADER && frame[..5] == [2, 0, 0, 0, 0]).then(|| frame[5])
}

/// A frame that arrives later: when, a number that keeps the order, to whom, and what.
type Waiting = Reverse<(u64, u64, Port, Vec<u8>)>;

struct State {
    rules: Rules,
    chance: Chance,
    waiting: BinaryHeap<Waiting>,
    number: u64,
    over: bool,
}

struct Shared {
    ports: BTreeMap<Port, File>,
    state: Mutex<State>,
    woken: Condvar,
}

/// The switch. Its threads end when their devices are gone.
#[derive(Clone)]
pub(crate) struct Switch(Arc<Shared>);

fn now() -> u64 {
    Clock::shared().as_micros()
}

impl Switch {
    /// Connects these ports.
    pub(super) fn start(ports: BTreeMap<Port, File>, seed: u64) -> std::io::Result<Switch> {
        let names: Vec<Port> = ports.keys().copied().collect();
        let chance = Chance::new(seed, &[1 << 41]);
        let (rules, waiting) = (Rules::default(), BinaryHeap::new());
        let state = Mutex::new(State { rules, chance, waiting, number: 0, over: false });
        let switch = Switch(Arc::new(Shared { ports, state, woken: Condvar::new() }));
        for port in names {
            let reading = switch.clone();
            thread::Builder::new()
                .name(format!("port {port}"))
                .spawn(move || reading.read(port))?;
        }
        let later = switch.clone();
        thread::Builder::new().name("switch".to_owned()).spawn(move || later.deliver_late())?;
        Ok(switch)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a rule into force; its number.
    pub(crate) fn add(&self, rule: Rule, ways: BTreeSet<(Port, Port)>) -> u64 {
        self.lock().rules.add(rule, ways)
    }

    /// Whether no frame goes this way.
    pub(crate) fn is_cut(&self, way: (Port, Port)) -> bool {
        self.lock().rules.is_cut(way)
    }

    /// Takes a rule out of force; how many frames it hit.
    pub(crate) fn remove(&self, number: u64) -> u64 {
        self.lock().rules.remove(number)
    }

    /// Delivers nothing more that is late.
    pub(super) fn end(&self) {
        self.lock().over = true;
        self.0.woken.notify_one();
    }

    /// Takes what a port sends, until its device is gone.
    fn read(&self, from: Port) {
        let Some(mut device) = self.0.ports.get(&from) else { return };
        let mut frame = [0; FRAME_MAX];
        while let Ok(length) = device.read(&mut frame) {
            let frame = &frame[..length];
            let Some(to) = receiver(frame) else { continue };
            let now = now();
            let mut guard = self.lock();
            let state = &mut *guard;
            let mut at_once = 0;
            for at in state.rules.arrivals((from, to), length, now, &mut state.chance) {
                if at <= now {
                    at_once += 1;
                    continue;
                }
                state.number += 1;
                state.waiting.push(Reverse((at, state.number, to, frame.to_vec())));
                self.0.woken.notify_one();
            }
            drop(guard);
            (0..at_once).for_each(|_| self.write(to, frame));
        }
    }

    /// Delivers frames whose time has come.
    fn deliver_late(&self) {
        let mut state = self.lock();
        while !state.over {
            let now = now();
            while state.waiting.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
                if let Some(Reverse((_, _, to, frame))) = state.waiting.pop() {
                    self.write(to, &frame);
                }
            }
            let next =
                state.waiting.peek().map(|Reverse((at, ..))| Duration::from_micros(at - now));
            let waited = self.0.woken.wait_timeout(state, next.unwrap_or(IDLE));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn write(&self, to: Port, frame: &[u8]) {
        if let Some(mut device) = self.0.ports.get(&to) {
            // A device that is down or gone loses frames, as a cable that is pulled.
            let _ = device.write(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_for_the_port_in_its_address() {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        assert_eq!(receiver(&frame), Some(7));
        assert_eq!(mac(7), "02:00:00:00:00:07");
        frame[..6].fill(0xff);
        assert_eq!(receiver(&frame), None, "for all");
        assert_eq!(receiver(&frame[..5]), None);
    }
}
