//! Real logs, driven by a small network of their own, with stores that are opened again and again.

use super::*;
use crate::codec;
use bellwether_core::{Context, Effect, Group, Here, NodeId, Time};
use bellwether_log::{Birth, Config, Input, Msg, Quorum, Saved, Timer, Unsound};
use bellwether_net::durable::compose;
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;

/// A state machine whose state is the list of all commands that it has executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct List(pub(super) Vec<String>);

impl Machine for List {
    type Command = String;
    type Outcome = ();
    type Part = String;
    type Cursor = usize;

    fn apply(&mut self, command: &String) -> Vec<()> {
        self.0.push(command.clone());
        Vec::new()
    }

    fn weight(command: &String) -> usize {
        command.len() + 1
    }

    fn part_weight(part: &String) -> usize {
        part.len() + 1
    }

    fn cut(&self, from: &usize, budget: usize) -> (Vec<String>, Option<usize>) {
        let rest = self.0.get(*from..).unwrap_or_default();
        let mut room = budget;
        let fits = |part: &&String| {
            let is_first = room == budget;
            room = room.saturating_sub(part.len() + 1);
            is_first || room > 0
        };
        let parts: Vec<_> = rest.iter().take_while(fits).cloned().collect();
        let next = from + parts.len();
        (parts, (next < self.0.len()).then_some(next))
    }

    fn absorb(&mut self, parts: Vec<String>) -> Result<(), Unsound> {
        self.0.extend(parts);
        Ok(())
    }

    fn complete(self) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn ttl_of(_: &String) -> Duration {
        Duration::from_secs(1)
    }
}

pub(super) fn owner(id: u32) -> Owner {
    Owner { cluster: "test".into(), id: NodeId::new(id), protocol: "member/2".into() }
}

pub(super) type Opened = (LogStore<List>, Option<Durable<List>>);

/// Small segments and snapshots, so that a short run has many of them.
pub(super) fn open(folder: &TempDir, id: u32) -> Opened {
    let path = folder.path().join(format!("test-{id}.log"));
    LogStore::open_with(&path, owner(id), 2_000, 3_000).unwrap()
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % most
    }
}

struct Node {
    log: Log<List>,
    store: Option<LogStore<List>>,
    timers: BTreeMap<Timer, Time>,
    config: Config,
}

struct World {
    folder: TempDir,
    group: Group,
    now: Time,
    nodes: Vec<Node>,
    flying: Vec<(NodeId, NodeId, Msg<List>)>,
    random: Random,
    proposed: u64,
    /// Restarts; those with a log; those while it was being filled; snapshots that were adopted; saves of
    /// nothing but a promise.
    seen: [usize; 5],
}

