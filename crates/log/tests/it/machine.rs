//! A state machine whose state is the list of all commands that it has executed.

use bellwether_log::{Machine, Unsound};
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct List {
    pub(crate) commands: Vec<u64>,
}

/// Clients rely on what they were told for longer than any run lasts: a member that has forgotten is
/// never enough to take the place of one that remembers.
const FOR_EVER: Duration = Duration::from_secs(1_000_000);

/// Clients rely on this command for this long only.
pub(crate) const BRIEF: u64 = 2;
pub(crate) const BRIEF_TTL: Duration = Duration::from_millis(2_000);

fn ttl(command: u64) -> Duration {
    if command == BRIEF { BRIEF_TTL } else { FOR_EVER }
}

impl Machine for List {
    type Command = u64;
    type Outcome = u64;
    type Part = u64;
    type Cursor = usize;

    fn apply(&mut self, command: &u64) -> Vec<u64> {
        self.commands.push(*command);
        vec![*command]
    }

    fn weight(_: &u64) -> usize {
        8
    }

    fn part_weight(_: &u64) -> usize {
        8
    }

    fn cut(&self, from: &usize, budget: usize) -> (Vec<u64>, Option<usize>) {
        let rest = self.commands.get(*from..).unwrap_or_default();
        let most = (budget / 8).max(1).min(rest.len());
        let next = from.saturating_add(most);
        (rest[..most].to_vec(), (most < rest.len()).then_some(next))
    }

    fn absorb(&mut self, parts: Vec<u64>) -> Result<(), Unsound> {
        self.commands.extend(parts);
        Ok(())
    }

    fn complete(self) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn longest_ttl(&self) -> Duration {
        self.commands.iter().map(|command| ttl(*command)).max().unwrap_or_default()
    }

    fn ttl_of(command: &u64) -> Duration {
        ttl(*command)
    }
}
