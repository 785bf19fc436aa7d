//! Looks on: what was committed stays, and is the same everywhere.

use crate::machine::List;
use crate::node::{Node, Told};
use bellwether_core::Time;
use bellwether_log::{Output, Position};
use bellwether_sim::{Observer, Seen};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    /// The committed state at each index, as the first member had it.
    committed: BTreeMap<u64, (Position, usize, u64)>,
    /// What clients were told.
    pub(crate) told: BTreeSet<u64>,
    /// Who came to serve in this step.
    elected: bool,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) wrong: Option<String>,
    /// Whether members keep their logs in memory only.
    forgets: bool,
}

fn digest(list: &List) -> u64 {
    list.commands
        .iter()
        .fold(7, |sum, command| (sum ^ command).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

impl Witness {
    pub(crate) fn new(forgets: bool) -> Self {
        Witness { forgets, ..Witness::default() }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn complain(&mut self, at: usize, what: String) {
        self.wrong.get_or_insert(format!("place {at}: {what}"));
    }
}

impl Observer<Node> for Witness {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, place: usize, event: Seen<'_, Node>) {
        let Seen::Output(told) = event else { return };
        match told {
            Told::Done(command) => {
                self.count("done");
                if !self.told.insert(*command) {
                    self.complain(place, format!("{command} was told twice"));
                }
            }
            Told::Log(Output::Serving(_)) => {
                self.count("serving");
                self.elected = true;
            }
            Told::Log(Output::Diverged { .. }) => {
                self.count("diverged");
            }
            Told::Log(Output::HandingOver(_)) => self.count("yielded"),
            Told::Log(Output::HandOverFailed(_)) => self.count("hand-over failed"),
            Told::Log(Output::Filling { .. }) => self.count("snapshot"),
            Told::Log(Output::Recovered) => self.count("recovered"),
            Told::Log(Output::Joined(_)) => self.count("joined"),
            Told::Log(Output::Waiting { .. }) => self.count("waiting"),
            Told::Log(Output::Behind { .. }) => self.count("behind"),
            Told::Log(Output::Stuck { .. }) => self.count("stuck"),
            Told::Log(Output::StoppedServing(_, bellwether_log::Loss::Stalled)) => {
                self.count("stalled")
            }
            Told::Log(Output::StoppedServing(_, bellwether_log::Loss::HandedOver(_))) => {
                self.count("handed over");
            }
            Told::Log(_) => {}
        }
    }

    fn stepped(&mut self, place: usize, process: &Node) {
        let Some((commit, state)) = process.log.state() else { return };
        let found = (commit, state.commands.len(), digest(state));
        let known = self.committed.entry(commit.index.number()).or_insert(found);
        // Without a command no client relies on anything, and without a disk it may be forgotten.
        if known.1 == 0 && self.forgets {
            *known = found;
        }
        let known = *known;
        if known != found && !(self.forgets && found.1 == 0) {
            self.complain(place, format!("committed {found:?}, another had {known:?}"));
        }
        if std::mem::take(&mut self.elected) {
            let has: BTreeSet<u64> = state.commands.iter().copied().collect();
            if let Some(lost) = self.told.difference(&has).next() {
                self.complain(place, format!("serving without {lost}, which was told"));
            }
        }
    }
}
