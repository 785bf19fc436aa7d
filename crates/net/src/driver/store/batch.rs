//! Batches: what one save appends to a segment.
//!
//! ```text
//! batch    magic u32 | number u64 | length u32 | crc32 of these u32 | crc32 of the body u32 | body
//! body     record*, padded with zeros to 8 bytes
//! record   kind u8 (not 0) | length u32 | bytes
//! ```
//!
//! Numbers are little-endian. Both checksums begin with the salt of the segment, a random number:
//! otherwise a client could put bytes into an entry that look like a batch.

use crate::driver::durable::take;

const MAGIC: [u8; 4] = *b"BWb\x01";
/// The bytes before a batch's body.
pub const HEAD: usize = 24;
/// Most batches are not longer than this.
const USUAL: usize = 512;
/// Batches begin at multiples of this.
pub(super) const ALIGN: usize = 8;

/// Records that are written together: after a crash all of them are there, or none.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Room for the head, and the records.
    bytes: Vec<u8>,
}

impl Default for Batch {
    fn default() -> Self {
        Batch::new()
    }
}

impl Batch {
    /// Without records.
    pub fn new() -> Self {
        let mut bytes = Vec::with_capacity(USUAL);
        bytes.resize(HEAD, 0);
        Batch { bytes }
    }

    /// Whether it has no records.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == HEAD
    }

    /// Adds a record. The kind is not 0.
    pub fn push(&mut self, kind: u8, record: &[u8]) {
        put_record(&mut self.bytes, kind, record);
    }

    /// Adds a record before all others.
    pub fn push_front(&mut self, kind: u8, record: &[u8]) {
        let mut first = Vec::with_capacity(5 + record.len());
        put_record(&mut first, kind, record);
        self.bytes.splice(HEAD..HEAD, first);
    }

    /// Its bytes in a segment.
    pub fn len(&self) -> usize {
        self.bytes.len().next_multiple_of(ALIGN)
    }

    /// As it is written.
    pub(super) fn seal(mut self, salt: u64, number: u64) -> Vec<u8> {
        self.bytes.resize(self.len(), 0);
        let length = (self.bytes.len() - HEAD) as u32;
        let (head, body) = self.bytes.split_at_mut(HEAD);
        head[..4].copy_from_slice(&MAGIC);
        head[4..12].copy_from_slice(&number.to_le_bytes());
        head[12..16].copy_from_slice(&length.to_le_bytes());
        let sums = [checksum(salt, &head[..16]), checksum(salt, body)];
        head[16..20].copy_from_slice(&sums[0].to_le_bytes());
        head[20..24].copy_from_slice(&sums[1].to_le_bytes());
        self.bytes
    }
}

fn put_record(out: &mut Vec<u8>, kind: u8, record: &[u8]) {
    debug_assert!(kind != 0, "0 is padding");
    out.push(kind);
    out.extend((record.len() as u32).to_le_bytes());
    out.extend(record);
}

fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// What a whole head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) number: u64,
    length: u32,
    sum: u32,
}

impl Head {
    /// The head at the beginning of these bytes, if its own checksum is right.
    pub(super) fn read(salt: u64, bytes: &[u8]) -> Option<Head> {
        // First what is cheap: recovery tries every eighth byte.
        if !bytes.starts_with(&MAGIC) {
            return None;
        }
        let (summed, mut rest) = bytes.split_at_checked(16)?;
        let sum = take(&mut rest).map(u32::from_le_bytes)?;
        let body = take(&mut rest).map(u32::from_le_bytes)?;
        let mut fields = &summed[4..];
        let number = take(&mut fields).map(u64::from_le_bytes)?;
        let length = take(&mut fields).map(u32::from_le_bytes)?;
        (checksum(salt, summed) == sum).then_some(Head { number, length, sum: body })
    }

    /// The body after this head, if it is whole.
    pub(super) fn body<'a>(&self, salt: u64, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let body = bytes.get(HEAD..)?.get(..self.length as usize)?;
        (checksum(salt, body) == self.sum).then_some(body)
    }
}

/// The records of a body: for each its offset in the body, its kind and its bytes; or the offset of one
/// that makes no sense.
pub(super) fn records(mut body: &[u8]) -> impl Iterator<Item = Result<(usize, u8, &[u8]), usize>> {
    let whole = body.len();
    std::iter::from_fn(move || {
        let offset = whole - body.len();
        match body {
            [] => None,
            [0, ..] if body.len() < ALIGN && body.iter().all(|byte| *byte == 0) => {
                body = &[];
                None
            }
            [kind, rest @ ..] => {
                let (kind, mut rest) = (*kind, rest);
                let length = take(&mut rest).map(u32::from_le_bytes);
                let record = length.and_then(|length| rest.split_at_checked(length as usize));
                let Some((record, rest)) = record.filter(|_| kind != 0) else {
                    body = &[];
                    return Some(Err(offset));
                };
                body = rest;
                Some(Ok((offset, kind, record)))
            }
        }
    })
}
