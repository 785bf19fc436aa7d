//! Deadlock detection in the catalogue: how it is configured, prompted and judged.
//!
//! # Rules
//! L1 to L5 of the [site](super::site), and those of the detector.
//!
//! # Assumes
//! What the detector assumes.
//!
//! # Costs
//! What the detector costs; the site's own messages are overhead.

use super::detector::Detector;
use super::judge::Judge;
use super::names::{self, Cycle, Tx};
use super::site::{Config, Input, Site};
use super::workload::{Deed, Jobs};
use crate::definition::{Algorithm, Definition};
use crate::show::{Item, Mark, ProcessView, Scene, Shape, Tone};
use bellwether_core::{Goal, Group, NodeId, SortedMap, SortedSet};
use std::time::Duration;

/// A deadlock is broken within this many T for each transaction in it, once a search has begun. A
/// path goes round in a hop for each; then it is confirmed, and the victim's home is told. On a
/// network without bounds single messages take longer than T, so there is room to spare.
const ROUNDS: u32 = 10;

impl<D: Detector> Algorithm for Site<D> {
    fn definition() -> Definition<Self> {
        Definition::<Self>::new(D::ENTRY, |settings, group| Config {
            timeout: settings.timeout,
            jobs: Jobs::read_or_default(settings),
            confirm: !settings.options.is_on("unconfirmed"),
            detector: D::config(settings, group),
        })
        .beside(D::BESIDE)
        .options(D::OPTIONS)
        .checks(|settings, group| {
            Jobs::read(settings)?;
            D::check(settings, group)
        })
        .verbs(
            D::VERBS,
            |verb| {
                let deed = Deed::parse(verb).map(Input::Deed);
                deed.or_else(|| D::event(verb).map(Input::Detector))
            },
            |input| match input {
                Input::Deed(deed) => deed.verb(),
                Input::Detector(event) => D::verb(event).into(),
            },
        )
        .work(|input| matches!(input, Input::Deed(Deed::Work)))
        .kinds(D::KINDS)
        .goal(Self::goal())
        .settles_within(Self::settles_within)
        .referee(|config, group| {
            let wakes = D::wakes_within(&config.detector, group);
            Box::new(Judge::new(D::ONE_FINDER, wakes, config.timeout.saturating_mul(ROUNDS)))
        })
        .coordinator(|site| site.detector().coordinator())
        .view(|site, _, scene| site.view(scene))
        .costs(D::costs)
    }
}

impl<D: Detector> Site<D> {
    /// The transactions at home here, the wait-for graph here, and what the detector knows besides.
    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let reported = self.detector().reported();
        let victims = || reported.iter().map(|cycle| cycle.victim().waiter);
        let own = self.own.iter().map(|(tx, own)| {
            let held: Vec<String> = own.held.iter().map(ToString::to_string).collect();
            let holds = match held.as_slice() {
                [] => String::new(),
                held => format!("has {}", held.join(", ")),
            };
            let (waits, tone) = match own.pending {
                Some((_, resource)) if holds.is_empty() => {
                    (format!("wants {resource}"), Tone::Waits)
                }
                Some((_, resource)) => (format!(", wants {resource}"), Tone::Waits),
                None => (String::new(), Tone::Plain),
            };
            Item::new(tx).note(format!("{holds}{waits}")).tone(tone)
        });
        let edges = self.locks.edges(scene.me).map(|edge| names::drawn(&edge, reported));
        let cycles = reported.iter().flat_map(Cycle::edges);
        let cycles = cycles.map(|edge| names::drawn(edge, reported));
        let victim = victims().map(|tx| Item::new(tx).note("victim").tone(Tone::Bad));
        let view = ProcessView::new(if reported.is_empty() { "" } else { "sees a deadlock" })
            .mark_if(victims().any(|tx| self.own.contains_key(&tx)), Mark::Victim)
            .set("transactions at home", own)
            .row("waiting here", Shape::Graph, edges.collect::<Vec<_>>());
        self.detector().view(view, scene).row(
            "deadlock",
            Shape::Graph,
            cycles.chain(victim).collect::<Vec<_>>(),
        )
    }

    fn goal() -> Goal<Self> {
        Goal::new(
            "no-deadlock",
            "every job of a live site has ended, unless it needs a dead one, and none is in \
             a deadlock",
            |sites| {
                let sites: SortedMap<NodeId, &Self> = sites.collect();
                let all = sites.values().flat_map(|site| &site.own);
                let open: Vec<(Tx, bool)> = all.map(|(tx, own)| (*tx, own.job)).collect();
                open.into_iter().all(|(tx, job)| match prospect(&sites, tx) {
                    Prospect::Deadlocked | Prospect::Moving => false,
                    Prospect::Hopeless => true,
                    Prospect::Open => !job,
                })
            },
        )
        .at_rest(!D::RESTLESS)
    }

    fn settles_within(config: &Config<D::Config>, group: &Group, work: u64) -> Duration {
        let Config { timeout, jobs, .. } = config;
        // At the worst all jobs are done one after the other, and each waits for a deadlock.
        let jobs_at_most = u32::try_from(work).unwrap_or(u32::MAX).saturating_add(1);
        let step = jobs.hold.1.saturating_add(timeout.saturating_mul(4));
        let deadlock = D::wakes_within(&config.detector, group)
            .saturating_add(timeout.saturating_mul(ROUNDS))
            .saturating_add(timeout.saturating_mul(ROUNDS).saturating_mul(jobs_at_most.min(100)));
        step.saturating_mul(jobs.locks.saturating_add(1))
            .saturating_add(deadlock)
            .saturating_mul(jobs_at_most)
    }
}

/// What a transaction can hope for.
enum Prospect {
    /// It goes on, or waits for one that does.
    Open,
    /// A message that matters to it is on the way.
    Moving,
    /// It waits in a cycle, or for a transaction that does.
    Deadlocked,
    /// It waits for a dead site, or for one that does.
    Hopeless,
}

/// Goes from a transaction along what it waits for, as the live sites know it.
fn prospect<D: Detector>(sites: &SortedMap<NodeId, &Site<D>>, tx: Tx) -> Prospect {
    let mut seen = SortedSet::new();
    let mut last = tx;
    while seen.insert(last) {
        let Some(home) = sites.get(&last.home) else { return Prospect::Hopeless };
        let Some((_, resource)) = home.own.get(&last).and_then(|own| own.pending) else {
            return Prospect::Open;
        };
        let Some(site) = sites.get(&resource.site) else { return Prospect::Hopeless };
        // Where nothing is known of it, that is on the way; unless it was known and forgotten.
        let missing = |at: &Site<D>| {
            if at.reborn { Prospect::Hopeless } else { Prospect::Moving }
        };
        let Some(holder) = site.locks.awaited_by(last) else { return missing(site) };
        let holds =
            |home: &Site<D>| home.own.get(&holder).is_some_and(|own| own.held.contains(&resource));
        if let Some(home) = sites.get(&holder.home).filter(|home| !holds(home)) {
            return missing(home);
        }
        last = holder;
    }
    Prospect::Deadlocked
}
