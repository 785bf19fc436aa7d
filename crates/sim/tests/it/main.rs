//! The simulator and the catalogue in it; how the workspace is built.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod agreement_schedules;
mod beyond;
mod branches;
mod deadlock_schedules;
mod determinism;
mod erased;
mod faults;
mod known_failures;
mod layering;
mod mutex_known_failures;
mod mutex_scenarios;
mod mutex_schedules;
mod order_schedules;
mod own_process;
mod random_schedules;
mod replay;
mod scenarios;
mod shrinking;
mod snapshot_schedules;
mod support;
mod tidy;
mod time_schedules;
mod views;
