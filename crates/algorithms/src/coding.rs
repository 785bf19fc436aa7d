//! How values travel, unless a definition says otherwise: by serde, as postcard.

use bellwether_core::Coder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What can travel between operating-system processes, or wait in a file.
pub trait Portable: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Portable for T {}

/// A coder for what serde can carry.
pub(crate) fn postcard_coder<T: Portable>() -> Coder<T> {
    Coder::of(to_bytes, from_bytes)
}

/// Postcard fails only for types that serde cannot describe at all, and then for every value of
/// them; such bytes are refused when they are read.
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).unwrap_or_default()
}

/// Decodes a value; nothing may be left over.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(too_many(rest.len())),
        Err(error) => Err(broken(&error)),
    }
}

fn too_many(bytes: usize) -> String {
    format!("{bytes} bytes too many")
}

fn broken(error: &postcard::Error) -> String {
    error.to_string()
}
