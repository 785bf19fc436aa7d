//! How the program is linked.

use std::process::Command;

/// Packed relocations save a megabyte, a twentieth of the program. The system's loader must know
/// them: glibc does from version 2.36 on, so this asks the glibc of this machine, if it is built for this
/// machine.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let is_here = set("HOST") == set("TARGET") && set("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_here && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc: `getconf` says `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
