//! Chang-Roberts as a plain loop: flat arrays and a wheel of 128 lists, one per millisecond.

/// A ring of processes and the messages between them.
pub(crate) struct Ring {
    ids: Vec<u32>,
    participant: Vec<bool>,
    leader: Vec<u32>,
    wheel: Vec<Vec<Message>>,
    random: u64,
}

#[derive(Clone, Copy)]
struct Message {
    to: u32,
    number: u32,
    elected: bool,
}

impl Ring {
    pub(crate) fn new(ids: Vec<u32>, seed: u64) -> Self {
        let n = ids.len();
        Ring {
            ids,
            participant: vec![false; n],
            leader: vec![0; n],
            wheel: vec![Vec::new(); 128],
            random: seed.wrapping_mul(2) + 88_172_645_463_325_253,
        }
    }

    /// Everybody starts; returns how many messages were delivered.
    pub(crate) fn elect(&mut self) -> u64 {
        let mut now = 0;
        let mut pending = 0usize;
        let mut events = 0;
        for place in 0..self.ids.len() {
            self.participant[place] = true;
            self.send(now, place, self.ids[place], false);
            pending += 1;
        }
        let mut present = Vec::new();
        while pending > 0 {
            now += 1;
            std::mem::swap(&mut present, &mut self.wheel[now % 128]);
            for message in present.drain(..) {
                events += 1;
                if !self.receive(now, message) {
                    pending -= 1;
                }
            }
        }
        assert!(self.leader.iter().all(|leader| *leader as usize == self.ids.len()));
        events
    }

    /// Handles a message; says whether another one is on its way instead.
    fn receive(&mut self, now: usize, message: Message) -> bool {
        let place = message.to as usize;
        let me = self.ids[place];
        let Message { number, elected, .. } = message;
        if elected {
            self.participant[place] = false;
            self.leader[place] = number;
            if number != me {
                self.send(now, place, number, true);
            }
            number != me
        } else if number > me {
            self.participant[place] = true;
            self.send(now, place, number, false);
            true
        } else if number < me {
            let joins = !self.participant[place];
            if joins {
                self.participant[place] = true;
                self.send(now, place, me, false);
            }
            joins
        } else {
            self.participant[place] = false;
            self.leader[place] = me;
            self.send(now, place, me, true);
            true
        }
    }

    fn send(&mut self, now: usize, place: usize, number: u32, elected: bool) {
        // Marsaglia's xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let after = 1 + (((self.random >> 32) * 100) >> 32) as usize;
        let to = if place + 1 == self.ids.len() { 0 } else { place + 1 } as u32;
        self.wheel[(now + after) % 128].push(Message { to, number, elected });
    }
}
