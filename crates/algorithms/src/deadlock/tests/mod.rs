//! What the tests of the family share.

use super::{Edge, Resource, Tx};
use bellwether_core::NodeId;

pub(super) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// A transaction at home at the first site.
pub(super) fn tx(number: u32) -> Tx {
    Tx { number, home: id(1) }
}

/// An edge for a resource of this site that is named after its holder.
pub(super) fn edge(site: u32, waiter: u32, holder: u32) -> Edge {
    Edge {
        waiter: tx(waiter),
        begun: u64::from(waiter),
        label: 100 + u64::from(waiter),
        holder: tx(holder),
        resource: Resource { site: id(site), name: holder },
    }
}
