//! One test per rule, seen from one process of the ring 1, 2, 3, 4.

use super::*;
use bellwether_core::Effect::{CancelTimer, Emit, Send, SetTimer};
use bellwether_core::{Effect, Group, step};

const T: Duration = Duration::from_millis(100);
const PERIOD: Duration = Duration::from_millis(300);

/// A survivor that knows a number; a view opens with who knew what, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Note(u32);

type Notes = Vec<(NodeId, Option<Epoch>, u32)>;

impl Survivor for Note {
    type Opening = (NodeId, Notes);

    fn open(coordinator: NodeId, reports: &[(NodeId, Reported<Note>)]) -> Self::Opening {
        let note =
            |(id, reported): &(NodeId, Reported<Note>)| (*id, reported.was_in, reported.report.0);
        (coordinator, reports.iter().map(note).collect())
    }
}

type Seen = Effect<Views<Note>>;

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn epoch(number: u32, by: u32) -> Epoch {
    Epoch::new(number, id(by))
}

fn report(about: Epoch, was_in: Option<Epoch>, note: u32) -> Msg<Note> {
    Msg::Report(about, Reported { was_in, report: Note(note) })
}

/// The view of these members, which have all come from the first one and know ten times their
/// number.
fn view(epoch: Epoch, members: &[u32]) -> Arc<View<(NodeId, Notes)>> {
    let group = Group::new(members.iter().copied().map(id).collect()).unwrap();
    let notes = members.iter().map(|member| (id(*member), Some(Epoch::FIRST), 10 * member));
    Arc::new(View { epoch, group, opening: (epoch.by(), notes.collect()) })
}

struct Fixture {
    number: u32,
    config: Config,
    views: Views<Note>,
}

/// A process after its first start, with P4 as the coordinator and watched or not.
fn at(number: u32, watch: bool) -> Fixture {
    let watch = watch.then_some(PERIOD);
    let config = Config { timeout: T, watch, coordinator: Some(id(4)) };
    let mut fixture = Fixture { number, config, views: Views::default() };
    fixture.call(|views, cx| views.on_start(None, cx));
    fixture
}

