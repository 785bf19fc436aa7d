//! The laboratory's commands without the daemon's, for those who work on it or on its page:
//! `cargo run -p bellwether-lab --example laboratory -- explore`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bellwether_lab::main(bellwether_lab::prelude::catalogue())
}
