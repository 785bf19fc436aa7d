//! What the tests of the family share: a crowd of processes of one algorithm, whose messages
//! arrive in any order that their channels allow, at random.

use super::{Granted, Input, Mutex, Opening, Options};
use bellwether_core::{Channels, Effect, Group, NodeId, step};
use std::collections::{BTreeMap, VecDeque};

pub(super) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// The first opening of processes 1 to `n`: the largest coordinates, the first has the token.
pub(super) fn opening(n: u32) -> Opening {
    Opening::first(&Group::numbered(n).unwrap(), id(n), Options::default())
}

/// Some processes, what is on the way between them, and what their applications have.
#[derive(Clone, Debug)]
pub(super) struct Crowd<M: Mutex> {
    group: Group,
    opening: Opening,
    pub(super) processes: Vec<M>,
    /// What the application at each place has.
    pub(super) applications: Vec<Application>,
    /// What is on the way, in the order of sending, by sender and receiver.
    pub(super) channels: BTreeMap<(usize, usize), VecDeque<M::Msg>>,
    order: Channels,
    /// The entries so far, and the place in the promised order of the last.
    pub(super) entries: u64,
    last_place: Option<u64>,
    /// How many messages were sent.
    pub(super) sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    Idle,
    Waiting,
    Inside,
}

/// What an application has, and how often it still wants to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Application {
    pub(super) state: State,
    pub(super) wants: u32,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Request(usize),
    Release(usize),
    /// From, to, and which of the messages on the way.
    Deliver(usize, usize, usize),
}

impl<M: Mutex> Crowd<M> {
    /// Processes 1 to n, each of which wants to enter so often.
    pub(super) fn new(wants: &[u32]) -> Self {
        let opening = opening(wants.len() as u32);
        Self::open(opening, wants).unwrap()
    }

    /// The same with an opening of choice; it may break something at once.
    pub(super) fn open(opening: Opening, wants: &[u32]) -> Result<Self, String> {
        let group = Group::numbered(wants.len() as u32).unwrap();
        let applications = group.ring().iter().zip(wants).map(|(id, wants)| Application {
            state: match opening.is_inside(*id) {
                true => State::Inside,
                false if opening.is_waiting(*id) => State::Waiting,
                false => State::Idle,
            },
            wants: *wants,
        });
        let mut crowd = Crowd {
            processes: vec![M::default(); wants.len()],
            applications: applications.collect(),
            channels: BTreeMap::new(),
            order: M::ASSUMES.channels,
            entries: 0,
            last_place: None,
            sent: 0,
            group,
            opening,
        };
        for place in 0..wants.len() {
            crowd.call(place, |process, cx| process.on_start(None, cx))?;
        }
        Ok(crowd)
    }

    /// With channels of this order, whatever the algorithm assumes.
    pub(super) fn with_channels(mut self, order: Channels) -> Self {
        self.order = order;
        self
    }

