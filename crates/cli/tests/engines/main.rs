//! The client crate on both engines: one suite, run on three members of ours and on three servers of etcd.
//!
//! Without etcd on this machine (Debian's package `etcd-server`) its half says so and is skipped.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stderr, reason = "it says what is skipped")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "waits are bounded by clocks"
)]

mod cases;
#[allow(dead_code, reason = "the other tests use all of it")]
#[path = "../ops/common.rs"]
mod common;
mod etcd;
mod examples;
mod faults;
mod only_etcd;
mod rig;
mod sidecar;

use rig::Rig;

#[test]
fn members() {
    if !examples::run() {
        rig::run(Rig::members());
    }
}

#[test]
fn etcd_servers() {
    match Rig::etcd() {
        Some(rig) => rig::run(rig),
        None => eprintln!("skipped: no etcd here; apt-get install etcd-server installs it"),
    }
}
