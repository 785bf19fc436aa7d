//! From view to view: rules TS6 to TS8.

use super::super::{Output, Post};
use super::numbering::Numbering;
use super::{Body, Cx, Msg, Opening, Report, Sequencer, Timer};
use crate::election::{self, Bully, Watched};
use crate::views::{self, Views};
use bellwether_core::{Call, Group};

impl Sequencer {
    /// Steps the agreement on views.
    pub(super) fn agree(&mut self, cx: &mut Cx<'_>, call: Call<Views<Report>>) {
        let config = &cx.config().views;
        let post = |msg| Msg::Views(Box::new(msg));
        let outputs = cx.part(config, post, Timer::Views, |cx| call.make(&mut self.views, cx));
        for output in outputs {
            match output {
                views::Output::Stopped => self.report(cx),
                views::Output::Began => self.begin(cx),
            }
        }
    }

    /// TS6.
    fn report(&mut self, cx: &mut Cx<'_>) {
        cx.rule("TS6");
        let log = self.log.iter().map(|(position, post)| (*position, *post)).collect();
        let report = Report { delivered: self.delivered, log };
        self.agree(cx, Call::Input(views::Input::Report(report)));
    }

    /// TS7.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        cx.rule("TS7");
        let Some(view) = self.views.view().cloned() else { return };
        let (opening, end) = (&view.opening, view.opening.end());
        self.members = view.group.len() as u32;
        cx.emit(Output::View { number: view.epoch.number(), members: self.members });
        // TS8; or, if silence does not prove death, a process that was left behind.
        if !self.joined || self.delivered < opening.first || self.delivered > end {
            cx.rule("TS8");
            self.joined = true;
            self.delivered = end;
            cx.emit(Output::Joined { position: end });
        }
        self.log = opening.log().collect();
        self.queue = u32::try_from(end - self.delivered).unwrap_or(u32::MAX);
        (self.known, self.stable, self.reported) = (end, opening.first, opening.first);
        self.published = 0;
        self.take_desk(opening, &view.group, cx);
        // Answers to what is delivered now come after what was broadcast before.
        let lost = |own: &&Post| opening.tail.iter().all(|post| post.id != own.id);
        for post in self.pending.iter().filter(lost).copied().collect::<Vec<_>>() {
            self.publish(post, cx);
        }
        self.deliver(cx);
        for (epoch, from, body) in std::mem::take(&mut self.early) {
            if epoch == view.epoch {
                self.hear(from, body, cx);
            }
        }
    }

    /// Begins to number, or tells who does that the tail is here.
    fn take_desk(&mut self, opening: &Opening, group: &Group, cx: &mut Cx<'_>) {
        let place = group.place(cx.me()).filter(|_| opening.sequencer == cx.me());
        self.numbering = place.map(|_| Numbering::new(group.len(), opening.first));
        if let Some(place) = place {
            self.reached(place, self.known, cx);
        } else if !opening.tail.is_empty() {
            self.reported = self.known;
            let uniform = cx.config().uniform;
            let reached = if uniform { Body::Ack(self.known) } else { Body::Seen(self.known) };
            self.send(opening.sequencer, reached, cx);
        }
    }

    /// Steps the election and tells the views whom it has found.
    pub(super) fn elect(&mut self, cx: &mut Cx<'_>, call: Call<Watched<Bully>>) {
        let config = &cx.config().election;
        let outputs =
            cx.part(config, Msg::Election, Timer::Election, |cx| call.make(&mut self.election, cx));
        for output in outputs {
            cx.emit(Output::Election(output));
            if let election::Output::Elected(coordinator) = output {
                self.agree(cx, Call::Input(views::Input::Elected(coordinator)));
            }
        }
    }
}
