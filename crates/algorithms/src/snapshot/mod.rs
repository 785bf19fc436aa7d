//! Snapshots: one state of the whole system, though nobody can look everywhere at once.
