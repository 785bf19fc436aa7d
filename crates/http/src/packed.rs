//! What is built into the program compressed: the page and the OpenAPI documents.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// All that a member answers for itself, as an OpenAPI document.
pub const MEMBER: Packed = Packed(include_bytes!(concat!(env!("OUT_DIR"), "/member.json.gz")));

/// All that the parent of a local cluster answers for itself.
pub const UP: Packed = Packed(include_bytes!(concat!(env!("OUT_DIR"), "/up.json.gz")));

/// All that the explorer answers.
pub const EXPLORER: Packed = Packed(include_bytes!(concat!(env!("OUT_DIR"), "/explorer.json.gz")));

/// A file as `gzip` writes it, by `build.rs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed(pub(crate) &'static [u8]);

/// What stands before the compressed bytes, and what behind them: the checksum and the length.
const HEAD: usize = 10;
const TAIL: usize = 8;

impl Packed {
    /// What it is without compression; nothing if it is nothing.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let packed = self.0.get(HEAD..self.0.len().saturating_sub(TAIL));
        let length = self.0.last_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        let unpacked = packed.map(|packed| decompress_to_vec_with_limit(packed, length as usize));
        unpacked.and_then(Result::ok).unwrap_or_default()
    }

    /// The same as text.
    pub fn text(self) -> String {
        String::from_utf8(self.bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_packed_is_the_file() {
        for (name, packed) in [("member", MEMBER), ("up", UP), ("explorer", EXPLORER)] {
            let path = format!("{}/../../web/openapi/{name}.json", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(packed.text(), fs::read_to_string(path).unwrap());
            assert!(packed.0.len() * 4 < packed.text().len());
        }
        assert_eq!(Packed::default().text(), "");
    }
}