impl World {
    fn new(seed: u64, durability: Durability) -> Self {
        let group = Group::numbered(3).unwrap();
        let mut config = Config::new(Duration::from_millis(100), Duration::from_millis(500), 500);
        (config.durability, config.keep_bytes, config.piece) = (durability, 400, (100, 400));
        config.quorum = Quorum::Majority;
        let node = |place: u64| Node {
            log: Log::default(),
            store: None,
            timers: BTreeMap::new(),
            config: Config { birth: Some(Birth::new(seed * 10 + place)), ..config.clone() },
        };
        let mut world = World {
            folder: TempDir::new().unwrap(),
            group,
            now: Time::ZERO,
            nodes: (0..3).map(node).collect(),
            flying: Vec::new(),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1),
            proposed: 0,
            seen: [0; 5],
        };
        (0..3).for_each(|place| world.restart(place));
        world
    }

    fn step(
        &mut self,
        place: usize,
        call: impl FnOnce(&mut Log<List>, &mut Context<'_, Log<List>>),
    ) {
        let here = Here::new(&self.group, place, self.now, false);
        let node = &mut self.nodes[place];
        let mut effects = Vec::new();
        let before = node.log.durable();
        call(&mut node.log, &mut Context::new(&here, &node.config, &mut effects));
        let me = here.me();
        // One save for several steps is what the driver does, too; but then nothing leaves before it.
        let store = node.store.as_mut().unwrap();
        if Store::is_dirty(store, &node.log) {
            if store.lacks_only_a_promise(&node.log) {
                let now = node.log.durable();
                let (promised, vote) = (now.hard.promised, now.hard.vote);
                let hard = HardState { promised, vote, ..before.hard };
                compare(&now, &Durable { hard, ..before });
                self.seen[4] += 1;
            }
            let before = store.snapshot.map(|(snapshot, _)| snapshot.at);
            store.save(&node.log).unwrap();
            assert!(!Store::is_dirty(store, &node.log));
            let after = store.snapshot.map(|(snapshot, _)| snapshot.at);
            self.seen[3] += usize::from(before != after);
        }
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => self.flying.push((me, to, msg)),
                Effect::SetTimer(timer, after) => {
                    node.timers.insert(timer, self.now + after.start);
                }
                Effect::CancelTimer(timer) => drop(node.timers.remove(&timer)),
                Effect::Emit(_) => {}
            }
        }
    }

    /// Crashes a node and starts it again. What comes back must be what it had.
    fn restart(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let own = node.store.take().map(|_| node.log.durable());
        node.timers.clear();
        let (store, saved) = open(&self.folder, place as u32 + 1);
        match (&own, &saved) {
            (Some(own), Some(saved)) => {
                compare(own, saved);
                self.seen[0] += 1;
                self.seen[1] += usize::from(matches!(saved.log, Saved::Whole { .. }));
                self.seen[2] += usize::from(matches!(own.log, Saved::Filling));
            }
            (None, None) => {}
            (own, saved) => panic!("{own:?} {saved:?}"),
        }
        node.log = Log::default();
        node.store = Some(store);
        self.step(place, |log, cx| log.on_start(saved, cx));
    }

    fn turn(&mut self) {
        let place = self.random.below(3) as usize;
        match self.random.below(100) {
            0 => self.restart(place),
            1..4 if !self.nodes.iter().any(|node| node.log.leads().is_some()) => {
                let input = Input::Campaign { claim: false, appointed: false };
                self.step(place, |log, cx| log.on_input(input, cx));
            }
            4..7 => {
                let input = Input::Campaign { claim: true, appointed: false };
                self.step(place, |log, cx| log.on_input(input, cx));
            }
            7..30 => {
                let leader = self.nodes.iter().position(|n| n.log.serving(self.now).is_some());
                let Some(place) = leader else { return };
                let (some, first) = (self.random.below(4), self.proposed);
                self.proposed += some;
                let commands = (first..first + some).map(|n| format!("command {n}")).collect();
                self.step(place, |log, cx| {
                    log.propose(commands, cx);
                });
            }
            30..90 if !self.flying.is_empty() => {
                let which = self.random.below(self.flying.len().min(6) as u64) as usize;
                let (from, to, msg) = self.flying.remove(which);
                if self.random.below(12) > 0 {
                    let place = self.group.place(to).unwrap();
                    self.step(place, |log, cx| log.on_message(from, msg, cx));
                }
            }
            _ => {
                let timers = self.nodes.iter().enumerate().flat_map(|(place, node)| {
                    node.timers.iter().map(move |(timer, at)| (*at, place, *timer))
                });
                let Some((at, place, timer)) = timers.min() else { return };
                self.now = self.now.max(at);
                self.nodes[place].timers.remove(&timer);
                self.step(place, |log, cx| log.on_timer(timer, cx));
            }
        }
    }
}

