//! A journal in a file: what came in at a process, step by step.
//!
//! It is written before anything of the step leaves, so whatever another process has seen of this
//! one can be explained by it. It is not synced: it outlives the process, not the machine. Each
//! record goes out in one call, so a kill leaves at most the last one incomplete, and the step of
//! an incomplete record had no effects.
//!
//! ```text
//! magic 8 | record*        record: length u32 | crc32 of the length | crc32 of the body | body
//! ```
//!
//! Numbers are little-endian, bodies are serde-encoded. The length has a checksum of its own, so
//! that a damaged one is not taken for a record that was cut short.

use super::step::{Journal, Step};
use bellwether_core::{Call, Codec, NodeId, Process, Time};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"BWSTEPS2";
const HEADER: usize = 4 + 4 + 4;

/// A step in bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    at: Time,
    clock: Time,
    event: Event,
}

#[derive(Debug, Serialize, Deserialize)]
enum Event {
    Start { life: u64, saved: Option<Vec<u8>> },
    Input(Vec<u8>),
    Message { from: NodeId, life: u64, seq: u64, msg: Vec<u8> },
    Timer(Vec<u8>),
}

impl Record {
    fn decode<P: Process>(self, codec: &Codec<P>) -> Result<Step<P>, String> {
        let (call, origin) = match self.event {
            Event::Start { life, saved } => {
                let saved = saved.map(|saved| codec.durable.decode(&saved)).transpose()?;
                (Call::Start(saved), (life, 0))
            }
            Event::Input(input) => (Call::Input(codec.input.decode(&input)?), (0, 0)),
            Event::Message { from, life, seq, msg } => {
                (Call::Message(from, codec.msg.decode(&msg)?), (life, seq))
            }
            Event::Timer(timer) => (Call::Timer(codec.timer.decode(&timer)?), (0, 0)),
        };
        Ok(Step { at: self.at, clock: self.clock, call, origin })
    }
}

/// A journal that goes to a file.
#[derive(Debug)]
pub struct FileJournal<P: Process> {
    file: File,
    codec: Codec<P>,
    buffer: Vec<u8>,
}

impl<P: Process> FileJournal<P> {
    /// A new journal of a process. The file must not exist: a journal is never overwritten.
    pub fn create(path: &Path, codec: Codec<P>) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create_new(true).open(path)?;
        file.write_all(MAGIC)?;
        Ok(FileJournal { file, codec, buffer: Vec::new() })
    }
}

