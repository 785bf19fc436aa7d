//! The live view: from what is known to a screen, and nothing else.

use super::cluster::Condition;
use super::world::{MemberState, World};
use bellwether_api::json::Mandate;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Gauge, Paragraph, Row, Table, TableState, Wrap};
use std::collections::BTreeSet;
use std::time::Duration;

/// What the user has chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The place of the chosen member.
    pub(crate) chosen: usize,
    /// The places of marked members: one side of the next partition.
    pub(crate) marked: BTreeSet<usize>,
    pub(crate) help: bool,
    /// Whether the user has chosen; until then the coordinator is chosen.
    pub(crate) has_chosen: bool,
    /// How long a mandate lasts when it is fresh.
    pub(crate) lease: Duration,
    /// Where the dashboard is.
    pub(crate) dashboard: String,
}

impl View {
    /// The user selects this member.
    pub(crate) fn choose(&mut self, place: usize) {
        (self.chosen, self.has_chosen) = (place, true);
    }

    /// Until the user chooses a member, keys act on the coordinator.
    pub(crate) fn choose_coordinator(&mut self, world: &World) {
        let leader = world.leader();
        let place = world.seats.iter().position(|seat| Some(seat.id) == leader);
        if let Some(place) = place
            && !self.has_chosen
        {
            self.chosen = place;
        }
    }
}

const KEYS: &str =
    "arrows choose  k kill  p pause  c cut  r revive  s step down  t transfer  q quit";

const HELP: &str = "\
up, down  choose a member            k  kill it (SIGKILL)
p         pause it (SIGSTOP), or resume it
r         revive it: restart it with its durable state
space     mark it: marked members are one side of the next cut
c         cut the marked members, or the chosen one, off from the
          others; if there is a cut already, heal it
s         the coordinator steps down  t  it hands over to this member
q, Ctrl-C end all members             ?  close this

A member on the side with fewer members gets no mandate, and says so.";

/// Draws everything.
pub(crate) fn render(frame: &mut Frame<'_>, world: &World, view: &View, now: Duration) {
    let rows = world.seats.len() as u16 + 3;
    let areas = Layout::vertical([
        Constraint::Length(4),
        Constraint::Max(rows.min(frame.area().height.saturating_sub(10).max(5))),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .split(frame.area());
    headline(frame, areas[0], world, view, now);
    members(frame, areas[1], world, view);
    history(frame, areas[2], world);
    let keys = Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::DIM));
    frame.render_widget(keys, areas[3]);
    if view.help {
        help(frame);
    }
}

fn headline(frame: &mut Frame<'_>, area: Rect, world: &World, view: &View, now: Duration) {
    let dashboard = Line::from(format!(" dashboard {} ", view.dashboard)).right_aligned();
    let block = Block::bordered().title(" bellwether up, ? for help ").title(dashboard);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let lines = Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).split(inner);
    let Some(mandate) = world.current() else {
        let none = Line::styled("no coordinator", Style::new().fg(Color::Red).bold());
        frame.render_widget(none, lines[0]);
        frame.render_widget(Line::from(shortage(world)), lines[1]);
        return;
    };
    let Mandate { leader, term, .. } = mandate;
    let told = world.mandate.filter(|(told, _)| told.term == term);
    let since = told.map_or(String::new(), |(_, since)| {
        format!(", for {} s", now.saturating_sub(since).as_secs())
    });
    let text = Line::from(vec![
        Span::styled(
            format!("member {leader} is the coordinator"),
            Style::new().fg(Color::Green).bold(),
        ),
        Span::raw(format!(" in term {term}{since}")),
    ]);
    frame.render_widget(text, lines[0]);
    let full = view.lease.as_millis().max(1) as f64;
    let gauge = Gauge::default()
        .gauge_style(Style::new().fg(Color::Green).bg(Color::DarkGray))
        .ratio((mandate.lease_ms as f64 / full).clamp(0.0, 1.0))
        .label(format!("lease: {} of {full} ms left", mandate.lease_ms));
    frame.render_widget(gauge, lines[1]);
}

/// Why there is no coordinator, as a member says.
fn shortage(world: &World) -> String {
    let why = |seat: &MemberState| {
        let why = seat.status.as_ref()?.why_no_mandate.as_ref()?;
        Some(format!("member {}: {why}", seat.id))
    };
    world.seats.iter().find_map(why).unwrap_or_else(|| "no member answers".to_owned())
}

fn members(frame: &mut Frame<'_>, area: Rect, world: &World, view: &View) {
    let nodes = world.seats.len();
    let rows = world.seats.iter().enumerate().map(|(place, seat)| {
        let mark = if view.marked.contains(&place) { "*" } else { " " };
        let (word, colour) = state(seat, nodes);
        let mandate = seat.status.as_ref().and_then(|status| status.mandate);
        let mandate =
            mandate.map_or("none".to_owned(), |m| format!("{} in term {}", m.leader, m.term));
        let age = seat.seen.as_ref().and_then(|seen| seen.heartbeat_age_ms);
        let offset = seat.seen.as_ref().and_then(|seen| seen.clock_offset_us);
        Row::new([
            format!("{mark}{}", seat.id),
            seat.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            word,
            if seat.status.is_some() { mandate } else { "-".to_owned() },
            age.map_or("-".to_owned(), |age| format!("{age} ms")),
            offset.map_or("-".to_owned(), |offset| format!("{offset:+} us")),
        ])
        .style(Style::new().fg(colour))
    });
    let widths = [
        Constraint::Length(5),
        Constraint::Length(9),
        Constraint::Length(22),
        Constraint::Length(16),
        Constraint::Length(10),
        Constraint::Min(8),
    ];
    let head = Row::new(["id", "pid", "state", "mandate", "heard", "clock"])
        .style(Style::new().add_modifier(Modifier::BOLD));
    let table = Table::new(rows, widths)
        .header(head)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(Block::bordered().title(" members "));
    let mut state = TableState::default().with_selected(Some(view.chosen));
    frame.render_stateful_widget(table, area, &mut state);
}

