//! A folder that begins with a state of another cluster: what a restored member starts with.

use super::{FILLED, HARD, LogStore, SEGMENT, SNAPSHOT_AFTER, to_record, write};
use crate::codec::packed::pack;
use bellwether_log::{HardState, Machine, Position, Roster};
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::store::Batch;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;

impl<M: Machine> LogStore<M>
where
    M::Command: Serialize + DeserializeOwned,
    M::Part: Serialize + DeserializeOwned,
{
    /// Makes a folder whose log has no entries and begins at this position with this state.
    pub(crate) fn found(
        path: &Path,
        owner: Owner,
        (at, hard): (Position, HardState),
        roster: &Roster,
        state: &Arc<M>,
    ) -> Result<(), DurableError> {
        let (mut store, _) = LogStore::<M>::open_with(path, owner, SEGMENT, SNAPSHOT_AFTER)?;
        let snapshot = write(path, store.folder.owner(), at, roster, state)?;
        let mut batch = Batch::new();
        batch.push(HARD, &pack(&hard));
        batch.push(FILLED, &to_record(&snapshot));
        store.append(batch, true, &hard, Position::ZERO).map(drop)
    }
}
