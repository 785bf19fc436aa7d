//! What a coordinator is elected for.
//!
//! The texts name four duties: to replace a lost token ([`mutex`](crate::mutex)), to keep the
//! wait-for graph ([`deadlock`](crate::deadlock)), to be the clock master ([`time`](crate::time)),
//! and to control a device, which is here.

family! {
    device::Device,
}
