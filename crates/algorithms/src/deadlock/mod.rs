//! Deadlocks: who waits for whom, over many sites, and how a cycle is found and broken.
