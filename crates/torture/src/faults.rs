//! Faults, made and made good.

use super::able::could_lead;
use super::field::Field;
use super::history::now;
use super::lab::Lab;
use super::plan::{Kind, Planned};
use super::writes::Writes;
use bellwether_ops::cluster::{Cluster, Command, Condition, Member, World, carry_out, reconcile};
use bellwether_shell::Failure;
use rustix::process::Signal;
use std::collections::BTreeSet;
use tokio::task::JoinSet;

/// A fault that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// In words.
    pub(super) what: String,
    /// The members that it hit, or that were cut off with no majority.
    pub(super) members: Vec<u32>,
    /// Whether one of them was the coordinator.
    pub(super) coordinated: bool,
    /// The client that it hit, by the name of its history.
    pub(super) client: Option<String>,
    /// From when to when, by the histories' clock.
    pub(super) from: u64,
    pub(super) until: u64,
    /// How many frames it lost, delayed or repeated, members it ended, or writes it held back, if it is
    /// a fault of the network or of a disk.
    pub(super) hits: Option<u64>,
}

impl Fault {
    /// A fault that begins now.
    pub(super) fn new(kind: Kind, from: u64) -> Self {
        Fault {
            kind,
            what: String::new(),
            members: Vec::new(),
            coordinated: false,
            client: None,
            from,
            until: from,
            hits: None,
        }
    }

    /// A line for the report: what happened when.
    pub(super) fn line(&self) -> String {
        let Fault { kind, what, coordinated, from, until, .. } = self;
        let (kind, leads) = (kind.name(), if *coordinated { " (the coordinator)" } else { "" });
        let hits = self.hits.map_or(String::new(), |hits| format!(", {hits} hits"));
        format!("{from} to {until}  {kind}: {what}{leads}{hits}\n")
    }
}

/// What makes a fault good again.
#[derive(Debug)]
pub(super) enum Remedy {
    Commands(Vec<Command>),
    Start(usize),
    Continue(usize),
    /// Take these rules of the switch out of force.
    Rules(Vec<u64>),
    /// Make the disk of this member good again, end the tasks that keep it full, and start the member.
    Disk(u32, JoinSet<()>),
    /// Take the limit on the writes of a member away, which had written this much before.
    Limit {
        id: u32,
        per_second: u32,
        before: Writes,
    },
}

/// The cluster and its clients.
pub(super) struct Ground {
    pub(super) cluster: Cluster,
    pub(super) world: World,
    pub(super) field: Field,
    /// What joins the members and clients, if they have networks of their own.
    pub(super) lab: Option<Lab>,
}

impl Ground {
    /// Makes a fault; nothing if it cannot be made just now.
    pub(super) async fn make(&mut self, planned: &Planned) -> Option<(Fault, Remedy)> {
        let from = now();
        let (kind, draw) = (planned.kind, planned.draw);
        let mut fault = Fault::new(kind, from);
        if kind.is_for_clients() {
            let remedy = self.hit_client(kind, draw, &mut fault).await?;
            return Some((fault, remedy));
        }
        let size = self.cluster.members.len() as u32;
        let leader = self.world.leader();
        let any = 1 + (draw % u64::from(size)) as u32;
        let how = draw >> 32;
        if self.lab.is_some() && !matches!(kind, Kind::Kill | Kind::Stop | Kind::Majority) {
            let cut_coordinator = kind == Kind::Coordinator && how % 3 == 2;
            if kind == Kind::Partition || cut_coordinator || kind.needs_namespaces() {
                let hit = if cut_coordinator { leader? } else { any };
                let remedy = self.make_in_namespaces(kind, hit, how, &mut fault).await?;
                fault.coordinated = leader.is_some_and(|leader| fault.members.contains(&leader));
                return Some((fault, remedy));
            }
        }
        let (does, undoes, hit) = match kind {
            Kind::Kill => one(0, any, size),
            Kind::Stop => one(1, any, size),
            Kind::Partition => cut_off(minority(any, how, size), size),
            Kind::Coordinator => one(how % 3, leader?, size),
            Kind::StepDown => (vec![Command::StepDown], Vec::new(), BTreeSet::from([leader?])),
            // A majority, or all members.
            _ => many(any, if how.is_multiple_of(3) { size } else { size / 2 + 1 }, size),
        };
        if kind == Kind::Majority {
            // At the same moment, as far as that goes.
            for member in self.cluster.members.iter().filter(|member| hit.contains(&member.id)) {
                member.signal(Signal::KILL);
            }
        }
        let mut done = Vec::new();
        for command in &does {
            done.extend(carry_out(command, &mut self.cluster, &mut self.world).await.ok());
        }
        self.world.observe(&self.cluster);
        fault.what = done.join(", ");
        fault.coordinated = leader.is_some_and(|leader| hit.contains(&leader));
        fault.members = hit.into_iter().collect();
        fault.until = now();
        (!done.is_empty()).then_some((fault, Remedy::Commands(undoes)))
    }

