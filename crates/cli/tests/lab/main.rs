//! The laboratory's commands, as programs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bad_input;
mod check;
mod commands;
mod compare_mutex;
mod docs;
mod explorer;
mod families;
mod figures;
mod host;
mod lines;
mod mutex;
mod one_file;
mod readme;