fn state(seat: &MemberState, nodes: usize) -> (String, Color) {
    let word = seat.word();
    if seat.condition == Condition::Running && seat.is_cut_off(nodes) {
        return (format!("cut off, {word}"), Color::Magenta);
    }
    let colour = match word {
        "leading" => Color::Green,
        "following" => Color::Reset,
        "dead" => Color::Red,
        "paused" => Color::Blue,
        _ => Color::Yellow,
    };
    (word.to_owned(), colour)
}

fn history(frame: &mut Frame<'_>, area: Rect, world: &World) {
    let lines: Vec<Line<'_>> = world
        .news
        .iter()
        .rev()
        .map(|news| Line::from(format!("{:7.1}s  {}", news.at_ms as f64 / 1_000.0, news.text)))
        .collect();
    let block = Block::bordered().title(" what happened, the latest first ");
    let history = Paragraph::new(lines).wrap(Wrap { trim: false }).block(block);
    frame.render_widget(history, area);
}

fn help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (area.width.min(72), area.height.min(14));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let text = Paragraph::new(HELP).block(Block::bordered().title(" keys "));
    frame.render_widget(text, place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::json::{Stance, Status};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn status(id: u32, stance: Stance, mandate: Option<Mandate>, why: Option<&str>) -> Status {
        Status {
            cluster: "up".to_owned(),
            id,
            version: String::new(),
            pid: 4_000 + id,
            election: "bully".to_owned(),
            stance,
            mandate,
            coordinator: mandate.map(|mandate| mandate.leader),
            why_no_mandate: why.map(str::to_owned),
            reachable: None,
            needed: 2,
            configured: 3,
            voters: 3,
            learners: 0,
            eligible: true,
            incarnation: 1,
            uptime_ms: 1,
            last_change: None,
            log: Default::default(),
            warnings: Vec::new(),
            lease_full_ms: 500,
            up: None,
            cluster_id: None,
        }
    }

    fn mandate(leader: u32, term: u64) -> Option<Mandate> {
        Some(Mandate { leader, term, lease_ms: 380, appointed: false })
    }

    fn screen(world: &World, view: &View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| render(frame, world, view, Duration::from_secs(9))).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let cells: Vec<&str> = buffer.content().iter().map(|cell| cell.symbol()).collect();
        cells.chunks(80).map(|line| line.concat() + "\n").collect()
    }

    fn view() -> View {
        let dashboard = "http://127.0.0.1:20001/".to_owned();
        View { lease: Duration::from_millis(500), dashboard, ..View::default() }
    }

    #[test]
    fn keys_are_about_the_coordinator_until_the_user_selects() {
        let mut world = World::new(3);
        let mut view = view();
        let leads = |world: &mut World, id: u32, term| {
            let status = status(id, Stance::Leading, mandate(id, term), None);
            world.report(id as usize - 1, Duration::ZERO, Some(status));
        };
        leads(&mut world, 3, 1);
        view.choose_coordinator(&world);
        assert_eq!(view.chosen, 2);
        view.choose(1);
        leads(&mut world, 1, 2);
        view.choose_coordinator(&world);
        assert_eq!(view.chosen, 1);
    }

    #[test]
    fn a_working_cluster_shows_who_coordinates() {
        let mut world = World::new(3);
        let second = Duration::from_secs(1);
        world.report(2, second, Some(status(3, Stance::Leading, mandate(3, 7), None)));
        world.report(1, second, Some(status(2, Stance::Following, mandate(3, 7), None)));
        world.tick(second * 2);
        world.seats[0].condition = Condition::Dead;
        let text = screen(&world, &view());
        for fragment in [
            "member 3 is the coordinator in term 7, for 8 s",
            "lease: 380 of 500 ms left",
            "leading",
            "following",
            "dead",
            "3 in term 7",
            "member 3 is the coordinator in term 7: the members do not say why",
            "k kill",
            "? for help",
            "dashboard http://127.0.0.1:20001/",
            "q quit",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
    }

    #[test]
    fn a_minority_is_seen_to_have_no_mandate() {
        let mut world = World::new(3);
        world.split(&[BTreeSet::from([3]), BTreeSet::from([1, 2])]);
        let why = Some("1 of the 2 members needed agree");
        world.report(2, Duration::ZERO, Some(status(3, Stance::Campaigning, None, why)));
        world.tick(Duration::from_secs(5));
        let mut view = view();
        view.marked.insert(1);
        let text = screen(&world, &view);
        for fragment in [
            "no coordinator",
            "cut off, campaigning",
            "member 3 has no mandate: 1 of the 2 members needed agree",
            "*2",
        ] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
    }

    #[test]
    fn help_lies_over_everything_and_fits() {
        let text = screen(&World::new(64), &View { help: true, ..view() });
        for fragment in ["revive it", "gets no mandate, and says so.", "end all members", "q quit"]
        {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
    }

    #[test]
    fn the_smallest_terminal_does_no_harm() {
        for (width, height) in [(1, 1), (10, 3), (30, 8)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let view = View { help: true, ..view() };
            terminal.draw(|frame| render(frame, &World::new(5), &view, Duration::ZERO)).unwrap();
        }
    }
}