/// What was recovered is what the process had, but for how far it knows to be committed.
fn compare(own: &Durable<List>, saved: &Durable<List>) {
    assert_eq!(own.hard, saved.hard);
    match (&own.log, &saved.log) {
        (Saved::Nothing, Saved::Nothing) => {}
        // The former log, or another floor that is higher.
        (Saved::Filling, Saved::Whole { tail, .. }) => assert!(tail.last() <= own.hard.floor),
        (
            Saved::Whole { state, commit, roster, tail },
            Saved::Whole { state: old, commit: known, roster: former, tail: kept },
        ) => {
            assert_eq!(kept.last(), tail.last());
            assert!(known <= commit && kept.base() <= *commit);
            for entry in kept.iter() {
                let same = tail.get(entry.position.index).is_none_or(|own| own == entry);
                assert!(same, "{entry:?}");
            }
            let (old, former) = ((**old).clone(), former.clone());
            let later = Saved::recovered(old, *known, former, kept.clone(), commit.index);
            let Saved::Whole { state: again, commit: at, roster: now, .. } = later else {
                panic!()
            };
            assert_eq!((&again, &at, &now), (state, commit, roster));
        }
        (own, saved) => panic!("{own:?} {saved:?}"),
    }
}

#[test]
fn what_comes_back_is_what_the_log_had() {
    let mut seen = [0; 5];
    for seed in 1..=6 {
        let mut world = World::new(seed, Durability::Disk);
        (0..5_000).for_each(|_| world.turn());
        (0..3).for_each(|place| world.restart(place));
        seen.iter_mut().zip(world.seen).for_each(|(all, some)| *all += some);
        for id in 1..=3 {
            let path = world.folder.path().join(format!("test-{id}.log"));
            let segments = std::fs::read_dir(path).unwrap().count();
            assert!(segments < 30, "{segments} files: old ones are not removed");
        }
    }
    let [restarts, whole, filling, snapshots, promises] = seen;
    assert!(restarts > 100 && whole == restarts && snapshots > 50, "{seen:?}");
    assert!(filling > 0 && promises > 20, "{seen:?}");
}

#[test]
fn in_memory_mode_only_promises_come_back() {
    let mut proposed = 0;
    for seed in 1..=4 {
        let mut world = World::new(seed, Durability::Memory);
        (0..4_000).for_each(|_| world.turn());
        assert!(world.seen[0] > 10 && world.seen[1] == 0, "{:?}", world.seen);
        proposed += world.proposed;
    }
    assert!(proposed > 200, "{proposed}");
}

/// A log that was kept once must not come back after a time in which it was kept in memory only.
#[test]
fn a_change_of_mode_forgets_the_log_on_disk() {
    let mut world = World::new(7, Durability::Disk);
    let has_many = |world: &World| world.nodes[0].log.report().last.index > Index::new(20);
    for _ in 0..20_000 {
        if has_many(&world) {
            break;
        }
        world.turn();
    }
    assert!(has_many(&world));
    let starts = |world: &mut World, durability| {
        world.nodes[0].config.durability = durability;
        let node = &mut world.nodes[0];
        node.store = None;
        let (store, saved) = open(&world.folder, 1);
        (node.log, node.store) = (Log::default(), Some(store));
        let log = saved.clone().unwrap().log;
        world.step(0, |log, cx| log.on_start(saved, cx));
        log
    };
    assert!(matches!(starts(&mut world, Durability::Memory), Saved::Whole { .. }));
    assert!(matches!(starts(&mut world, Durability::Disk), Saved::Nothing));
    assert!(world.nodes[0].log.hard().lost);
    let Saved::Whole { tail, .. } = starts(&mut world, Durability::Disk) else { panic!() };
    assert_eq!(tail.last(), Position::ZERO);
    assert!(world.nodes[0].log.hard().lost, "it still does not know what it acknowledged");
}