impl<P: Process> Journal<P> for FileJournal<P> {
    fn record(&mut self, step: &Step<P>) -> io::Result<()> {
        let (codec, (life, seq)) = (&self.codec, step.origin);
        let event = match &step.call {
            Call::Start(saved) => Event::Start {
                life,
                saved: saved.as_ref().map(|saved| codec.durable.encode(saved)),
            },
            Call::Input(input) => Event::Input(codec.input.encode(input)),
            Call::Message(from, msg) => {
                Event::Message { from: *from, life, seq, msg: codec.msg.encode(msg) }
            }
            Call::Timer(timer) => Event::Timer(codec.timer.encode(timer)),
        };
        let record = Record { at: step.at, clock: step.clock, event };
        let body = postcard::to_stdvec(&record).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
        self.buffer.clear();
        self.buffer.extend(length);
        self.buffer.extend(crc32fast::hash(&length).to_le_bytes());
        self.buffer.extend(crc32fast::hash(&body).to_le_bytes());
        self.buffer.extend(body);
        self.file.write_all(&self.buffer)
    }
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system does not let us.
    #[error("cannot read the journal `{}`: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It does not begin as a journal does.
    #[error("`{}` is not a journal of this version", .0.display())]
    Foreign(PathBuf),
    /// Something in it is not what was written.
    #[error("the journal `{}` is damaged at byte {offset}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damaged record begins.
        offset: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// All complete records of a journal. A last one that was cut short is left out; anything else that
/// is wrong is an error.
pub fn read<P: Process>(path: &Path, codec: &Codec<P>) -> Result<Vec<Step<P>>, JournalError> {
    let bytes =
        std::fs::read(path).map_err(|error| JournalError::Io { path: path.to_owned(), error })?;
    parse(&bytes, codec).map_err(|fault| match fault {
        Fault::Foreign => JournalError::Foreign(path.to_owned()),
        Fault::Damaged { offset, what } => {
            JournalError::Damaged { path: path.to_owned(), offset, what }
        }
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Foreign,
    Damaged { offset: usize, what: String },
}

fn parse<P: Process>(bytes: &[u8], codec: &Codec<P>) -> Result<Vec<Step<P>>, Fault> {
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        // Killed right after its creation.
        return if MAGIC.starts_with(bytes) { Ok(Vec::new()) } else { Err(Fault::Foreign) };
    };
    let mut entries = Vec::new();
    while let Some((header, tail)) = rest.split_first_chunk::<HEADER>() {
        let offset = bytes.len() - rest.len();
        let damaged = |what: &str| Err(Fault::Damaged { offset, what: what.to_owned() });
        let [length, length_sum, body_sum] = words(header);
        if crc32fast::hash(&length.to_le_bytes()) != length_sum {
            return damaged("the checksum of its length is wrong");
        }
        let Some((body, tail)) = tail.split_at_checked(length as usize) else {
            break;
        };
        if crc32fast::hash(body) != body_sum {
            return damaged("its checksum is wrong");
        }
        match postcard::take_from_bytes::<Record>(body) {
            Ok((record, [])) => match record.decode(codec) {
                Ok(entry) => entries.push(entry),
                Err(what) => return damaged(&format!("it cannot be decoded ({what})")),
            },
            Ok(_) => return damaged("it is longer than what it says"),
            Err(error) => return damaged(&format!("it cannot be decoded ({error})")),
        }
        rest = tail;
    }
    Ok(entries)
}

fn words(header: &[u8; HEADER]) -> [u32; 3] {
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    [word(0), word(4), word(8)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_algorithms::definition::Algorithm;
    use bellwether_algorithms::election::{Bully, Watched};

    type Process = Watched<Bully>;

    fn codec() -> Codec<Process> {
        Process::definition().codec
    }

    /// A journal of three steps and the lengths of the file after each.
    fn sample() -> (tempfile::TempDir, PathBuf, Vec<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = FileJournal::create(&path, codec()).unwrap();
        let input = Process::definition().input("suspect").unwrap();
        let mut lengths = Vec::new();
        let came = [
            (Call::<Process>::Start(None), (7, 0)),
            (Call::Input(input), (0, 0)),
            (Call::Input(input), (0, 0)),
        ];
        for (at, (call, origin)) in came.into_iter().enumerate() {
            let at = Time::from_micros(at as u64);
            journal.record(&Step { at, clock: at, call, origin }).unwrap();
            lengths.push(std::fs::metadata(&path).unwrap().len() as usize);
        }
        (folder, path, lengths)
    }

    #[test]
    fn what_was_written_is_read() {
        let (_folder, path, _) = sample();
        let entries = read(&path, &codec()).unwrap();
        assert_eq!(entries.len(), 3);
        assert!(matches!(entries[0].call, Call::Start(None)) && entries[0].origin == (7, 0));
        assert!(matches!(entries[2].call, Call::Input(_)));
        assert_eq!(entries[2].at, Time::from_micros(2));
    }

    #[test]
    fn wherever_it_is_cut_the_complete_records_are_read() {
        let (_folder, path, lengths) = sample();
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..=bytes.len() {
            let complete = lengths.iter().filter(|length| **length <= cut).count();
            let entries = parse(&bytes[..cut], &codec()).unwrap();
            assert_eq!(entries.len(), complete, "cut at {cut}");
        }
    }

    #[test]
    fn every_flipped_byte_is_found_and_its_record_named() {
        let (_folder, path, lengths) = sample();
        let bytes = std::fs::read(&path).unwrap();
        for flipped in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[flipped] ^= 0x40;
            let begins = [MAGIC.len()].into_iter().chain(lengths.iter().copied());
            let expected = begins.take_while(|begin| *begin <= flipped).last();
            match (parse(&bytes, &codec()).unwrap_err(), expected) {
                (Fault::Foreign, None) => {}
                (Fault::Damaged { offset, .. }, Some(begin)) => assert_eq!(offset, begin),
                other => panic!("byte {flipped}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_journal_is_never_overwritten() {
        let (_folder, path, _) = sample();
        let error = FileJournal::create(&path, codec()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}
