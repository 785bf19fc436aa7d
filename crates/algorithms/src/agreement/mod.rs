//! Agreement under faults: over a network that loses messages, and among processes that lie.
