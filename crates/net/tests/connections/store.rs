//! A folder of segments comes back after every crash as it was, and is refused when it was damaged.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{CLUSTER, id};
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::store::{Batch, Folder, Found, Mark};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SEGMENT: u32 = 1_024;

fn owner() -> Owner {
    Owner { cluster: CLUSTER.into(), id: id(1), protocol: "member/2".into() }
}

type Record = (u8, Vec<u8>);

/// Opens the folder and gives all records.
fn open(path: &Path) -> Result<(Folder, Vec<Record>), DurableError> {
    open_as(path, owner())
}

fn open_as(path: &Path, owner: Owner) -> Result<(Folder, Vec<Record>), DurableError> {
    let mut records = Vec::new();
    let folder = Folder::open(path, owner, SEGMENT, |found| {
        if let Found::Record { kind, bytes, .. } = found {
            records.push((kind, bytes.to_vec()));
        }
        Ok(())
    })?;
    Ok((folder, records))
}

fn batch(records: &[Record]) -> Batch {
    let mut batch = Batch::new();
    for (kind, bytes) in records {
        batch.push(*kind, bytes);
    }
    batch
}

/// Random batches: one of them larger than a segment.
fn batches(seed: u64, count: usize) -> Vec<Vec<Record>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut record = |most: usize| {
        let length = random.random_range(0..most);
        (random.random_range(1..=255), (0..length).map(|_| random.random()).collect())
    };
    let mut batches: Vec<Vec<Record>> =
        (0..count).map(|n| (0..n % 4).map(|_| record(90)).collect()).collect();
    batches[count / 2].push((9, vec![7; 3_000]));
    batches[count - 1].push(record(60));
    batches[count - 1].push((5, vec![1; 33]));
    batches
}

/// A folder with these batches, and where each of them ends: its file and the offset.
struct History {
    folder: TempDir,
    path: PathBuf,
    batches: Vec<Vec<Record>>,
    begins: Vec<(PathBuf, usize)>,
}

impl History {
    fn write(seed: u64, count: usize) -> Self {
        let (folder, batches) = (TempDir::new().unwrap(), batches(seed, count));
        let path = folder.path().join("test-1.log");
        let (mut open, _) = open(&path).unwrap();
        let mut begins = Vec::new();
        for (index, records) in batches.iter().enumerate() {
            let batch = batch(records);
            let (fits, length) = (open.fits(&batch), batch.len());
            let written = open.append(batch, Mark { term: 1, index: index as u64 }).unwrap();
            let file = path.join(format!("{:016}.seg", open.segment()));
            let before = match fits {
                true => {
                    let (last, begin): &(PathBuf, usize) = begins.last().unwrap();
                    assert_eq!(*last, file);
                    begin + self::batch(&batches[index - 1]).len()
                }
                false => written as usize - length,
            };
            begins.push((file, before));
        }
        History { folder, path, batches, begins }
    }

    fn records(&self, count: usize) -> Vec<Record> {
        self.batches[..count].concat()
    }

    fn last_length(&self) -> usize {
        batch(self.batches.last().unwrap()).len()
    }
}

#[test]
fn what_was_appended_comes_back_in_order() {
    for seed in 0..20 {
        let history = History::write(seed, 30);
        let (mut folder, found) = open(&history.path).unwrap();
        assert_eq!(found, history.records(30));
        assert!(folder.segment() > 3);
        folder.append(batch(&[(1, vec![2])]), Mark::default()).unwrap();
        drop(folder);
        let (_, found) = open(&history.path).unwrap();
        assert_eq!(found.last(), Some(&(1, vec![2])));
    }
}

/// A crash may leave any beginning of the last batch, and the next crash any beginning of the one
/// that took its place.
#[test]
fn a_torn_tail_is_cut_off_also_twice() {
    let history = History::write(3, 12);
    let (file, begin) = history.begins.last().unwrap().clone();
    let good = std::fs::read(&file).unwrap();
    let length = history.last_length();
    assert_eq!(good[begin + length..].iter().find(|byte| **byte != 0), None);
    for kept in 0..length {
        let mut torn = good.clone();
        torn[begin + kept..].fill(0);
        // The last bytes may be zero by themselves: then nothing is torn.
        let is_torn = torn != good;
        std::fs::write(&file, &torn).unwrap();
        let (mut folder, found) = open(&history.path).unwrap();
        assert_eq!(found, history.records(if is_torn { 11 } else { 12 }), "{kept} of {length}");
        if !is_torn || kept % 16 != 0 {
            continue;
        }
        folder.append(batch(&[(8, vec![kept as u8; 20])]), Mark::default()).unwrap();
        drop(folder);
        let second = std::fs::read(&file).unwrap();
        for kept in 1..48 {
            let mut torn = second.clone();
            torn[begin + kept..].fill(0);
            std::fs::write(&file, &torn).unwrap();
            let (_, found) = open(&history.path).unwrap();
            assert_eq!(found.len(), history.records(11).len() + usize::from(torn == second));
        }
    }
}