    fn call(
        &mut self,
        place: usize,
        handler: impl FnOnce(&mut M, &mut bellwether_core::Context<'_, M>),
    ) -> Result<(), String> {
        let process = &mut self.processes[place];
        let effects = step(&self.group, place, &self.opening, |cx| handler(process, cx));
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => {
                    let to = self.group.place(to).ok_or("a message to a stranger")?;
                    self.sent += 1;
                    self.channels.entry((place, to)).or_default().push_back(msg);
                }
                Effect::Emit(granted) => self.enter(place, granted)?,
                Effect::SetTimer(..) | Effect::CancelTimer(_) => {}
            }
        }
        Ok(())
    }

    fn enter(&mut self, place: usize, Granted(number): Granted) -> Result<(), String> {
        let inside: Vec<usize> =
            (0..self.len()).filter(|p| self.applications[*p].state == State::Inside).collect();
        if !inside.is_empty() {
            return Err(format!("place {place} enters while {inside:?} is inside"));
        }
        if self.applications[place].state != State::Waiting {
            return Err(format!("place {place} enters without having asked"));
        }
        self.applications[place].state = State::Inside;
        self.entries += 1;
        if number != self.entries {
            return Err(format!("entry {} has the number {number}", self.entries));
        }
        let turn = self.processes[place].place();
        if turn.is_some() && turn <= self.last_place {
            return Err(format!("place {place} enters out of order: {turn:?}"));
        }
        self.last_place = turn.or(self.last_place);
        Ok(())
    }

    fn len(&self) -> usize {
        self.processes.len()
    }

    pub(super) fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for (place, application) in self.applications.iter().enumerate() {
            match application.state {
                State::Idle if application.wants > 0 => moves.push(Move::Request(place)),
                State::Inside => moves.push(Move::Release(place)),
                State::Idle | State::Waiting => {}
            }
        }
        for ((from, to), channel) in &self.channels {
            let open = if self.order == Channels::Any { channel.len() } else { 1 };
            moves.extend((0..open.min(channel.len())).map(|i| Move::Deliver(*from, *to, i)));
        }
        moves
    }

    pub(super) fn make(&mut self, next: Move) -> Result<(), String> {
        match next {
            Move::Request(place) => {
                let application = &mut self.applications[place];
                (application.state, application.wants) = (State::Waiting, application.wants - 1);
                self.call(place, |process, cx| process.on_input(Input::Request, cx))
            }
            Move::Release(place) => {
                self.applications[place].state = State::Idle;
                self.call(place, |process, cx| process.on_input(Input::Release, cx))
            }
            Move::Deliver(from, to, index) => {
                let channel = self.channels.get_mut(&(from, to)).ok_or("no such channel")?;
                let msg = channel.remove(index).ok_or("no such message")?;
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                let sender = self.group.ring()[from];
                self.call(to, |process, cx| process.on_message(sender, msg, cx))
            }
        }
    }

    /// Whether everybody has had all that it wanted.
    pub(super) fn is_served(&self) -> bool {
        self.applications.iter().all(|a| a.wants == 0 && a.state == State::Idle)
    }

    /// Moves at random until all are served. Gives up when nothing can happen any more, or after
    /// very many moves.
    pub(super) fn walk(&mut self, seed: u64) -> Result<(), String> {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for _ in 0..200_000 {
            if self.is_served() {
                return Ok(());
            }
            let moves = self.moves();
            if moves.is_empty() {
                return Err(format!("nothing can happen any more: {:?}", self.applications));
            }
            // xorshift: good enough to choose among moves.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            self.make(moves[(random % moves.len() as u64) as usize])?;
        }
        Err("no end".to_owned())
    }
}

/// What every algorithm of the family must do: random walks of crowds of all small sizes, from
/// the first opening and from random later ones.
pub(super) fn behaves<M: Mutex>() {
    for seed in 0..3_000_u64 {
        let n = 1 + (seed % 6) as u32;
        let wants: Vec<u32> = (0..n).map(|place| (seed as u32 / 6 + place) % 4).collect();
        Crowd::<M>::new(&wants).walk(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        let opening = random_opening(n, seed);
        Crowd::<M>::open(opening.clone(), &wants)
            .and_then(|mut crowd| crowd.walk(seed))
            .unwrap_or_else(|wrong| panic!("seed {seed}, {opening:?}: {wrong}"));
    }
}

/// An opening after a view of n processes: perhaps a process inside, some waiting.
pub(super) fn random_opening(n: u32, seed: u64) -> Opening {
    let pick =
        |salt: u64| (seed.wrapping_add(salt).wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as u32;
    let mut opening = opening(n);
    opening.token = id(1 + pick(1) % n);
    opening.inside = (pick(2) % 2 == 0).then_some(opening.token);
    let mut waiting: Vec<NodeId> = (1..=n).map(id).collect();
    waiting.rotate_left((pick(3) % n) as usize);
    waiting.retain(|id| opening.inside != Some(*id) && pick(10 + u64::from(id.number())) % 2 == 0);
    opening.waiting = waiting;
    opening
}