    async fn hit_client(&mut self, kind: Kind, draw: u64, fault: &mut Fault) -> Option<Remedy> {
        let chair = (draw % u64::from(self.field.size())) as usize;
        let name = self.field.name(chair);
        fault.client = Some(name.clone());
        if kind == Kind::ClientCut {
            fault.what = format!("cut off {name}");
            return Some(self.lab.as_ref()?.cut_client(chair));
        }
        if kind == Kind::ClientKill {
            fault.what = format!("killed {name}");
            return self.field.kill(chair).await.then_some(Remedy::Start(chair));
        }
        fault.what = format!("stopped {name}");
        self.field.is_running(chair).then(|| {
            self.field.signal(chair, Signal::STOP);
            Remedy::Continue(chair)
        })
    }

    /// Makes a fault good; what it hit, if that is counted.
    pub(super) async fn undo(&mut self, remedy: Remedy) -> Result<Option<u64>, Failure> {
        match remedy {
            Remedy::Rules(rules) => {
                return Ok(self.lab.as_ref().map(|lab| lab.remove(&rules)));
            }
            Remedy::Disk(id, tasks) => {
                drop(tasks);
                if let (Some(lab), Some(place)) = (&mut self.lab, self.cluster.place(id)) {
                    let ends = lab.disks.ends(id);
                    lab.disks.make_good(id)?;
                    // One that has not ended could still do so, because of a write that has failed.
                    self.cluster.kill(place).await;
                    self.world.lost(place);
                    self.cluster.revive(place)?;
                    self.world.revived(place);
                    return Ok(Some(ends));
                }
            }
            Remedy::Limit { id, per_second, before } => {
                if let (Some(lab), Some(place)) = (&self.lab, self.cluster.place(id)) {
                    let after = Writes::of(&self.cluster.members[place].http).await;
                    lab.disks.limit(id, None, &lab.groups).map_err(Failure::Input)?;
                    let held_back = after.map(|after| after.held_back(before, per_second));
                    return Ok(Some(held_back.unwrap_or_default()));
                }
            }
            Remedy::Start(chair) => self.field.start(chair)?,
            Remedy::Continue(chair) => self.field.signal(chair, Signal::CONT),
            Remedy::Commands(commands) => {
                for command in commands {
                    // Another fault may have undone it already.
                    let _ = carry_out(&command, &mut self.cluster, &mut self.world).await;
                }
                self.world.observe(&self.cluster);
            }
        }
        Ok(None)
    }

    /// Whether some member reaches a majority that is up: whose processes, these, have answered.
    pub(super) fn could_lead(&self, answered: &[Option<u32>]) -> bool {
        let members = &self.cluster.members;
        let is_up = |(member, answered): &(&Member, &Option<u32>)| {
            member.condition == Condition::Running
                && member.pid().is_some_and(|pid| Some(pid) == **answered)
        };
        let up = members.iter().zip(answered).filter(is_up).map(|(member, _)| member.id).collect();
        could_lead(&up, members.len(), |from, to| {
            let is_cut = self.lab.as_ref().is_some_and(|lab| lab.is_cut(from, to));
            !is_cut && !self.world.is_blocked(from, to)
        })
    }