/// The sectors of a write reach the disk in any order.
#[test]
fn any_sectors_of_the_last_batch_may_be_missing() {
    let (folder, mut random) = (TempDir::new().unwrap(), StdRng::seed_from_u64(5));
    let path = folder.path().join("test-1.log");
    let first = vec![(1, vec![1; 40])];
    let large: Vec<Record> = (0..40).map(|n| (2, vec![n + 1; 100])).collect();
    let mut store = Folder::open(&path, owner(), 16_384, |_| Ok(())).unwrap();
    store.append(batch(&first), Mark::default()).unwrap();
    let file = path.join("0000000000000001.seg");
    let before = std::fs::read(&file).unwrap();
    store.append(batch(&large), Mark::default()).unwrap();
    drop(store);
    let after = std::fs::read(&file).unwrap();
    for _ in 0..300 {
        let mut torn = before.clone();
        for sector in 0..torn.len() / 512 {
            if random.random_bool(0.8) {
                let range = sector * 512..(sector + 1) * 512;
                torn[range.clone()].copy_from_slice(&after[range]);
            }
        }
        std::fs::write(&file, &torn).unwrap();
        let (_, found) = open(&path).unwrap();
        assert_eq!(found.len(), if torn == after { 41 } else { 1 });
        assert!(found[0] == first[0]);
    }
}

/// What is damaged was told to others once. It is refused, with its place, and left alone.
#[test]
fn every_damaged_byte_of_an_earlier_batch_is_refused() {
    let history = History::write(4, 14);
    for (index, (file, begin)) in history.begins[..13].iter().enumerate() {
        let good = std::fs::read(file).unwrap();
        let length = batch(&history.batches[index]).len();
        // The large one takes long, and is like the others.
        let step = if length > 1_000 { 97 } else { 1 };
        for place in (*begin..begin + length).step_by(step) {
            let mut bad = good.clone();
            bad[place] ^= 0x20;
            std::fs::write(file, &bad).unwrap();
            let text = open(&history.path).unwrap_err().to_string();
            let named = text.contains(&format!("`{}`", file.display()));
            // Without its last batch a segment ends too soon, which the next one shows.
            assert!(named || text.contains("batches are missing"), "{place}: {text}");
            assert!(!named || text.contains(&format!("at byte {begin}:")), "{place}: {text}");
            assert!(text.contains("move") && text.contains("majority"), "{text}");
            assert_eq!(std::fs::read(file).unwrap(), bad, "the evidence is left alone");
        }
        std::fs::write(file, &good).unwrap();
    }
    // Zeros in the middle, as of a write that the disk has lost, are a hole too.
    let (file, begin) = &history.begins[12];
    assert_eq!(*file, history.begins[13].0);
    let good = std::fs::read(file).unwrap();
    let mut bad = good.clone();
    bad[*begin..history.begins[13].1].fill(0);
    std::fs::write(file, &bad).unwrap();
    let text = open(&history.path).unwrap_err().to_string();
    assert!(text.contains("shows that it was complete once"), "{text}");
    std::fs::write(file, &good).unwrap();
    assert_eq!(open(&history.path).unwrap().1, history.records(14));
}

/// A disk that writes a batch to the wrong place makes one that is whole and has the wrong number.
#[test]
fn a_batch_in_the_wrong_place_is_not_read() {
    let (folder, first, second) =
        (TempDir::new().unwrap(), vec![(1, vec![1; 40])], vec![(2, vec![2; 40])]);
    let path = folder.path().join("test-1.log");
    let (mut store, _) = open(&path).unwrap();
    let begin = store.append(batch(&first), Mark::default()).unwrap() as usize;
    let length = store.append(batch(&second), Mark::default()).unwrap() as usize;
    drop(store);
    let file = path.join("0000000000000001.seg");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.copy_within(begin..begin + length, begin + length);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(open(&path).unwrap().1, [first, second].concat());
}

