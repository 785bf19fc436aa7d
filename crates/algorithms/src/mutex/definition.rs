//! Mutual exclusion in the catalogue: how it is configured, prompted and judged.

use super::{Config, Deed, Guarded, Mutex, Opening, Options, Output, Sequence, Status};
use crate::definition::{Algorithm, Definition, Docs, Milestone, Quantity, Settings, Topology};
use crate::election::{self, DETECTOR_DOCS, Election, LINK_DOCS, Watched};
use crate::options::Opt;
use crate::show::{Mark, ProcessView, Scene};
use crate::views::{self, Epoch};
use bellwether_core::{Goal, Group, Invariant, Message};
use std::time::Duration;

/// The rules by which an algorithm survives crashes.
const GUARD: Docs = ("survival", essay!("guarded.rs"));
const VIEWS: Docs = ("views", essay!("../views/mod.rs"));

impl<M: Mutex, E: Election> Algorithm for Guarded<M, E> {
    fn definition() -> Definition<Self> {
        let definition = Definition::<Self>::new(M::ENTRY, Self::config)
            .beside(match M::ENTRY.topology {
                Topology::Ring => &[LINK_DOCS, GUARD, VIEWS, election::DOCS, DETECTOR_DOCS],
                Topology::Mesh | Topology::Tree => &[GUARD, VIEWS, election::DOCS, DETECTOR_DOCS],
            })
            .options(&[Opt {
                name: "no-epochs",
                value: None,
                help: "Believe messages of views that are over: there may be two tokens",
            }])
            .verbs(
                &["request", "release", "work", "suspect", "start"],
                |verb| match verb {
                    "request" => Some(Deed::Request),
                    "release" => Some(Deed::Release),
                    "work" => Some(Deed::Work),
                    verb => election::Input::of(verb).map(Deed::Elect),
                },
                |deed| match deed {
                    Deed::Request => "request".into(),
                    Deed::Release => "release".into(),
                    Deed::Work => "work".into(),
                    Deed::Elect(input) => input.verb().into(),
                },
            )
            .work(|deed| matches!(deed, Deed::Work | Deed::Request))
            .kinds(M::KINDS)
            .invariants(Self::invariants())
            .goal(Self::goal())
            .settles_within(Self::settles_within)
            .coordinator(|process| process.election().coordinator())
            .members(|process| process.views().view().map_or(&[], |view| view.group.ring()))
            .section(Self::status, Self::milestone)
            .view(|process, _, scene| process.view(scene))
            .costs(M::costs);
        if !M::TOKEN {
            return definition;
        }
        let token = Quantity { name: "token", place: "held", total: 1 };
        definition
            .conserves(
                move |_, _| Some(token),
                |process| process.tokens_held(),
                |msg| u64::from(matches!(msg.kind().name, "TOKEN" | "PRIVILEGE")),
            )
            .note(|process| match process.tokens_held() {
                Some(1) => "has the token".to_owned(),
                _ => String::new(),
            })
    }
}

impl<M: Mutex, E: Election> Guarded<M, E> {
    fn config(settings: &Settings, group: &Group) -> Config {
        let coordinator = settings.coordinator.unwrap_or_else(|| group.highest());
        let Settings { timeout, textbook, detection, .. } = *settings;
        let options = Options {
            tree: settings.tree,
            bypass: (textbook && settings.acknowledge).then_some(timeout),
            as_printed: textbook,
        };
        Config {
            opening: Opening::first(group, coordinator, options),
            section: settings.section,
            textbook,
            no_epochs: settings.options.is_on("no-epochs"),
            election: Watched::<E>::config(settings, group),
            views: views::Config {
                timeout,
                watch: (detection && !textbook).then_some(timeout),
                coordinator: settings.coordinator,
            },
        }
    }