    /// Whether a fault that ends a member has not done so yet.
    pub(super) fn is_to_bite(&self, remedy: &Remedy) -> bool {
        match (remedy, &self.lab) {
            (Remedy::Disk(id, _), Some(lab)) => lab.disks.ends(*id) == 0,
            _ => false,
        }
    }

    /// Makes all links good.
    pub(super) fn heal_links(&mut self) {
        if let Some(lab) = &mut self.lab {
            lab.heal_links();
        }
    }

    /// Makes everything good that may still be wrong with the members.
    pub(super) async fn heal(&mut self) -> Result<(), Failure> {
        if let Some(lab) = &mut self.lab {
            lab.heal()?;
        }
        for place in 0..self.cluster.members.len() {
            match self.cluster.members[place].condition {
                Condition::Running => {}
                Condition::Paused => self.cluster.members[place].resume(),
                Condition::Dead => {
                    self.cluster.revive(place)?;
                    self.world.revived(place);
                }
            }
        }
        self.world.split(&[]);
        self.world.observe(&self.cluster);
        reconcile(&self.cluster, &mut self.world).await;
        Ok(())
    }
}

/// What is done, what undoes it, and to whom it is done.
type Doing = (Vec<Command>, Vec<Command>, BTreeSet<u32>);

fn one(how: u64, id: u32, size: u32) -> Doing {
    let hit = BTreeSet::from([id]);
    match how {
        0 => (vec![Command::Kill(id)], vec![Command::Revive(id)], hit),
        1 => (vec![Command::Pause(id)], vec![Command::Resume(id)], hit),
        _ => cut_off(hit, size),
    }
}

fn cut_off(side: BTreeSet<u32>, size: u32) -> Doing {
    let rest = (1..=size).filter(|id| !side.contains(id)).collect();
    (vec![Command::Split(vec![side.clone(), rest])], vec![Command::Heal], side)
}

/// This number of members, from this one on.
pub(super) fn next(from: u32, count: u32, size: u32) -> BTreeSet<u32> {
    (0..count).map(|step| (from - 1 + step) % size + 1).collect()
}

/// Less than half of all.
pub(super) fn minority(from: u32, how: u64, size: u32) -> BTreeSet<u32> {
    let most = u64::from((size - 1) / 2);
    next(from, 1 + (how % most.max(1)) as u32, size)
}

fn many(from: u32, count: u32, size: u32) -> Doing {
    let hit = next(from, count, size);
    let kills = hit.iter().map(|id| Command::Kill(*id)).collect();
    (kills, hit.iter().map(|id| Command::Revive(*id)).collect(), hit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minority_is_less_than_half() {
        for size in 3..=9 {
            for from in 1..=size {
                for how in 0..8 {
                    let side = minority(from, how, size);
                    assert!(!side.is_empty() && side.len() * 2 < size as usize);
                    assert!(side.iter().all(|id| (1..=size).contains(id)));
                }
            }
        }
    }

    #[test]
    fn a_partition_leaves_no_member_out() {
        let (does, undoes, hit) = one(2, 3, 5);
        let sides = vec![BTreeSet::from([3]), BTreeSet::from([1, 2, 4, 5])];
        assert_eq!(does, [Command::Split(sides)]);
        assert_eq!((undoes, hit), (vec![Command::Heal], BTreeSet::from([3])));
    }

    #[test]
    fn who_is_killed_is_started_again() {
        let (does, undoes, hit) = many(3, 2, 3);
        assert_eq!(does, [Command::Kill(1), Command::Kill(3)]);
        assert_eq!(undoes, [Command::Revive(1), Command::Revive(3)]);
        assert_eq!(hit, BTreeSet::from([1, 3]));
    }
}
