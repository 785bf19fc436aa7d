//! Looks on: what was committed stays, and is the same everywhere.

use crate::machine::List;
use crate::node::{Node, Told};
use bellwether_core::Time;
use bellwether_log::{Members, Output, Position};
use bellwether_sim::{Observer, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    /// The committed member lists by their version.
    lists: BTreeMap<u64, Arc<Members>>,
    /// Whether a list that is wrong by itself is found: not where its consequences are looked for.
    pub(crate) ignores_lists: bool,
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

    /// G12: there is one list of each version, and it differs by one voter at most from the one before.
    fn see_list(&mut self, place: usize, list: &Arc<Members>) {
        if self.lists.get(&list.version).is_some_and(|known| known == list) {
            return;
        }
        let voters = |list: &Members| list.voters().collect::<BTreeSet<_>>();
        let before = list.version.checked_sub(1).and_then(|version| self.lists.get(&version));
        let differ =
            before.map_or(0, |before| voters(before).symmetric_difference(&voters(list)).count());
        if differ > 1 {
            self.complain(
                place,
                format!("committed {list:?} after {before:?}", before = self.lists),
            );
        }
        if let Some(known) = self.lists.insert(list.version, list.clone()) {
            self.complain(place, format!("committed {list:?}, another had {known:?}"));
        }
        self.count("list");
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
            Told::Log(Output::Members { committed: false, .. }) => self.count("change"),
            Told::Log(Output::Removed) => self.count("removed"),
            Told::Log(Output::MustHandOver) => self.count("must hand over"),
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
        if let Some(list) = process.log.roster().and_then(|roster| roster.members.clone())
            && !self.ignores_lists
        {
            self.see_list(place, &list);
        }
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
