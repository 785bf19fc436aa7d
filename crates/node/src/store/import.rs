//! The state file of version 0.1: what it promised is kept, and its log was in memory only.

use super::{HARD, LogStore};
use crate::codec;
use crate::codec::packed::pack;
use bellwether_core::NodeId;
use bellwether_log::{Birth, Durable, HardState, Machine, Position, Saved, Term};
use bellwether_net::Malformed;
use bellwether_net::durable::{Damage, DurableError, Owner, StateFile};
use bellwether_net::store::{Batch, damaged};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What version 0.1 ran.
const PROTOCOL: &str = "member";

impl<M: Machine> LogStore<M>
where
    M::Command: Serialize + DeserializeOwned,
    M::Part: Serialize + DeserializeOwned,
{
    /// Takes over the promises of the state file beside this folder, if there is one.
    pub(super) fn import(
        &mut self,
        path: &Path,
        durable: Option<Durable<M>>,
    ) -> Result<Option<Durable<M>>, DurableError> {
        let old = path.with_extension("state");
        if !old.is_file() {
            return Ok(durable);
        }
        let owner = Owner { protocol: PROTOCOL.to_owned(), ..self.folder.owner().clone() };
        let (_locked, bytes) = StateFile::open(&old, owner)?;
        let Some(bytes) = bytes else { return Ok(durable) };
        let unreadable = |what| DurableError::Damaged {
            path: old.clone(),
            damage: Damage::Content(Malformed::new(what)),
        };
        let state: codec::generated::Durable = codec::read(&bytes).map_err(unreadable)?;
        let missing = |field| unreadable(codec::Malformed::Missing(field));
        let promised = Term::new(state.promised.ok_or(missing("durable.promised"))?);
        let starts = state.incarnation.ok_or(missing("durable.incarnation"))?;
        let vote = state.promised_to.and_then(|id| u32::try_from(id).ok()).map(NodeId::new);
        if let Some(durable) = durable {
            // A crash after the import and before the old file was renamed; or the former version ran
            // since, and has promised more.
            if promised > durable.hard.promised {
                let what = format!(
                    "it has promised term {}, and `{}` has promised term {promised}: version 0.1 \
                     ran after its state was imported",
                    durable.hard.promised,
                    old.display()
                );
                return Err(damaged(&self.folder.first(), 0, what));
            }
            put_aside(&old)?;
            return Ok(Some(durable));
        }
        let hard = HardState {
            birth: Birth::new(bellwether_net::draw() as u64),
            starts: u32::try_from(starts).unwrap_or(u32::MAX),
            promised,
            vote,
            longest_ttl_ms: state.longest_ttl_ms,
            floor: Position::ZERO,
            lost: false,
            keeps_log: false,
            granted: Duration::ZERO,
        };
        let mut batch = Batch::new();
        batch.push(HARD, &pack(&hard));
        self.append(batch, true, &hard, Position::ZERO)?;
        put_aside(&old)?;
        tracing::info!(file = %old.display(), term = %promised, "imported the promises of version 0.1");
        Ok(Some(Durable { hard, log: Saved::Nothing }))
    }
}

/// Renames the old file, so that it is not taken over again.
fn put_aside(old: &Path) -> Result<(), DurableError> {
    let mut name = OsString::from(old);
    name.push(".imported");
    let failed = |error| DurableError::Io { action: "rename", path: old.to_owned(), error };
    std::fs::rename(old, PathBuf::from(name)).map_err(failed)?;
    let parent = match old.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(failed)
}
