//! Every state, breadth first.
//!
//! Level by level: all states that are this many steps from the beginning, then all that are one more.
//! So whatever is found first is reached by as few steps as possible. A level is worked off in
//! batches. In each, threads first write down the successors of the states that they are given, and
//! then sort them into the shards of the [store](crate::store), each shard in the order of the
//! states that the successors come from. Who did what when makes no difference: any number of
//! threads finds the same states in the same order.

use crate::judge::judge;
use crate::limits::{Limit, Limits};
use crate::model::Model;
use crate::sleep::{Bits, Mark, Reduction, Step, ambiguous};
use crate::store::{Found, GROUP, SHARDS, Shard, StateId, place_of, read, state_id, write};
use crate::tables::{Library, Numbers, Tables};
use crate::world::{Action, World};
use bellwether_algorithms::referee::Breach;
use bellwether_core::{Erasable, Process};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Different states.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// How many steps the last of them are from the beginning.
    pub depth: u32,
    /// States whose successors are still to be found.
    pub queue: u64,
    /// What the states take, in bytes.
    pub memory: u64,
    /// Different states of single processes.
    pub local_states: u64,
}

/// Why an exploration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// There is no other state.
    Complete,
    /// This state is wrong.
    Broken(StateId, Breach),
    /// A limit was reached.
    Limit(Limit),
}

/// States whose successors are found in one go.
const CHUNK: usize = 512;
/// Chunks that are worked off before their successors are sorted in.
const BATCH: usize = 64;

/// The states that were found, and how.
#[derive(Debug)]
pub(crate) struct Explorer<'a, P: Process> {
    model: &'a Model<P>,
    library: &'a Library<P>,
    workers: Vec<Tables<'a, P>>,
    pub(crate) shards: Vec<Shard>,
    /// The steps between states, if they are wanted: for each shard, where the successors of its
    /// states end, and the successors themselves.
    pub(crate) edges: Option<Vec<Edges>>,
    reduction: Reduction,
    limits: Limits,
    pub(crate) progress: Progress,
}

/// The successors of the states of a shard.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    ends: Vec<u64>,
    targets: Vec<StateId>,
}

impl Edges {
    /// The successors of the state at this index, in the order of its actions.
    pub(crate) fn of(&self, index: usize) -> &[StateId] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.targets[start as usize..self.ends[index] as usize]
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn memory(&self) -> usize {
        self.ends.len() * 8 + self.targets.len() * 4
    }

    #[cfg(test)]
    pub(crate) fn push(&mut self, after: impl Iterator<Item = StateId>) {
        self.targets.extend(after);
        self.ends.push(self.targets.len() as u64);
    }
}

/// The successors of some states, sorted by shard.
#[derive(Debug, Default)]
struct Harvest {
    /// For each shard: parent, what is asleep if anything may be, length and bytes of each
    /// successor.
    found: [Vec<u8>; SHARDS],
    /// In which shard each successor is.
    order: Vec<u8>,
    /// How many successors each state has.
    counts: Vec<u32>,
    /// The first state that is wrong.
    broken: Option<(StateId, Breach)>,
}

/// Some states of one shard: all of a range, which are new; or those in which something was asleep.
#[derive(Clone, Debug)]
enum Chunk {
    New(usize, Range<usize>),
    Woken(usize, Vec<(u32, u64)>),
}

impl Chunk {
    fn shard(&self) -> usize {
        let (Chunk::New(shard, _) | Chunk::Woken(shard, _)) = self;
        *shard
    }

    /// How many new states.
    fn len(&self) -> usize {
        match self {
            Chunk::New(_, range) => range.len(),
            Chunk::Woken(..) => 0,
        }
    }
}

impl<'a, P: Erasable> Explorer<'a, P> {
    pub(crate) fn new(
        model: &'a Model<P>,
        library: &'a Library<P>,
        limits: Limits,
        with_edges: bool,
    ) -> Self {
        let threads = limits.threads.max(1);
        Explorer {
            model,
            library,
            workers: (0..threads).map(|_| Tables::new(model, library)).collect(),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            edges: with_edges.then(|| (0..SHARDS).map(|_| Edges::default()).collect()),
            reduction: Reduction::of(model, limits.reduce && !with_edges, limits.members_only),
            limits,
            progress: Progress::default(),
        }
    }

