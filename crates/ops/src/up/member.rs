//! One of the members that `up` starts.
//!
//! It is `bellwether node` with two differences: faults can be made over HTTP, and it ends with
//! the process that started it, however that process ends.

use super::args::UpMemberArgs;
use crate::node;
use bellwether_http::Extra;
use bellwether_node::config::Overrides;
use bellwether_shell::{Failure, Verdict};

pub(crate) fn run(args: &UpMemberArgs, extra: Extra) -> Result<Verdict, Failure> {
    if !end_with_parent(args.parent) {
        return Ok(Verdict::Well);
    }
    let overrides = Overrides { dev_faults: true, ..Overrides::default() };
    let mut settings = node::load(&args.config, &overrides)?;
    settings.up.clone_from(&args.dashboard);
    node::start(settings, extra)
}

/// From now on the end of the parent is the end of this process, even while it is stopped.
/// Whether the parent is still there.
#[cfg(target_os = "linux")]
pub fn end_with_parent(parent: i32) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    // The order matters: a parent that ends between the two is noticed by the second.
    set_parent_process_death_signal(Some(Signal::KILL)).is_ok()
        && getppid().is_some_and(|now| now.as_raw_nonzero().get() == parent)
}

/// The same where the system has no such signal: standard input is closed when the parent ends.
#[cfg(not(target_os = "linux"))]
pub fn end_with_parent(_parent: i32) -> bool {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
    true
}