#[test]
fn the_promises_of_version_0_1_are_taken_over() {
    let folder = TempDir::new().unwrap();
    let old = folder.path().join("test-1.state");
    let write = |promised| {
        let durable = codec::generated::Durable {
            incarnation: Some(41),
            promised: Some(promised),
            promised_to: Some(3),
            longest_ttl_ms: 4_096,
        };
        let former = Owner { protocol: "member".into(), ..owner(1) };
        std::fs::write(&old, compose(&former, &prost::Message::encode_to_vec(&durable))).unwrap();
    };
    write(17);
    let (store, saved) = open(&folder, 1);
    let saved = saved.unwrap();
    assert_eq!(
        (saved.hard.starts, saved.hard.promised, saved.hard.longest_ttl_ms),
        (41, Term::new(17), 4_096)
    );
    assert_eq!((saved.hard.vote, &saved.log), (Some(NodeId::new(3)), &Saved::Nothing));
    assert!(!old.exists() && folder.path().join("test-1.state.imported").exists());
    drop(store);
    assert_eq!(open(&folder, 1).1.unwrap(), saved, "the folder has it now");

    write(17);
    assert_eq!(open(&folder, 1).1.unwrap(), saved, "a crash before the old file was renamed");
    assert!(!old.exists());

    write(18);
    let path = folder.path().join("test-1.log");
    let error = LogStore::<List>::open(&path, owner(1), Durability::Disk).unwrap_err();
    assert!(error.to_string().contains("promised term 18"), "{error}");
}

#[test]
fn an_old_state_file_of_another_member_or_a_damaged_one_is_refused() {
    let folder = TempDir::new().unwrap();
    let (old, path) = (folder.path().join("test-1.state"), folder.path().join("test-1.log"));
    let open = || LogStore::<List>::open(&path, owner(1), Durability::Disk).map(|(_, saved)| saved);
    std::fs::write(&old, compose(&Owner { protocol: "member".into(), ..owner(2) }, &[])).unwrap();
    assert!(open().unwrap_err().to_string().contains("belongs to member 2"));
    std::fs::write(&old, b"nonsense").unwrap();
    assert!(open().unwrap_err().to_string().contains("not a state file"));
    assert!(old.exists(), "the evidence is left alone");
    std::fs::remove_file(&old).unwrap();
    assert_eq!(open().unwrap(), None);
}

#[test]
fn a_snapshot_that_is_damaged_or_missing_is_refused() {
    let mut world = World::new(3, Durability::Disk);
    let path = world.folder.path().join("test-1.log");
    let snapshots = || {
        let files = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|f| f.extension().is_some_and(|e| e == "snap")).collect::<Vec<_>>()
    };
    for _ in 0..40_000 {
        // The log refers to it.
        let is_known = world.nodes[0].store.as_ref().is_some_and(|store| store.snapshot.is_some());
        if is_known && snapshots().len() == 1 {
            break;
        }
        world.turn();
    }
    world.nodes.clear();
    let [snapshot] = &snapshots()[..] else { panic!("{:?}", snapshots()) };
    let good = std::fs::read(snapshot).unwrap();
    let refusal = || {
        let error = LogStore::<List>::open_with(&path, owner(1), 2_000, 3_000).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(snapshot.to_str().unwrap()), "{text}");
        text
    };
    // Each byte of the head, and some of the rest.
    let some = || (0..100).chain((100..good.len()).step_by(7));
    for index in some() {
        let mut bad = good.clone();
        bad[index] ^= 0x10;
        std::fs::write(snapshot, &bad).unwrap();
        refusal();
    }
    for length in some() {
        std::fs::write(snapshot, &good[..length]).unwrap();
        refusal();
    }
    std::fs::remove_file(snapshot).unwrap();
    assert!(refusal().contains("No such file"));
    std::fs::write(snapshot, &good).unwrap();
    LogStore::<List>::open_with(&path, owner(1), 2_000, 3_000).unwrap();
}

