//! What no cluster takes is refused here, before it is sent: it would not fit into a frame.

use crate::Error;
use crate::error::refused;
use bellwether_api::client::{LARGEST_VALUE, LONGEST_NAME, LONGEST_TO_MEMBER};
use bellwether_coordination::{Limits, Refusal, Want};

pub(crate) fn name(name: &str) -> Result<(), Error> {
    match name.len() {
        1..=LONGEST_NAME if !name.contains(char::is_control) => Ok(()),
        _ => Err(refused(Refusal::InvalidName(LONGEST_NAME as u32))),
    }
}

pub(crate) fn value(value: &[u8]) -> Result<(), Error> {
    match value.len() {
        0..=LARGEST_VALUE => Ok(()),
        _ => Err(refused(Refusal::ValueTooLarge(LARGEST_VALUE as u32))),
    }
}

pub(crate) fn wants(wants: &[Want]) -> Result<(), Error> {
    wants.iter().try_for_each(|want| name(&want.name))?;
    // A name comes with some twenty bytes about it.
    let size: usize = wants.iter().map(|want| want.name.len() + 32).sum();
    match size {
        0..LONGEST_TO_MEMBER => Ok(()),
        _ => Err(refused(Refusal::TooManyWants(Limits::default().wants))),
    }
}