/// Whatever is in the files, recovery ends with records or with an error.
#[test]
fn random_damage_never_breaks_recovery() {
    let (history, mut random) = (History::write(7, 14), StdRng::seed_from_u64(9));
    let files: Vec<PathBuf> = history.begins.iter().map(|(file, _)| file.clone()).collect();
    let mut refused = 0;
    for _ in 0..300 {
        let file = &files[random.random_range(0..files.len())];
        let good = std::fs::read(file).unwrap();
        let mut bad = good.clone();
        for _ in 0..random.random_range(1..4) {
            let begin = random.random_range(0..bad.len());
            let end = (begin + random.random_range(1..64)).min(bad.len());
            match random.random_range(0..4) {
                0 => bad[begin..end].fill(0),
                1 => bad[begin..end].fill_with(|| random.random()),
                2 => bad.copy_within(begin..end, 0),
                _ => bad.truncate(begin.max(1)),
            }
        }
        std::fs::write(file, &bad).unwrap();
        match open(&history.path) {
            Ok((_, found)) => assert!(history.records(14).starts_with(&found)),
            Err(_) => refused += 1,
        }
        std::fs::write(file, &good).unwrap();
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn headers_that_are_damaged_or_foreign_are_refused_by_name() {
    let history = History::write(6, 14);
    let files: Vec<_> = (1..).map(|n| history.path.join(format!("{n:016}.seg"))).take(3).collect();
    let refusal = |file: &Path, content: &[u8]| {
        let good = std::fs::read(file).unwrap();
        std::fs::write(file, content).unwrap();
        let text = open(&history.path).unwrap_err().to_string();
        assert!(text.contains(file.to_str().unwrap()), "{text}");
        std::fs::write(file, good).unwrap();
        text
    };
    let good = std::fs::read(&files[0]).unwrap();
    for place in 0..history.begins[0].1 {
        let mut bad = good.clone();
        bad[place] ^= 1;
        refusal(&files[0], &bad);
    }
    let mut newer = good.clone();
    newer[8] = 3;
    let text = refusal(&files[0], &newer);
    assert!(text.contains("format 3") && text.contains("later version"), "{text}");
    newer[8] = 0;
    assert!(refusal(&files[0], &newer).contains("earlier version"));
    assert!(refusal(&files[0], b"hello").contains("not a segment"));
    assert!(refusal(&files[0], &good[..good.len() - 1]).contains("bytes"));
    let second = std::fs::read(&files[1]).unwrap();
    assert!(refusal(&files[0], &second).contains("renamed"));

    let others = [
        Owner { id: id(2), ..owner() },
        Owner { cluster: "prod".into(), ..owner() },
        Owner { protocol: "host/bully".into(), ..owner() },
    ];
    for other in others {
        let error = open_as(&history.path, other).unwrap_err();
        assert!(matches!(error, DurableError::NotMine { .. }), "{error}");
    }
    std::fs::remove_file(&files[1]).unwrap();
    let text = open(&history.path).unwrap_err().to_string();
    assert!(text.contains("0000000000000002.seg` before it is missing"), "{text}");
}

#[test]
fn one_process_at_a_time_and_no_other_user() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test-1.log");
    let (mut first, _) = open(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    first.append(batch(&[(1, vec![])]), Mark::default()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("0000000000000001.seg"))), (0o700, 0o600));
    drop(first);
    open(&path).unwrap();
}

#[test]
fn what_is_not_needed_is_removed_and_what_was_not_finished_too() {
    let history = History::write(8, 40);
    let (mut folder, _) = open(&history.path).unwrap();
    let last = folder.segment();
    std::fs::write(history.path.join("x.snap.new"), b"half").unwrap();
    folder.retire(3, 1_000);
    drop(folder);
    let (mut folder, found) = open(&history.path).unwrap();
    assert!(folder.first().ends_with("0000000000000003.seg"));
    assert!(!history.path.join("x.snap.new").exists());
    assert!(history.records(40).ends_with(&found) && found.len() < history.records(40).len());
    // Index 12 is in a segment that others follow.
    folder.retire(u64::MAX, 20);
    assert_eq!(folder.segment(), last);
    drop(folder);
    let (_, found) = open(&history.path).unwrap();
    assert!(history.batches[21..].concat().len() <= found.len());
    drop(history.folder);
}

/// What the process with the limit does.
fn fill_a_limited_disk(path: &Path) {
    let mut store = Folder::open(path, owner(), 64 << 10, |_| Ok(())).unwrap();
    let large = |kib: usize| batch(&[(1, vec![3; kib << 10])]);
    store.append(large(10), Mark::default()).unwrap();
    store.append(large(40), Mark::default()).unwrap();
    // It needs a segment of its own, which is larger than a file may be.
    let error = store.append(large(300), Mark::default()).unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert!(error.to_string().contains("File too large"), "{error}");
}

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    const FOLDER: &str = "BELLWETHER_TEST_FOLDER";
    if let Ok(path) = std::env::var(FOLDER) {
        return fill_a_limited_disk(Path::new(&path));
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test-1.log");
    // The limit is that of a whole process, so this test runs itself in another one. Without the trap
    // the system would end that process.
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" --exact \
                  store::a_full_disk_is_a_clear_error_and_loses_nothing";
    let mut run = Command::new("sh");
    run.args(["-c", script]).arg(std::env::current_exe().unwrap()).env(FOLDER, &path);
    let run = run.output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && text.contains("1 passed"), "{text}");
    let (_, found) = open(&path).unwrap();
    assert_eq!(found, [(1, vec![3; 10 << 10]), (1, vec![3; 40 << 10])]);
}