/// A folder that the first version with this format wrote is read for ever. With `UPDATE=1` it is made
/// again, which is right only as long as no version has been released with it.
#[test]
fn a_folder_of_format_1_is_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/members/golden-log");
    let files = |folder: &Path| -> Vec<_> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some()).collect()
    };
    if std::env::var("UPDATE").is_ok() {
        let mut world = World::new(9, Durability::Disk);
        (0..5_000).for_each(|_| world.turn());
        world.nodes.clear();
        let _ = std::fs::remove_dir_all(&golden);
        std::fs::create_dir_all(&golden).unwrap();
        for file in files(&world.folder.path().join("test-1.log")) {
            std::fs::copy(&file, golden.join(file.file_name().unwrap())).unwrap();
        }
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test-1.log");
    std::fs::create_dir(&path).unwrap();
    for file in files(&golden).into_iter().filter(|file| !file.ends_with("expected.txt")) {
        std::fs::copy(&file, path.join(file.file_name().unwrap())).unwrap();
    }
    let saved = open(&folder, 1).1.unwrap();
    let Saved::Whole { state, commit, roster, tail } = &saved.log else { panic!() };
    let text = format!(
        "birth {} starts {} promised {} vote {:?} floor {} lost {} commit {commit} base {} last {}\n\
         roster {:?}\nstate {:?}\n",
        saved.hard.birth.number(),
        saved.hard.starts,
        saved.hard.promised,
        saved.hard.vote.map(NodeId::number),
        saved.hard.floor,
        saved.hard.lost,
        tail.base(),
        tail.last(),
        roster.births.iter().map(|(id, birth)| (id.number(), birth.number())).collect::<Vec<_>>(),
        state.0,
    );
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(golden.join("expected.txt"), &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(golden.join("expected.txt")).unwrap());
}

#[test]
fn positions_tell_how_far_two_logs_agree() {
    let position = Position::new;
    let mut disk = OnDisk::new(position(1, 4), Index::new(4));
    for (term, index) in [(1, 5), (2, 6), (2, 7), (5, 8)] {
        disk.push(position(term, index));
    }
    let terms = |disk: &OnDisk| -> Vec<_> {
        (3..10).map(|index| disk.term_at(Index::new(index)).map(Term::number)).collect()
    };
    assert_eq!(terms(&disk), [None, Some(1), Some(1), Some(2), Some(2), Some(5), None]);
    let tail = |base: (u64, u64), terms: &[u64]| {
        let mut tail = Tail::new(position(base.0, base.1));
        for (term, index) in terms.iter().zip(base.1 + 1..) {
            let payload = bellwether_log::Payload::Command(String::new());
            let entry = bellwether_log::Entry { position: position(*term, index), payload };
            assert!(tail.push::<List>(Arc::new(entry)));
        }
        tail
    };
    let common = |tail: Tail<String>| disk.common(tail.last().index, &tail).map(Index::number);
    assert_eq!(common(tail((1, 4), &[1, 2, 2, 5])), Some(8), "the same");
    assert_eq!(common(tail((1, 2), &[1, 1, 1, 2])), Some(6), "a shorter one that begins before");
    assert_eq!(common(tail((1, 4), &[1, 2, 2, 6, 6])), Some(7));
    assert_eq!(common(tail((1, 4), &[3, 3, 3, 3])), Some(4));
    assert_eq!(common(tail((2, 7), &[6])), Some(7));
    assert_eq!(common(tail((3, 7), &[6])), None, "another log");
    assert_eq!(common(tail((5, 9), &[])), None, "a later snapshot");
    disk.trim(position(2, 6));
    assert_eq!(terms(&disk), [None, None, None, Some(2), Some(2), Some(5), None]);
    let mut other = disk.clone();
    other.trim(position(2, 7));
    assert_eq!(terms(&other)[3..], [None, Some(2), Some(5), None]);
    disk.cut(Index::new(6));
    assert_eq!(
        (disk.last, terms(&disk)[3..6].to_vec()),
        (position(2, 6), vec![Some(2), None, None])
    );
}
