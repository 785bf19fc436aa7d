//! The rules S1 to S5, the refusals and the simple application, seen from one process of 1, 2, 3.
//! P3 coordinates; P1 has the token at first.

use super::super::tests::id;
use super::super::{Central, Options, SuzukiKasami, central, suzuki_kasami};
use super::*;
use crate::definition::{Algorithm, Settings};
use crate::views::{Reported, Survivor, View};
use bellwether_core::Effect::{Emit, Send, SetTimer};
use bellwether_core::{Effect, Group, step};
use std::sync::Arc;

const T: Duration = Duration::from_millis(100);
const SECTION: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(9));
const FIRST: Epoch = Epoch::FIRST;
/// The views that P3 proposes.
const SECOND: Epoch = Epoch::new(1, NodeId::new(3));
const THIRD: Epoch = Epoch::new(2, NodeId::new(3));

type Seen<M> = Effect<Guarded<M>>;
type CentralMsg = Msg<central::Msg, crate::election::bully::Msg>;

struct Fixture<M: Mutex> {
    number: u32,
    config: Config,
    process: Guarded<M>,
}

/// A process after its first start.
fn at<M: Mutex>(number: u32) -> Fixture<M> {
    start(number, false)
}

fn start<M: Mutex>(number: u32, textbook: bool) -> Fixture<M> {
    let settings =
        Settings { coordinator: Some(id(3)), textbook, section: SECTION, ..Settings::new(T) };
    let config = Guarded::<M>::definition().config(&settings, &Group::numbered(3).unwrap());
    let mut fixture = Fixture { number, config, process: Guarded::default() };
    fixture.call(|process, cx| process.on_start(None, cx));
    fixture
}

fn about_views<M, E>(msg: views::Msg<Report>) -> Msg<M, E> {
    Msg::Views(Box::new(msg))
}

