//! Proof that a process has ended.
//!
//! A process may run as the child of a small parent that only waits for it. Before they part, the parent
//! draws a secret. The child's greeting carries the secret's digest, so every peer learns it over mutual
//! TLS. When the child is dead the parent shows the secret: it opens a connection to each peer's usual
//! address and writes one [proof](bytes()) instead of TLS. It needs no certificate, no TLS and no memory for that.
//!
//! No other process can make a proof, because none knows the secret: not even the child, which has kept only the
//! digest. Any process may repeat a proof, late and often: it says that a start of a process has ended, and
//! that stays true.

use bellwether_core::NodeId;
use ring::digest::{SHA256, digest as hash};
use std::collections::VecDeque;

/// What only the parent knows while the child lives.
pub type Secret = [u8; 32];
/// What the peers know.
pub type Digest = [u8; 32];

/// How a connection begins that brings a proof. TLS begins with 0x16.
const MAGIC: [u8; 4] = *b"\xbdWE\x01";
/// The length of a proof, in bytes.
pub const LENGTH: usize = 4 + 4 + 8 + 32;
/// How many starts of a peer are remembered: the last one may be heard of before the end of the one before.
const STARTS: usize = 4;

/// The digest of a secret.
pub fn digest(secret: &Secret) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(hash(&SHA256, secret).as_ref());
    digest
}

/// The proof that this start of this process has ended.
pub fn bytes(member: NodeId, instance: u64, secret: &Secret) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&member.number().to_be_bytes());
    bytes[8..16].copy_from_slice(&instance.to_be_bytes());
    bytes[16..].copy_from_slice(secret);
    bytes
}

/// Whether a connection that begins with this byte brings a proof.
pub(crate) fn begins_with(first: u8) -> bool {
    first == MAGIC[0]
}

/// What a proof says, if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Who has ended.
    pub member: NodeId,
    /// Which of its starts.
    pub instance: u64,
    /// What proves it.
    pub secret: Secret,
}

/// Reads a proof. It must still be compared with what the peers know.
pub fn read(bytes: &[u8; LENGTH]) -> Option<Shown> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let (member, rest) = rest.split_first_chunk::<4>()?;
    let (instance, rest) = rest.split_first_chunk::<8>()?;
    let (member, instance) = (u32::from_be_bytes(*member), u64::from_be_bytes(*instance));
    let secret = rest.try_into().ok()?;
    (*magic == MAGIC).then_some(Shown { member: NodeId::new(member), instance, secret })
}

/// The digests of a peer's last starts.
#[derive(Debug, Default)]
pub(crate) struct Digests(VecDeque<(u64, Digest)>);

impl Digests {
    /// A start has introduced itself.
    pub(crate) fn learn(&mut self, instance: u64, digest: Digest) {
        if self.0.iter().any(|(known, _)| *known == instance) {
            return;
        }
        if self.0.len() == STARTS {
            self.0.pop_front();
        }
        self.0.push_back((instance, digest));
    }

    /// Whether this proves the end of a start that is known.
    pub(crate) fn are_met_by(&self, shown: &Shown) -> bool {
        self.0.contains(&(shown.instance, digest(&shown.secret)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_of_a_known_start_is_proof() {
        let mut known = Digests::default();
        known.learn(7, digest(&[1; 32]));
        known.learn(8, digest(&[2; 32]));
        let shown = |instance, secret| Shown { member: NodeId::new(5), instance, secret };
        assert!(known.are_met_by(&shown(7, [1; 32])) && known.are_met_by(&shown(8, [2; 32])));
        assert!(!known.are_met_by(&shown(8, [1; 32])), "the secret of another start");
        assert!(!known.are_met_by(&shown(9, [1; 32])), "a start that is not known");
        known.learn(7, digest(&[9; 32]));
        assert!(!known.are_met_by(&shown(7, [9; 32])), "a start has one secret");
    }

    #[test]
    fn a_proof_survives_the_journey_and_anything_else_is_none() {
        let proof = bytes(NodeId::new(5), 0x0102_0304_0506_0708, &[3; 32]);
        let shown = read(&proof).unwrap();
        assert_eq!((shown.member.number(), shown.instance), (5, 0x0102_0304_0506_0708));
        assert_eq!(shown.secret, [3; 32]);
        assert!(begins_with(proof[0]) && !begins_with(0x16), "TLS begins with 0x16");
        let mut other = proof;
        other[3] = 2;
        assert_eq!(read(&other), None);
    }
}