    /// Finds all states that come after this, or as many as the limits allow.
    pub(crate) fn run(&mut self, begun: &[Action], tell: &mut dyn FnMut(&Progress)) -> End {
        let tables = &mut self.workers[0];
        let mut world = tables.start();
        begun.iter().for_each(|action| world.step(tables, *action));
        let (mut bytes, shard) = (Vec::new(), shard_of(tables.key(&world)));
        encode(&world, &mut bytes);
        self.shards[shard].insert_first(&bytes, state_id(shard, 0), self.reduction.bits.is_some());
        let mut done = [0; SHARDS];
        loop {
            let ends: Vec<usize> = self.shards.iter().map(Shard::len).collect();
            let level: Vec<Range<usize>> = done.iter().zip(&ends).map(|(a, b)| *a..*b).collect();
            let mut left: usize = level.iter().map(Range::len).sum();
            let mut work = self.woken();
            if left == 0 && work.is_empty() {
                return End::Complete;
            }
            work.extend(chunks(&level));
            if self.progress.depth > self.limits.depth {
                return End::Limit(Limit::Depth);
            }
            for batch in work.chunks(BATCH) {
                if let Some((state, breach)) = self.expand(batch, &ends) {
                    return End::Broken(state, breach);
                }
                left -= batch.iter().map(Chunk::len).sum::<usize>();
                self.count(&ends, left);
                tell(&self.progress);
                if self.progress.states > self.limits.states {
                    return End::Limit(Limit::States);
                }
                if self.progress.memory > self.limits.memory {
                    return End::Limit(Limit::Memory);
                }
            }
            done.copy_from_slice(&ends);
            // What was only woken up is of an earlier level.
            self.progress.depth += u32::from(level.iter().any(|range| !range.is_empty()));
        }
    }

    /// The states in which something was left asleep that is needed after all.
    fn woken(&mut self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        for (number, shard) in self.shards.iter_mut().enumerate() {
            let woken = shard.take_woken();
            chunks.extend(woken.chunks(CHUNK).map(|part| Chunk::Woken(number, part.to_vec())));
        }
        chunks
    }

    fn count(&mut self, ends: &[usize], left: usize) {
        let states: usize = self.shards.iter().map(Shard::len).sum();
        let new = states - ends.iter().sum::<usize>();
        let edges = self.edges.iter().flatten().map(Edges::memory).sum::<usize>();
        let memory = self.shards.iter().map(Shard::memory).sum::<usize>() + edges;
        self.progress.states = states as u64;
        self.progress.queue = (left + new) as u64;
        self.progress.memory = memory as u64;
        self.progress.local_states = self.library.local_states() as u64;
    }

    /// Finds the successors of these states; or a state among them that is wrong. The level ends at
    /// these indices: what is found beyond is new.
    fn expand(&mut self, batch: &[Chunk], ends: &[usize]) -> Option<(StateId, Breach)> {
        let next = AtomicUsize::new(0);
        let (shards, reduction) = (&self.shards, self.reduction);
        let work = |tables: &mut Tables<'a, P>| {
            let mut harvests = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = batch.get(index) else { return harvests };
                harvests.push((index, harvest(tables, shards, chunk, reduction)));
            }
        };
        let mut harvests = share(&mut self.workers, batch.len(), work);
        harvests.sort_unstable_by_key(|(index, _)| *index);
        if let Some(broken) = harvests.iter_mut().find_map(|(_, harvest)| harvest.broken.take()) {
            return Some(broken);
        }
        let harvests: Vec<Harvest> = harvests.into_iter().map(|(_, harvest)| harvest).collect();
        self.progress.steps += harvests.iter().map(|h| h.order.len() as u64).sum::<u64>();
        let (want, reduce) = (self.edges.is_some(), self.reduction.bits.is_some());
        let mut slots: Vec<(usize, &mut Shard, Vec<Vec<StateId>>)> =
            self.shards.iter_mut().enumerate().map(|(k, shard)| (k, shard, Vec::new())).collect();
        let sort_in = |(number, shard, targets): &mut (usize, &mut Shard, Vec<Vec<StateId>>)| {
            for harvest in &harvests {
                let mut found = Vec::new();
                let tell = |index| {
                    if want {
                        found.push(state_id(*number, index));
                    }
                };
                insert(shard, &harvest.found[*number], ends[*number], reduce, tell);
                targets.push(found);
            }
        };
        let threads = if batch.len() > 1 { self.workers.len() } else { 1 };
        let each = slots.len().div_ceil(threads);
        thread::scope(|scope| {
            let mut parts = slots.chunks_mut(each);
            let mine = parts.next();
            for part in parts {
                scope.spawn(|| part.iter_mut().for_each(sort_in));
            }
            mine.into_iter().flatten().for_each(sort_in);
        });
        if want {
            let targets: Vec<Vec<Vec<StateId>>> =
                slots.into_iter().map(|(_, _, targets)| targets).collect();
            self.link(batch, &harvests, &targets);
        }
        None
    }

    /// Notes which states follow which.
    fn link(&mut self, batch: &[Chunk], harvests: &[Harvest], targets: &[Vec<Vec<StateId>>]) {
        let Some(edges) = &mut self.edges else { return };
        for (number, (chunk, harvest)) in batch.iter().zip(harvests).enumerate() {
            let mut next = [0; SHARDS];
            let Edges { ends, targets: all } = &mut edges[chunk.shard()];
            for shard in harvest.order.iter().map(|shard| usize::from(*shard)) {
                all.push(targets[shard][number][next[shard]]);
                next[shard] += 1;
            }
            let mut end = ends.last().copied().unwrap_or(0);
            for count in &harvest.counts {
                end += u64::from(*count);
                ends.push(end);
            }
        }
    }

    /// The world of a state.
    pub(crate) fn world(&self, state: StateId) -> Numbers<'a, P> {
        let (shard, index) = place_of(state);
        decode(self.shards[shard].get(index), self.model)
    }

    /// The players of the first thread.
    pub(crate) fn tables(&mut self) -> &mut Tables<'a, P> {
        &mut self.workers[0]
    }

    /// The shortest way from the beginning to a state: all states on it.
    pub(crate) fn way_to(&self, state: StateId) -> Vec<StateId> {
        let mut way = vec![state];
        let mut last = state;
        loop {
            let (shard, index) = place_of(last);
            let parent = self.shards[shard].parent(index);
            if parent == last {
                way.reverse();
                return way;
            }
            way.push(parent);
            last = parent;
        }
    }

    /// What happens between states that follow one another.
    pub(crate) fn actions_along(&mut self, way: &[StateId]) -> Vec<Action> {
        let mut taken = Vec::new();
        for pair in way.windows(2) {
            let (from, to) = (self.world(pair[0]), self.world(pair[1]));
            let tables = &mut self.workers[0];
            let mut actions = Vec::new();
            from.actions(tables, &mut actions);
            let leads = |action: &Action| {
                let mut world = from.clone();
                world.step(tables, *action);
                world == to
            };
            taken.extend(actions.into_iter().find(leads));
        }
        taken
    }
}

