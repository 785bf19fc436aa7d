//! A compact form for what is large or frequent: one byte for its format and then serde's data model,
//! without names (postcard). Variants and fields may only be added at the end of what is not yet
//! released; any other change needs a new format.

use super::malformed::Malformed;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The format that this version writes, and the only one that it reads.
const FORMAT: u8 = 1;

/// Most values are not longer than this.
const USUAL: usize = 128;

/// Packs a value.
pub(crate) fn pack<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.push(FORMAT);
    // It fails only for types that have no length beforehand, and there are none.
    postcard::to_extend(value, bytes).unwrap_or_default()
}

/// The value that these bytes are, or begin: an earlier version did not write the last fields, at most `later` bytes of
/// zeros. A zero is no value of an `Option`, and no time.
pub(crate) fn unpack_earlier<T: DeserializeOwned>(
    bytes: &[u8],
    later: usize,
    field: &'static str,
) -> Result<T, Malformed> {
    let now = unpack(bytes, field);
    let mut padded = bytes.to_vec();
    let mut earlier = || {
        padded.push(0);
        unpack(&padded, field).ok()
    };
    now.or_else(|error| (0..later).find_map(|_| earlier()).ok_or(error))
}

/// The value that these bytes are.
pub(crate) fn unpack<T: DeserializeOwned>(
    bytes: &[u8],
    field: &'static str,
) -> Result<T, Malformed> {
    match bytes {
        [] => Err(Malformed::Missing(field)),
        [FORMAT, rest @ ..] => match postcard::take_from_bytes(rest) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => {
                Err(Malformed::packed(field, &format!("{} bytes too many", rest.len())))
            }
            Err(error) => Err(Malformed::packed(field, &error.to_string())),
        },
        [format, ..] => Err(Malformed::Format { field, format: *format }),
    }
}