    /// Numbers only grow as long as a process lives that knows the last one. A process that comes
    /// back when all of them are dead begins below it; a fence that survives that needs a
    /// majority, as the production member has it.
    fn invariants() -> Vec<Invariant<Self>> {
        vec![
            Invariant::at_most_one(
                "one-inside",
                "at most one live process is in the critical section",
                |_, process: &Self| process.is_inside().then_some(0),
            ),
            Invariant::fenced(
                "sequence",
                "each entry has a number of its own, and numbers only grow, over views too",
                |_, process: &Self, _| process.fence().map(Sequence::fence),
            )
            .until_recovery(),
            Invariant::fenced(
                "order",
                "requests are granted in the order that the algorithm promises",
                |_, process: &Self, _| process.turn(),
            )
            .until_recovery(),
        ]
    }

    fn goal() -> Goal<Self> {
        Goal::<Self>::new(
            "granted",
            "every request of a live process is granted, and all live processes are in one view",
            |processes| {
                let mut view = None;
                let mut live = 0;
                let mut members = None;
                for (_, process) in processes {
                    live += 1;
                    let running = process.views().running();
                    if !process.is_served()
                        || process.watched
                            && (running.is_none() || *view.get_or_insert(running) != running)
                    {
                        return false;
                    }
                    members = members.or(process.watched.then_some(process.members));
                }
                members.is_none_or(|members| members == live)
            },
        )
        .at_rest(!M::RESTLESS)
    }

    /// After the last fault come an election and a view, perhaps twice; then every entry takes at
    /// most two messages from end to end of a line, and the time inside.
    fn settles_within(config: &Config, group: &Group, work: u64) -> Duration {
        let timeout = config.views.timeout;
        let hops = 2 * group.len() as u32 + 8;
        let entry = timeout.saturating_mul(hops).saturating_add(config.section.1);
        let entries = u32::try_from(work).unwrap_or(u32::MAX).saturating_add(hops);
        Watched::<E>::settles_within(&config.election, group, 0)
            .saturating_add(timeout.saturating_mul(16))
            .saturating_add(entry.saturating_mul(entries))
    }

    fn milestone(output: &Output) -> Option<Milestone> {
        match output {
            Output::Requested => Some(Milestone::Requested),
            Output::Entered(_) => Some(Milestone::Entered),
            Output::Left => Some(Milestone::Left),
            Output::Minted => Some(Milestone::Minted),
            Output::Refused(refusal) => Some(Milestone::Refused(*refusal)),
            Output::View { .. } | Output::Election(_) => None,
        }
    }
}

impl<M: Mutex, E: Election> Guarded<M, E> {
    /// Whether the token is here. In a later view, what is left of the token of the first may still
    /// be on the way, so nothing is promised.
    fn tokens_held(&self) -> Option<u64> {
        let is_first = self.views().running() == Some(Epoch::FIRST);
        is_first.then(|| u64::from(self.algorithm().has_token()))
    }

    /// What the algorithm shows, in the view that it runs in, with the token. What the application
    /// has of the section is said where the algorithm has no better words.
    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let of_view = self.views().view().map(|view| &view.group);
        let scene = Scene { group: of_view.unwrap_or(scene.group), ..*scene };
        let mut view = self.algorithm().view(&scene);
        let agrees = self.watched && self.views().running().is_none();
        view.phase = match self.status() {
            _ if agrees => "agrees on a new view".to_owned(),
            Status::Inside(sequence) => format!("in the section ({sequence})"),
            Status::Waiting if view.phase.is_empty() => "waits".to_owned(),
            Status::Waiting | Status::Idle => view.phase,
        };
        view.mark_if(self.algorithm().has_token(), Mark::Token)
    }

    fn fence(&self) -> Option<Sequence> {
        match self.status() {
            Status::Inside(sequence) => Some(sequence),
            Status::Idle | Status::Waiting => None,
        }
    }

    /// The view, and the place in the order of that view, of the request that is granted now.
    /// While the next view is being agreed upon, the process inside stays inside by the view before.
    fn turn(&self) -> Option<u128> {
        let view = self.views().epoch()?;
        let entry = self.algorithm().place().filter(|_| self.is_inside())?;
        Some(Sequence { view, entry }.fence())
    }
}

impl Sequence {
    /// As one number.
    pub fn fence(self) -> u128 {
        let (number, by) = (self.view.number(), self.view.by().number());
        u128::from(number) << 96 | u128::from(by) << 64 | u128::from(self.entry)
    }
}
