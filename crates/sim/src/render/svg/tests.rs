use super::super::sample;
use super::*;
use crate::trace::What;

/// Checks that tags are balanced and that text has no bare markup, and counts the elements.
fn parse(svg: &str) -> std::collections::BTreeMap<String, usize> {
    let mut counts = std::collections::BTreeMap::new();
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "bare > in {}", &rest[..start]);
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        *counts.entry(name.clone()).or_insert(0) += 1;
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} not closed");
    counts
}

fn count(trace: &Trace, is: impl Fn(&What) -> bool) -> usize {
    trace.events.iter().filter(|event| is(&event.what)).count()
}

#[test]
fn every_message_is_an_arrow_or_a_cross() {
    for trace in [sample::bully(), sample::stormy(), sample::crowd(12)] {
        let picture = svg(&trace);
        parse(&picture);
        let flights: Vec<_> =
            picture.lines().filter(|line| line.starts_with("<g class=\"flight\">")).collect();
        let arrived = count(&trace, |what| matches!(what, What::Receive(_)));
        let dropped = count(&trace, |what| matches!(what, What::Drop(..)));
        let has = |part: &str| flights.iter().filter(|line| line.contains(part)).count();
        assert!(arrived > 0);
        assert_eq!(has("marker-end"), arrived);
        assert_eq!(has(" cross\""), dropped);
        assert_eq!(has("on its way"), flights.len() - arrived - dropped);
    }
}

#[test]
fn shows_what_befell_the_processes() {
    let picture = svg(&sample::stormy());
    for part in [
        ">Bully<",
        ">900ms partition 1,2|3,4<",
        ">partition 1,2|3,4</text>",
        ">300ms P4 crashes<",
        ">1600ms P4 recovers<",
        ">P4 takes itself for the coordinator from the start<",
        "fill=\"url(#bw-hatch)\"",
        ">paused</text>",
        ">overhead only, time compressed</text>",
        "seed 7<",
    ] {
        assert!(picture.contains(part), "{part} is missing");
    }
}

#[test]
fn the_legend_counts_what_was_sent() {
    let trace = sample::bully();
    let picture = svg(&trace);
    for part in ["ELECTION \u{d7}3", "OK \u{d7}1", "COORDINATOR \u{d7}2", "not delivered \u{d7}3"] {
        assert!(picture.contains(&format!(">{part}</text>")), "{part} is missing");
    }
    assert!(!picture.contains(">recovery</text>"), "no process recovered");
    for label in [
        ">silence left out</text>",
        ">ELECTION</text>",
        ">elected P3</text>",
        ">110ms</text>",
        ">follows P3</text>",
    ] {
        assert!(picture.contains(label), "{label} is missing");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(svg(&sample::stormy()), svg(&sample::stormy()));
}

#[test]
fn extremes_do_not_break_it() {
    for trace in [sample::nothing(), sample::crowd(1), sample::crowd(2), sample::crowd(64)] {
        let picture = svg(&trace);
        parse(&picture);
        for broken in ["NaN", "inf", "922337203685477580"] {
            assert!(!picture.contains(broken), "{broken} with {} nodes", trace.header.ring.len());
        }
    }
}

#[test]
fn markup_in_a_trace_stays_text() {
    let mut trace = sample::bully();
    for event in &mut trace.events {
        if let What::Send(letter) | What::Receive(letter) = &mut event.what {
            letter.text = "<script>alert(\"&\")</script>".to_owned();
        }
    }
    let picture = svg(&trace);
    assert!(!parse(&picture).contains_key("script"));
    assert!(picture.contains("&lt;script&gt;alert(&quot;&amp;&quot;)"));
}

#[test]
fn a_section_is_a_bar_with_its_number() {
    let picture = svg(&sample::central());
    parse(&picture);
    let bars = |class: &str| picture.matches(&format!("<rect class=\"{class}\"")).count();
    assert_eq!((bars("inside"), bars("waits")), (2 + 1, 3 + 1), "one of each is in the legend");
    for part in [
        ">P1 waits for the section from 0ms to 20ms<",
        ">P1 is in the section (#1) from 20ms to 50ms<",
        ">P2 is in the section (#2) from 70ms to 80ms<",
        ">P3 waits for the section from 75ms on<",
        ">#1</text>",
        ">#2</text>",
        ">waits</text>",
        ">down</text>",
        ">coordinator</text>",
        ">in the section, entry #n</text>",
        ">waits for it</text>",
    ] {
        assert!(picture.contains(part), "{part} is missing");
    }
    let election = svg(&sample::bully());
    assert!(!election.contains(" .inside{") && !election.contains("waits"), "it needs no style");
}

#[test]
fn a_visit_of_no_time_can_be_seen() {
    let mut trace = sample::central();
    for event in &mut trace.events {
        event.at = bellwether_core::Time::ZERO;
    }
    let picture = svg(&trace);
    let bars = picture.lines().filter(|line| line.starts_with("<rect class=\"inside\""));
    let seen = bars.filter(|line| line.contains(" width=\"9\"")).count();
    assert_eq!(seen, 2);
}

#[test]
fn an_input_whose_step_speaks_has_no_words() {
    let picture = svg(&sample::lamport(true));
    assert!(picture.contains(">0ms P4 input Request<"), "a pointer finds it");
    assert!(picture.contains(">90ms P1 input Suspect<"), "without the part's name");
    assert!(picture.contains(">asks for the section</text>"));
    assert!(!picture.contains(">input Request</text>"));
    assert!(svg(&sample::bully()).contains(">input Suspect</text>"), "elections say both");
}

#[test]
fn words_do_not_run_into_the_names() {
    for trace in [sample::bully(), sample::stormy(), sample::central(), sample::lamport(true)] {
        let picture = svg(&trace);
        let halos = picture.lines().filter(|line| line.contains(" halo\" x=\""));
        let starts = halos.filter_map(|line| line.split(" x=\"").nth(1)?.split('"').next());
        let starts: Vec<f64> = starts.map(|x| x.parse().unwrap()).collect();
        assert!(!starts.is_empty());
        assert!(starts.iter().all(|x| *x >= 76.0), "{starts:?}");
    }
}