impl<M: Mutex> Fixture<M> {
    fn call(
        &mut self,
        handler: impl FnOnce(&mut Guarded<M>, &mut Cx<'_, M, Bully>),
    ) -> Vec<Seen<M>> {
        let group = Group::numbered(3).unwrap();
        let place = group.place(id(self.number)).unwrap();
        step(&group, place, &self.config, |cx| handler(&mut self.process, cx))
    }

    fn input(&mut self, deed: Deed) -> Vec<Seen<M>> {
        self.call(|process, cx| process.on_input(deed, cx))
    }

    fn fire(&mut self, timer: <Guarded<M> as Process>::Timer) -> Vec<Seen<M>> {
        self.call(|process, cx| process.on_timer(timer, cx))
    }

    fn deliver(&mut self, from: u32, msg: <Guarded<M> as Process>::Msg) -> Vec<Seen<M>> {
        self.call(|process, cx| process.on_message(id(from), msg, cx))
    }

    /// A message of the algorithm, in this view.
    fn hear(&mut self, epoch: Epoch, from: u32, msg: M::Msg) -> Vec<Seen<M>> {
        self.deliver(from, Msg::Algorithm(epoch, msg))
    }

    /// P3 proposes; what is reported.
    fn propose(&mut self, epoch: Epoch) -> Reported<Report> {
        let effects = self.deliver(3, about_views(views::Msg::Propose(epoch)));
        if let [Send(to, Msg::Views(msg))] = &effects[..]
            && let views::Msg::Report(about, reported) = &**msg
        {
            assert_eq!((*to, *about), (id(3), epoch));
            return reported.clone();
        }
        panic!("no report: {effects:?}");
    }

    /// The view of these members begins.
    fn begin(&mut self, epoch: Epoch, members: &[u32], opening: Opening) -> Vec<Seen<M>> {
        let group = Group::new(members.iter().copied().map(id).collect()).unwrap();
        let view = Arc::new(View { epoch, group, opening });
        self.deliver(3, about_views(views::Msg::View(view)))
    }

    fn recover(&mut self) {
        let saved = self.process.durable();
        self.process = Guarded::default();
        self.call(|process, cx| process.on_start(Some(saved), cx));
    }
}

/// An opening under P3, which has the token, with no process inside.
fn opening(waiting: &[u32]) -> Opening {
    Opening {
        coordinator: id(3),
        token: id(3),
        minted: false,
        inside: None,
        waiting: waiting.iter().copied().map(id).collect(),
        options: Options::default(),
    }
}

fn opening_inside(inside: u32, waiting: &[u32]) -> Opening {
    Opening { token: id(inside), inside: Some(id(inside)), ..opening(waiting) }
}

fn sends<M: Mutex>(epoch: Epoch, to: u32, msg: M::Msg) -> Seen<M> {
    Send(id(to), Msg::Algorithm(epoch, msg))
}

fn view<M: Mutex>(epoch: Epoch, members: u32) -> Seen<M> {
    Emit(Output::View { number: epoch.number(), members })
}

fn refused<M: Mutex>(refusal: Refusal) -> Seen<M> {
    Emit(Output::Refused(refusal))
}

/// P1 under the central coordinator, inside by its first entry.
fn inside() -> Fixture<Central> {
    let mut p1 = at::<Central>(1);
    p1.input(Deed::Request);
    let granted = central::Msg::Granted { arrival: 1, entry: 1 };
    assert_eq!(p1.hear(FIRST, 3, granted), [Emit(Output::Entered(sequence(FIRST, 1)))]);
    p1
}

fn sequence(view: Epoch, entry: u64) -> Sequence {
    Sequence { view, entry }
}

#[test]
fn requests_and_releases_pass_through() {
    let mut p1 = inside();
    let leaves = [Emit(Output::Left), sends(FIRST, 3, central::Msg::Release)];
    assert_eq!(p1.input(Deed::Release), leaves);
    let asks = [Emit(Output::Requested), sends(FIRST, 3, central::Msg::Request)];
    assert_eq!(p1.input(Deed::Request), asks);
}

#[test]
fn refuses_what_cannot_be_done() {
    let mut p1 = at::<Central>(1);
    let before = p1.process.clone();
    assert_eq!(p1.input(Deed::Release), [refused(Refusal::NotInside)]);
    assert_eq!(p1.process, before);
    p1.input(Deed::Request);
    let before = p1.process.clone();
    assert_eq!(p1.input(Deed::Request), [refused(Refusal::Waiting)]);
    assert_eq!(p1.input(Deed::Release), [refused(Refusal::NotInside)]);
    assert_eq!(p1.process, before);
    let mut p1 = inside();
    let before = p1.process.clone();
    assert_eq!(p1.input(Deed::Request), [refused(Refusal::Inside(sequence(FIRST, 1)))]);
    assert_eq!(p1.process, before);
    assert_eq!(p1.process.may_release(), Ok(()));
}

#[test]
fn work_is_done_one_job_after_the_other() {
    let mut p1 = at::<Central>(1);
    let asks = [Emit(Output::Requested), sends(FIRST, 3, central::Msg::Request)];
    assert_eq!(p1.input(Deed::Work), asks);
    assert_eq!(p1.input(Deed::Work), [], "one after the other");
    let granted = central::Msg::Granted { arrival: 1, entry: 4 };
    let enters =
        [Emit(Output::Entered(sequence(FIRST, 4))), SetTimer(Timer::Leave, SECTION.0..SECTION.1)];
    assert_eq!(p1.hear(FIRST, 3, granted), enters);
    let leaves = [Emit(Output::Left), sends(FIRST, 3, central::Msg::Release)];
    assert_eq!(p1.fire(Timer::Leave), [&leaves[..], &asks[..]].concat());
    assert!(!p1.process.is_served());
    assert_eq!(p1.fire(Timer::Leave), [], "it is not inside");
    p1.hear(FIRST, 3, central::Msg::Granted { arrival: 2, entry: 5 });
    assert_eq!(p1.fire(Timer::Leave), leaves);
    assert!(p1.process.is_served());
}

#[test]
fn the_driver_s_application_leaves_when_it_likes() {
    let mut p1 = inside();
    assert_eq!(p1.fire(Timer::Leave), []);
    assert!(p1.process.is_inside());
}

#[test]
fn s1_reports_what_the_application_has() {
    let mut p1 = inside();
    let reported = p1.propose(SECOND);
    assert_eq!(reported.was_in, Some(FIRST));
    assert_eq!(reported.report.status, Status::Inside(sequence(FIRST, 1)));

    let mut p1 = at::<Central>(1);
    assert_eq!(p1.propose(SECOND).report.status, Status::Idle);

    let mut p1 = at::<Central>(1);
    p1.input(Deed::Request);
    p1.hear(FIRST, 3, central::Msg::Denied { arrival: 7 });
    let report = p1.propose(SECOND).report;
    assert_eq!((report.status, report.place), (Status::Waiting, Some(7)));
}

#[test]
fn s1_reports_the_token() {
    assert!(at::<SuzukiKasami>(1).propose(SECOND).report.token);
    assert!(!at::<SuzukiKasami>(2).propose(SECOND).report.token);
}

#[test]
fn s1_the_algorithm_stops() {
    let mut p1 = at::<SuzukiKasami>(1);
    p1.propose(SECOND);
    let before = p1.process.clone();
    assert_eq!(p1.hear(FIRST, 2, suzuki_kasami::Msg::Request(1)), []);
    assert_eq!(p1.fire(Timer::Algorithm(FIRST, ())), []);
    assert_eq!(p1.process, before);
}

#[test]
fn s1_a_refused_proposal_stops_nothing() {
    let mut p1 = at::<SuzukiKasami>(1);
    let refusal = Send(id(2), about_views(views::Msg::Refuse(FIRST)));
    assert_eq!(p1.deliver(2, about_views(views::Msg::Propose(FIRST))), [refusal]);
    assert!(!p1.hear(FIRST, 2, suzuki_kasami::Msg::Request(1)).is_empty());
}

#[test]
fn s2_the_process_inside_stays_inside() {
    let mut p1 = inside();
    p1.propose(SECOND);
    assert_eq!(p1.begin(SECOND, &[1, 3], opening_inside(1, &[])), [view(SECOND, 2)]);
    assert_eq!(p1.process.status(), Status::Inside(sequence(FIRST, 1)), "by the same entry");
    let leaves = [Emit(Output::Left), sends(SECOND, 3, central::Msg::Release)];
    assert_eq!(p1.input(Deed::Release), leaves);
}

#[test]
fn s2_a_job_goes_on_over_views() {
    let mut p1 = at::<Central>(1);
    p1.input(Deed::Work);
    p1.hear(FIRST, 3, central::Msg::Granted { arrival: 1, entry: 1 });
    p1.propose(SECOND);
    p1.begin(SECOND, &[1, 3], opening_inside(1, &[]));
    let leaves = [Emit(Output::Left), sends(SECOND, 3, central::Msg::Release)];
    assert_eq!(p1.fire(Timer::Leave), leaves);
}

#[test]
fn s2_requests_are_asked_again_in_their_order() {
    let mut p1 = at::<SuzukiKasami>(1);
    // It is P2 that has asked, and gets the token; then P1 asks.
    p1.hear(FIRST, 2, suzuki_kasami::Msg::Request(1));
    p1.input(Deed::Request);
    p1.propose(SECOND);
    // P2 is dead, and P1 has been given the token.
    let opening = Opening { token: id(1), ..opening(&[1, 3]) };
    let enters = [view(SECOND, 2), Emit(Output::Entered(sequence(SECOND, 1)))];
    assert_eq!(p1.begin(SECOND, &[1, 3], opening), enters);
    let effects = p1.input(Deed::Release);
    let passed = |effect: &Seen<SuzukiKasami>| {
        matches!(effect, Send(to, Msg::Algorithm(SECOND, suzuki_kasami::Msg::Token(_)))
            if *to == id(3))
    };
    assert!(effects.iter().any(passed), "P3 is next: {effects:?}");
}

#[test]
fn s2_the_coordinator_says_that_it_makes_a_token() {
    let minted = Opening { minted: true, ..opening(&[]) };
    let mut p1 = at::<SuzukiKasami>(1);
    p1.propose(SECOND);
    assert_eq!(p1.begin(SECOND, &[1, 3], minted.clone()), [view(SECOND, 2)]);
    assert!(!p1.process.algorithm().has_token());

    // P3 is told of no survivor with the token.
    let mut p3 = at::<SuzukiKasami>(3);
    p3.input(Deed::Elect(election::Input::Start));
    let effects = p3.fire(Timer::Views(views::Timer::Reports));
    assert_eq!(effects.last(), Some(&Emit(Output::Minted)));
    assert!(p3.process.algorithm().has_token());

    // Without a token there is nothing to make.
    let mut p3 = at::<Central>(3);
    p3.input(Deed::Elect(election::Input::Start));
    let effects = p3.fire(Timer::Views(views::Timer::Reports));
    assert_eq!(effects.last(), Some(&view(SECOND, 1)));
}

#[test]
fn s2_the_elected_process_forms_a_view() {
    let mut p3 = at::<Central>(3);
    let effects = p3.input(Deed::Elect(election::Input::Start));
    let proposals = [1, 2].map(|n| Send(id(n), about_views(views::Msg::Propose(SECOND))));
    assert!(proposals.iter().all(|proposal| effects.contains(proposal)), "{effects:?}");
    assert_eq!(p3.process.views().running(), None);
}

#[test]
fn s3_messages_of_a_view_that_is_over_are_dropped() {
    let mut p1 = at::<Central>(1);
    p1.input(Deed::Request);
    p1.propose(SECOND);
    p1.begin(SECOND, &[1, 3], opening(&[1]));
    let before = p1.process.clone();
    let granted = central::Msg::Granted { arrival: 1, entry: 1 };
    assert_eq!(p1.hear(FIRST, 3, granted), []);
    assert_eq!(p1.process, before);
    let enters = [Emit(Output::Entered(sequence(SECOND, 1)))];
    assert_eq!(p1.hear(SECOND, 3, granted), enters);
}

#[test]
fn s3_messages_of_the_next_view_wait_for_it() {
    let mut p1 = at::<Central>(1);
    p1.input(Deed::Request);
    p1.propose(SECOND);
    let granted = central::Msg::Granted { arrival: 1, entry: 1 };
    assert_eq!(p1.hear(SECOND, 3, granted), []);
    let enters = [view(SECOND, 2), Emit(Output::Entered(sequence(SECOND, 1)))];
    assert_eq!(p1.begin(SECOND, &[1, 3], opening(&[1])), enters);
}

#[test]
fn s3_messages_of_a_view_that_never_begins_are_dropped() {
    let mut p1 = at::<Central>(1);
    p1.input(Deed::Request);
    p1.propose(SECOND);
    let granted = central::Msg::Granted { arrival: 1, entry: 1 };
    p1.hear(SECOND, 3, granted);
    p1.propose(THIRD);
    assert_eq!(p1.begin(THIRD, &[1, 3], opening(&[1])), [view(THIRD, 2)]);
    assert_eq!(p1.process.status(), Status::Waiting);
    assert!(p1.process.early.is_empty());
}

#[test]
fn s4_a_release_between_views_is_told_later() {
    let mut p1 = inside();
    p1.propose(SECOND);
    assert_eq!(p1.input(Deed::Release), [Emit(Output::Left)]);
    let told = [view(SECOND, 2), sends(SECOND, 3, central::Msg::Release)];
    assert_eq!(p1.begin(SECOND, &[1, 3], opening_inside(1, &[])), told);
}

#[test]
fn s4_a_request_between_views_is_told_later() {
    let mut p1 = at::<Central>(1);
    p1.propose(SECOND);
    assert_eq!(p1.input(Deed::Request), [Emit(Output::Requested)]);
    assert_eq!(p1.input(Deed::Request), [refused(Refusal::Waiting)]);
    let told = [view(SECOND, 2), sends(SECOND, 3, central::Msg::Request)];
    assert_eq!(p1.begin(SECOND, &[1, 3], opening(&[])), told);
}

#[test]
fn s4_a_release_and_a_request_between_views_are_told_later() {
    let mut p1 = inside();
    p1.propose(SECOND);
    p1.input(Deed::Release);
    p1.input(Deed::Request);
    let [release, request] =
        [central::Msg::Release, central::Msg::Request].map(|msg| sends(SECOND, 3, msg));
    let told = [view(SECOND, 2), release, request];
    assert_eq!(p1.begin(SECOND, &[1, 3], opening_inside(1, &[])), told);
}

#[test]
fn s4_what_was_reported_is_reported_anew() {
    let mut p1 = inside();
    p1.propose(SECOND);
    p1.input(Deed::Release);
    assert_eq!(p1.propose(THIRD).report.status, Status::Idle);
    p1.input(Deed::Request);
    let reported = p1.propose(Epoch::new(3, id(3)));
    assert_eq!((reported.was_in, reported.report.status), (Some(FIRST), Status::Waiting));
    assert_eq!(reported.report.place, None, "the place was that of the request before");
}

#[test]
fn s5_a_process_that_has_come_back_waits_for_the_next_view() {
    let mut p1 = inside();
    p1.recover();
    assert_eq!(p1.process.status(), Status::Idle);
    assert_eq!(p1.input(Deed::Request), [Emit(Output::Requested)], "no process is asked");
    let granted = central::Msg::Granted { arrival: 1, entry: 1 };
    assert_eq!(p1.hear(FIRST, 3, granted), [], "it is in no view");
    let reported = p1.propose(SECOND);
    assert_eq!((reported.was_in, reported.report.status), (None, Status::Waiting));
    assert_eq!(p1.begin(SECOND, &[1, 3], opening(&[1])), [view(SECOND, 2)]);
    assert_eq!(p1.hear(SECOND, 3, granted), [Emit(Output::Entered(sequence(SECOND, 1)))]);
}

#[test]
fn s5_its_token_is_lost() {
    let mut p1 = at::<SuzukiKasami>(1);
    p1.recover();
    assert!(!p1.propose(SECOND).report.token);
}

#[test]
fn the_textbook_has_no_views() {
    let mut p3 = start::<Central>(3, true);
    assert_eq!(p3.input(Deed::Elect(election::Input::Start)), []);
    p3.recover();
    assert_eq!(p3.process.views().running(), None, "and no process lets it in");
    let request: CentralMsg = Msg::Algorithm(FIRST, central::Msg::Request);
    assert_eq!(p3.deliver(1, request), []);
}

#[test]
fn a_view_without_this_process_does_nothing() {
    let mut p1 = inside();
    p1.propose(SECOND);
    assert_eq!(p1.begin(SECOND, &[2, 3], opening(&[])), [view(SECOND, 2)]);
    assert_eq!(p1.input(Deed::Release), [Emit(Output::Left)]);
}

/// A report: process, view, status, place and token.
fn told(
    number: u32,
    was_in: Option<Epoch>,
    status: Status,
    place: Option<u64>,
    token: bool,
) -> (NodeId, Reported<Report>) {
    let report = Report { status, place, token, options: Options::default() };
    (id(number), Reported { was_in, report })
}

const INSIDE: Status = Status::Inside(Sequence { view: SECOND, entry: 3 });

#[test]
fn opens_with_the_survivor_inside() {
    let reports = [
        told(1, Some(SECOND), Status::Waiting, None, false),
        told(2, Some(SECOND), INSIDE, None, true),
        told(3, Some(SECOND), Status::Idle, None, false),
    ];
    assert_eq!(Report::open(id(3), &reports), opening_inside(2, &[1]));
}

#[test]
fn opens_with_the_token_where_it_is() {
    let reports = [
        told(1, Some(SECOND), Status::Idle, None, true),
        told(3, Some(SECOND), Status::Waiting, None, false),
    ];
    assert_eq!(Report::open(id(3), &reports), Opening { token: id(1), ..opening(&[3]) });
}

#[test]
fn opens_with_a_new_token_if_no_survivor_has_it() {
    let reports = [
        told(1, Some(SECOND), Status::Waiting, None, false),
        told(3, None, Status::Idle, None, false),
    ];
    assert_eq!(Report::open(id(3), &reports), Opening { minted: true, ..opening(&[1]) });
}

#[test]
fn opens_without_a_token_of_an_older_view() {
    let old = told(1, Some(FIRST), Status::Idle, None, true);
    let reports = [old.clone(), told(3, Some(SECOND), Status::Idle, None, false)];
    assert_eq!(Report::open(id(3), &reports), Opening { minted: true, ..opening(&[]) });
    let reports = [old, told(3, Some(SECOND), Status::Idle, None, true)];
    assert_eq!(Report::open(id(3), &reports), opening(&[]));
}

#[test]
fn opens_in_the_order_of_places() {
    let waiting = |number, was_in, place| told(number, was_in, Status::Waiting, place, false);
    let reports = [
        waiting(1, Some(SECOND), None),
        waiting(2, Some(SECOND), Some(9)),
        waiting(3, Some(SECOND), Some(4)),
        waiting(4, Some(FIRST), Some(20)),
        waiting(5, Some(SECOND), None),
    ];
    // Older views first; of unknown places the first on the ring.
    let expected = [4, 3, 2, 1, 5].map(id);
    assert_eq!(Report::open(id(3), &reports).waiting, expected);
}

#[test]
fn opens_with_the_coordinator_s_options() {
    let mut reports = [
        told(1, Some(FIRST), Status::Idle, None, true),
        told(3, Some(FIRST), Status::Idle, None, false),
    ];
    reports[1].1.report.options.as_printed = true;
    assert!(Report::open(id(3), &reports).options.as_printed);
    assert!(!Report::open(id(1), &reports).options.as_printed);
}

#[test]
fn entries_are_numbered_over_views() {
    assert!(sequence(FIRST, 9) < sequence(SECOND, 1));
    assert!(sequence(FIRST, 9).fence() < sequence(SECOND, 1).fence());
    assert_eq!(
        (sequence(FIRST, 9).to_string(), sequence(THIRD, 1).to_string()),
        ("#9".into(), "#2.1".into())
    );
}