impl Fixture {
    fn call(&mut self, handler: impl FnOnce(&mut Views<Note>, &mut Cx<'_, Note>)) -> Vec<Seen> {
        let group = Group::numbered(4).unwrap();
        let place = group.place(id(self.number)).unwrap();
        step(&group, place, &self.config, |cx| handler(&mut self.views, cx))
    }

    fn elected(&mut self, number: u32) -> Vec<Seen> {
        self.call(|views, cx| views.on_input(Input::Elected(id(number)), cx))
    }

    /// Answers [`Output::Stopped`]; as in [`view`] it knows ten times its number.
    fn report(&mut self) -> Vec<Seen> {
        let note = Note(10 * self.number);
        self.call(|views, cx| views.on_input(Input::Report(note), cx))
    }

    fn deliver(&mut self, from: u32, msg: Msg<Note>) -> Vec<Seen> {
        self.call(|views, cx| views.on_message(id(from), msg, cx))
    }

    fn fire(&mut self, timer: Timer) -> Vec<Seen> {
        self.call(|views, cx| views.on_timer(timer, cx))
    }

    fn recover(&mut self) -> Vec<Seen> {
        let saved = self.views.durable();
        self.views = Views::default();
        self.call(|views, cx| views.on_start(Some(saved), cx))
    }
}

const CANCELLED: [Seen; 3] =
    [CancelTimer(Timer::Reports), CancelTimer(Timer::Watch), CancelTimer(Timer::Silence)];

fn wait(timer: Timer, span: Duration) -> Seen {
    SetTimer(timer, span..span)
}

/// What a process does that proposes a view.
fn proposes(epoch: Epoch) -> Vec<Seen> {
    let others = (1..=4).map(id).filter(|id| *id != epoch.by());
    let proposals = others.map(|id| Send(id, Msg::Propose(epoch)));
    let waits = [wait(Timer::Reports, T), Emit(Output::Stopped)];
    CANCELLED.into_iter().chain(proposals).chain(waits).collect()
}

/// What a coordinator does that waits for the time of the next PINGs.
fn presides() -> Vec<Seen> {
    CANCELLED.into_iter().chain([wait(Timer::Watch, PERIOD)]).collect()
}

/// P4 after a proposal, with its own report.
fn gathering(watch: bool) -> Fixture {
    let mut p4 = at(4, watch);
    p4.elected(4);
    assert_eq!(p4.report(), []);
    p4
}

/// P4 in view 1 of these members.
fn presiding(members: &[u32]) -> Fixture {
    let mut p4 = gathering(true);
    for member in members.iter().filter(|member| **member != 4) {
        p4.deliver(*member, report(epoch(1, 4), Some(Epoch::FIRST), 10 * member));
    }
    if members.len() < 4 {
        p4.fire(Timer::Reports);
    }
    assert_eq!(p4.views.view(), Some(&view(epoch(1, 4), members)));
    p4
}

/// The same with PINGs out.
fn listening(members: &[u32]) -> Fixture {
    let mut p4 = presiding(members);
    let pings = (1..=3).map(|number| Send(id(number), Msg::Ping));
    let expected: Vec<Seen> = pings.chain([wait(Timer::Silence, T)]).collect();
    assert_eq!(p4.fire(Timer::Watch), expected);
    p4
}

#[test]
fn the_first_view_is_of_all() {
    let p2 = at(2, true);
    assert_eq!(p2.views.running(), Some(Epoch::FIRST));
    assert_eq!(p2.views.view(), None);
}

#[test]
fn the_first_coordinator_watches() {
    let mut p4 = at(4, true);
    p4.views = Views::default();
    assert_eq!(p4.call(|views, cx| views.on_start(None, cx)), presides());
}

#[test]
fn v1_the_elected_process_proposes_above_all_that_it_knows() {
    let mut p3 = at(3, false);
    p3.deliver(4, Msg::Propose(epoch(6, 4)));
    assert_eq!(p3.elected(3), proposes(epoch(7, 3)));
    assert_eq!(p3.views.durable(), epoch(7, 3));
    assert_eq!(p3.views.running(), None);
}

#[test]
fn v2_promises_stops_and_reports() {
    let mut p2 = at(2, false);
    assert_eq!(p2.deliver(4, Msg::Propose(epoch(1, 4))), [Emit(Output::Stopped)]);
    assert_eq!((p2.views.durable(), p2.views.running()), (epoch(1, 4), None));
    assert!(p2.views.awaits(epoch(1, 4)) && !p2.views.awaits(epoch(1, 3)));
    let expected = report(epoch(1, 4), Some(Epoch::FIRST), 20);
    assert_eq!(p2.report(), [Send(id(4), expected)]);
}

#[test]
fn v2_a_later_proposal_takes_the_place_of_an_earlier_one() {
    let mut p2 = at(2, false);
    p2.deliver(3, Msg::Propose(epoch(1, 3)));
    p2.report();
    // Of equal numbers, that of the stronger process is later.
    assert_eq!(p2.deliver(4, Msg::Propose(epoch(1, 4))), [Emit(Output::Stopped)]);
    let expected = report(epoch(1, 4), Some(Epoch::FIRST), 20);
    assert_eq!(p2.report(), [Send(id(4), expected)]);
    assert_eq!(p2.deliver(3, Msg::View(view(epoch(1, 3), &[2, 3]))), []);
    assert_eq!(p2.views.running(), None);
}

#[test]
fn v2_refuses_what_is_not_above_its_promise() {
    let mut p2 = at(2, false);
    assert_eq!(p2.deliver(3, Msg::Propose(Epoch::FIRST)), [Send(id(3), Msg::Refuse(Epoch::FIRST))]);
    assert_eq!(p2.views.running(), Some(Epoch::FIRST), "and goes on");
    p2.deliver(4, Msg::Propose(epoch(2, 4)));
    p2.report();
    let refusal = Send(id(3), Msg::Refuse(epoch(2, 4)));
    assert_eq!(p2.deliver(3, Msg::Propose(epoch(2, 3))), [refusal]);
    assert!(p2.views.awaits(epoch(2, 4)), "as before");
}

#[test]
fn v2_a_doubled_proposal_is_answered_twice() {
    let mut p2 = at(2, false);
    p2.deliver(4, Msg::Propose(epoch(1, 4)));
    let first = p2.report();
    assert_eq!(p2.deliver(4, Msg::Propose(epoch(1, 4))), [Emit(Output::Stopped)]);
    assert_eq!(p2.report(), first);
    p2.deliver(4, Msg::View(view(epoch(1, 4), &[2, 4])));
    let refusal = Send(id(4), Msg::Refuse(epoch(1, 4)));
    assert_eq!(p2.deliver(4, Msg::Propose(epoch(1, 4))), [refusal], "but not a third time");
    assert_eq!(p2.views.running(), Some(epoch(1, 4)));
}

#[test]
fn v3_when_all_have_reported_the_view_begins() {
    let mut p4 = gathering(true);
    for member in [3, 1] {
        let report = report(epoch(1, 4), Some(Epoch::FIRST), 10 * member);
        assert_eq!(p4.deliver(member, report), []);
    }
    let expected = view(epoch(1, 4), &[1, 2, 3, 4]);
    let told = [1, 2, 3].map(|number| Send(id(number), Msg::View(Arc::clone(&expected))));
    assert_eq!(
        p4.deliver(2, report(epoch(1, 4), Some(Epoch::FIRST), 20)),
        [told.to_vec(), presides(), vec![Emit(Output::Began)]].concat()
    );
    assert_eq!(p4.views.running(), Some(epoch(1, 4)));
    assert_eq!(p4.views.view(), Some(&expected));
}

#[test]
fn v3_a_process_that_is_silent_for_t_is_dead() {
    let mut p4 = gathering(false);
    p4.deliver(2, report(epoch(1, 4), Some(Epoch::FIRST), 20));
    let expected = view(epoch(1, 4), &[2, 4]);
    let told = vec![Send(id(2), Msg::View(Arc::clone(&expected)))];
    assert_eq!(
        p4.fire(Timer::Reports),
        [told, CANCELLED.to_vec(), vec![Emit(Output::Began)]].concat()
    );
    assert_eq!(p4.views.view(), Some(&expected));
    let late = report(epoch(1, 4), Some(Epoch::FIRST), 10);
    assert_eq!(p4.deliver(1, late), [], "too late");
    assert_eq!(p4.views.view(), Some(&expected));
}

#[test]
fn v3_a_report_for_another_proposal_does_not_count() {
    let mut p4 = gathering(false);
    p4.deliver(1, report(epoch(1, 3), Some(Epoch::FIRST), 10));
    p4.fire(Timer::Reports);
    assert_eq!(p4.views.view(), Some(&view(epoch(1, 4), &[4])));
}

#[test]
fn v3_reports_say_of_which_view_they_speak() {
    let mut p4 = presiding(&[3, 4]);
    p4.elected(4);
    p4.report();
    p4.deliver(1, report(epoch(2, 4), None, 11));
    p4.fire(Timer::Reports);
    let notes = vec![(id(1), None, 11), (id(4), Some(epoch(1, 4)), 40)];
    assert_eq!(p4.views.view().unwrap().opening, (id(4), notes));
}

#[test]
fn v4_the_view_that_was_reported_for_begins() {
    let mut p2 = at(2, false);
    p2.deliver(4, Msg::Propose(epoch(1, 4)));
    p2.report();
    let view = view(epoch(1, 4), &[2, 4]);
    assert_eq!(p2.deliver(4, Msg::View(Arc::clone(&view))), [Emit(Output::Began)]);
    assert_eq!((p2.views.running(), p2.views.view()), (Some(epoch(1, 4)), Some(&view)));
    assert_eq!(p2.deliver(4, Msg::View(view)), [], "once");
}

#[test]
fn v4_a_process_that_crashed_in_between_does_not_take_part() {
    let mut p2 = at(2, false);
    p2.deliver(4, Msg::Propose(epoch(1, 4)));
    p2.report();
    assert_eq!(p2.recover(), []);
    assert_eq!(p2.views.durable(), epoch(1, 4), "but keeps its promise");
    assert_eq!(p2.deliver(4, Msg::View(view(epoch(1, 4), &[2, 4]))), []);
    assert_eq!((p2.views.running(), p2.views.epoch()), (None, None));
    let refusal = Send(id(3), Msg::Refuse(epoch(1, 4)));
    assert_eq!(p2.deliver(3, Msg::Propose(epoch(1, 3))), [refusal]);
    p2.deliver(4, Msg::Propose(epoch(2, 4)));
    assert_eq!(p2.report(), [Send(id(4), report(epoch(2, 4), None, 20))], "and comes back");
}

#[test]
fn v5_a_refusal_is_outdone() {
    let mut p3 = at(3, false);
    p3.elected(3);
    p3.report();
    assert_eq!(p3.deliver(2, Msg::Refuse(epoch(5, 4))), proposes(epoch(6, 3)));
    assert_eq!(p3.report(), []);
    assert_eq!(p3.deliver(1, Msg::Refuse(epoch(5, 4))), [], "that is outdone already");
}

#[test]
fn v5_a_refusal_after_the_view_has_begun_is_late() {
    let mut p4 = presiding(&[3, 4]);
    assert_eq!(p4.deliver(1, Msg::Refuse(epoch(5, 4))), []);
}

#[test]
fn v6_says_which_view_it_is_in() {
    let mut p2 = at(2, false);
    assert_eq!(p2.deliver(4, Msg::Ping), [Send(id(4), Msg::Pong(Some(Epoch::FIRST)))]);
    p2.deliver(4, Msg::Propose(epoch(1, 4)));
    assert_eq!(p2.deliver(4, Msg::Ping), [Send(id(4), Msg::Pong(None))]);
    p2.report();
    p2.deliver(4, Msg::View(view(epoch(1, 4), &[2, 4])));
    assert_eq!(p2.deliver(4, Msg::Ping), [Send(id(4), Msg::Pong(Some(epoch(1, 4))))]);
    p2.recover();
    assert_eq!(p2.deliver(4, Msg::Ping), [Send(id(4), Msg::Pong(None))]);
}

#[test]
fn v6_while_all_members_answer_the_view_goes_on() {
    // P1 and P2 are dead, and known to be.
    let mut p4 = listening(&[3, 4]);
    assert_eq!(p4.deliver(3, Msg::Pong(Some(epoch(1, 4)))), []);
    assert_eq!(p4.fire(Timer::Silence), presides());
    assert_eq!(p4.views.running(), Some(epoch(1, 4)));
}

#[test]
fn v6_a_silent_member_brings_a_proposal() {
    let mut p4 = listening(&[2, 3, 4]);
    p4.deliver(3, Msg::Pong(Some(epoch(1, 4))));
    assert_eq!(p4.fire(Timer::Silence), proposes(epoch(2, 4)));
}

#[test]
fn v6_in_the_first_view_all_are_members() {
    let mut p4 = at(4, true);
    p4.fire(Timer::Watch);
    for number in [1, 2] {
        p4.deliver(number, Msg::Pong(Some(Epoch::FIRST)));
    }
    assert_eq!(p4.fire(Timer::Silence), proposes(epoch(1, 4)));
}

#[test]
fn v6_an_answer_from_elsewhere_brings_a_proposal() {
    for elsewhere in [None, Some(epoch(3, 2)), Some(Epoch::FIRST)] {
        let mut p4 = listening(&[2, 3, 4]);
        assert_eq!(p4.deliver(1, Msg::Pong(elsewhere)), proposes(epoch(2, 4)), "{elsewhere:?}");
    }
}

#[test]
fn v6_an_answer_that_no_process_waits_for_does_nothing() {
    let mut p4 = presiding(&[2, 3, 4]);
    assert_eq!(p4.deliver(1, Msg::Pong(None)), []);
    let mut p2 = at(2, true);
    assert_eq!(p2.deliver(1, Msg::Pong(None)), []);
}

#[test]
fn v7_who_learns_of_another_coordinator_stops_proposing() {
    let mut p3 = at(3, true);
    p3.elected(3);
    p3.report();
    assert_eq!(p3.elected(4), CANCELLED);
    assert_eq!(p3.deliver(2, Msg::Refuse(epoch(5, 4))), []);
    for number in [1, 2, 4] {
        assert_eq!(p3.deliver(number, report(epoch(1, 3), Some(Epoch::FIRST), 0)), []);
    }
    assert_eq!(p3.views.running(), None, "the other one has to propose");
    assert_eq!(p3.elected(4), [], "there is nothing more to stop");
}

#[test]
fn v7_a_coordinator_that_has_promised_to_another_looks_what_came_of_it() {
    let mut p3 = gathering_at_p3();
    let stops = [presides(), vec![Emit(Output::Stopped)]].concat();
    assert_eq!(p3.deliver(4, Msg::Propose(epoch(1, 4))), stops);
    p3.report();
    // Nothing: P4 is dead.
    assert_eq!(p3.fire(Timer::Watch), proposes(epoch(2, 3)));

    let mut p3 = gathering_at_p3();
    p3.deliver(4, Msg::Propose(epoch(1, 4)));
    p3.report();
    p3.deliver(4, Msg::View(view(epoch(1, 4), &[2, 3, 4])));
    // A view, and P3 still takes itself for the coordinator.
    p3.fire(Timer::Watch);
    for number in [2, 4] {
        p3.deliver(number, Msg::Pong(Some(epoch(1, 4))));
    }
    assert_eq!(p3.fire(Timer::Silence), presides());
}

fn gathering_at_p3() -> Fixture {
    let mut p3 = at(3, true);
    p3.elected(3);
    p3.report();
    p3
}

#[test]
fn epochs_are_ordered_by_number_and_then_by_proposer() {
    assert!(Epoch::FIRST < epoch(1, 1));
    assert!(epoch(1, 1) < epoch(1, 4) && epoch(1, 4) < epoch(2, 1));
    assert_eq!(epoch(1, 4).next(id(2)), epoch(2, 2));
    assert_eq!(epoch(u32::MAX, 4).next(id(5)), epoch(u32::MAX, 5), "no overflow");
}