/// Cuts a level into chunks.
fn chunks(level: &[Range<usize>]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (shard, range) in level.iter().enumerate() {
        for start in range.clone().step_by(CHUNK) {
            chunks.push(Chunk::New(shard, start..range.end.min(start + CHUNK)));
        }
    }
    chunks
}

/// Lets all workers work, or only one if there is little to do.
fn share<W: Send, T: Send>(
    workers: &mut [W],
    pieces: usize,
    work: impl Fn(&mut W) -> Vec<T> + Sync,
) -> Vec<T> {
    let many = workers.len().min(pieces);
    let Some((first, others)) = workers.split_first_mut() else { return Vec::new() };
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = others[..many.max(1) - 1]
            .iter_mut()
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        let mut done = work(first);
        for thread in running {
            match thread.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

/// Finds the successors of some states.
fn harvest<'a, P: Process>(
    tables: &mut Tables<'a, P>,
    shards: &[Shard],
    chunk: &Chunk,
    reduction: Reduction,
) -> Harvest {
    let mut harvest = Harvest::default();
    let mut reaper = Reaper {
        tables,
        reduction,
        actions: Vec::new(),
        steps: Vec::new(),
        bytes: Vec::new(),
        next: None,
    };
    match chunk {
        Chunk::New(shard, range) => {
            for index in range.clone() {
                let bytes = shards[*shard].get(index);
                let asleep = shards[*shard].asleep(index);
                let id = state_id(*shard, index);
                if let Err(breach) = reaper.reap(id, bytes, asleep, None, &mut harvest) {
                    harvest.broken = Some((id, breach));
                    return harvest;
                }
            }
        }
        Chunk::Woken(shard, states) => {
            for (index, woken) in states {
                let index = *index as usize;
                let (bytes, asleep) = (shards[*shard].get(index), shards[*shard].asleep(index));
                // It was judged when it was new.
                let _ =
                    reaper.reap(state_id(*shard, index), bytes, asleep, Some(*woken), &mut harvest);
            }
        }
    }
    harvest
}

/// Finds the successors of states, one after the other.
struct Reaper<'t, 'a, P: Process> {
    tables: &'t mut Tables<'a, P>,
    reduction: Reduction,
    actions: Vec<Action>,
    steps: Vec<Option<Step>>,
    bytes: Vec<u8>,
    next: Option<Numbers<'a, P>>,
}

impl<P: Process> Reaper<'_, '_, P> {
    /// Does in a state what is not asleep; or only what was woken up.
    fn reap(
        &mut self,
        id: StateId,
        bytes: &[u8],
        mut asleep: u64,
        woken: Option<u64>,
        harvest: &mut Harvest,
    ) -> Result<(), Breach> {
        let tables = &mut *self.tables;
        let world = decode(bytes, tables.plain.model);
        world.actions(tables, &mut self.actions);
        if woken.is_none()
            && let Some(breach) = judge(tables, &world)
        {
            return Err(breach);
        }
        if self.reduction.narrow {
            world.narrow(tables, &mut self.actions);
        }
        self.steps.clear();
        if let Some(bits) = self.reduction.bits {
            let step = |action: &Action| step(tables, bits, &world, *action);
            self.steps.extend(self.actions.iter().map(step));
        }
        let unclear = ambiguous(&self.steps);
        let before = harvest.order.len();
        for (number, action) in self.actions.iter().enumerate() {
            let step = self.steps.get(number).copied().flatten();
            let step = step.filter(|step| step.bit & unclear == 0);
            let bit = step.map_or(0, |step| step.bit);
            if asleep & bit != 0 || woken.is_some_and(|woken| woken & bit == 0) {
                continue;
            }
            let next = self.next.get_or_insert_with(|| world.clone());
            next.clone_from(&world);
            next.step(tables, *action);
            let unheard = step.filter(|_| next.witness == world.witness);
            let sleeps = unheard.map_or(0, |Step { same, .. }| asleep & !same);
            if unheard.is_some() {
                asleep |= bit;
            }
            self.bytes.clear();
            encode(next, &mut self.bytes);
            let shard = shard_of(tables.key(next));
            let found = &mut harvest.found[shard];
            found.extend_from_slice(&id.to_le_bytes());
            if self.reduction.bits.is_some() {
                found.extend_from_slice(&sleeps.to_le_bytes());
            }
            write(self.bytes.len() as u32, found);
            found.extend_from_slice(&self.bytes);
            harvest.order.push(shard as u8);
        }
        harvest.counts.push((harvest.order.len() - before) as u32);
        Ok(())
    }
}

/// The step that an action is, if it can sleep.
fn step<P: Process>(
    tables: &mut Tables<'_, P>,
    bits: Bits,
    world: &Numbers<'_, P>,
    action: Action,
) -> Option<Step> {
    let place = action.place()?;
    let mark = match action {
        Action::Deliver { at, .. } => tables.message_mark(world.inboxes[usize::from(place)], at),
        Action::Fire { at, .. } => tables.timer_mark(world.slots[usize::from(place)], at),
        Action::Input { .. } => Mark::Input,
        Action::Crash { .. } => Mark::Crash,
        Action::Recover { .. }
        | Action::Lose { .. }
        | Action::Duplicate { .. }
        | Action::Tick { .. } => return None,
    };
    Some(bits.step(place, mark))
}

/// Sorts successors into a shard, and tells their indices.
fn insert(
    shard: &mut Shard,
    mut found: &[u8],
    fresh: usize,
    reduce: bool,
    mut tell: impl FnMut(usize),
) {
    let mut group: Vec<Found<'_>> = Vec::with_capacity(GROUP);
    loop {
        let one = next_found(&mut found, reduce);
        let last = one.is_none();
        group.extend(one);
        if last || group.len() == GROUP {
            let indices = shard.insert_all(&group, fresh, reduce);
            indices[..group.len()].iter().for_each(|index| tell(*index as usize));
            group.clear();
        }
        if last {
            return;
        }
    }
}

/// The next successor that was written down.
fn next_found<'f>(rest: &mut &'f [u8], reduce: bool) -> Option<Found<'f>> {
    let (parent, mut after) = rest.split_first_chunk()?;
    let mut asleep = 0;
    if reduce && let Some((bits, more)) = after.split_first_chunk() {
        asleep = u64::from_le_bytes(*bits);
        after = more;
    }
    let length = read(&mut after) as usize;
    let (bytes, after) = after.split_at(length);
    *rest = after;
    Some(Found { bytes, parent: StateId::from_le_bytes(*parent), asleep })
}

fn shard_of(key: u64) -> usize {
    (key >> 60) as usize
}

/// The numbers of a world as bytes.
fn encode<P: Process>(world: &Numbers<'_, P>, bytes: &mut Vec<u8>) {
    let World { slots, inboxes, pasts, rest, witness } = world;
    for id in slots.iter().chain(inboxes).chain(pasts).chain([rest, witness]) {
        write(*id, bytes);
    }
}

fn decode<'a, P: Process>(mut bytes: &[u8], model: &'a Model<P>) -> Numbers<'a, P> {
    let nodes = model.group.len();
    let mut some = |count: usize| (0..count).map(|_| read(&mut bytes)).collect();
    let causal = crate::world::is_causal(model);
    World {
        slots: some(nodes),
        inboxes: some(nodes),
        pasts: some(if causal { nodes } else { 0 }),
        rest: read(&mut bytes),
        witness: read(&mut bytes),
    }
}
