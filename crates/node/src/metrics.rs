//! Metrics in the Prometheus text format.
//!
//! Nothing is kept for them: a scrape asks the member and the driver, and writes down what they
//! say. An idle member that is not scraped pays nothing.

use crate::about::{About, counted};
use crate::history::Tally;
use crate::wall;
use bellwether_log::Suffrage;
use bellwether_member::{Health, Status};
use bellwether_net::{Counters, Dropped, Reason};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;
use std::time::Duration;

/// What a scrape sees.
#[derive(Debug)]
struct Snapshot {
    me: u32,
    info: [(&'static str, String); 4],
    status: Status,
    tally: Tally,
    counters: Counters,
    connected: Vec<(u32, bool, usize)>,
    uptime: Duration,
    /// Until the certificate ends.
    certificate: Duration,
}

/// Everything that can be measured now.
pub(crate) fn render(about: &About, status: Status) -> Result<String, fmt::Error> {
    let settings = &about.settings;
    let peers = about.handle.running.peers();
    let snapshot = Snapshot {
        me: settings.id.number(),
        info: [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("cluster", settings.cluster.clone()),
            ("id", settings.id.number().to_string()),
            ("election", settings.choices.election.to_string()),
        ],
        status,
        tally: about.history.tally(),
        counters: about.handle.running.counters(),
        connected: peers
            .iter()
            .map(|peer| (peer.id.number(), peer.outgoing.is_some(), peer.queued))
            .collect(),
        uptime: about.uptime(),
        certificate: wall::until(about.identity.expires()),
    };
    let mut registry = Registry::with_prefix("bellwether");
    registry.register_collector(Box::new(snapshot));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Writes metrics one after the other.
struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let gauge = ConstGauge::new(value);
        let encoder = self.0.encode_descriptor(name, help, None, gauge.metric_type())?;
        gauge.encode(encoder)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        let encoder = self.0.encode_descriptor(name, help, None, counter.metric_type())?;
        counter.encode(encoder)
    }

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, f64)>,
    ) -> fmt::Result {
        let kind = ConstGauge::new(0.0).metric_type();
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (value, number) in values {
            let labels = [("member", value)];
            ConstGauge::new(number).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let kind = ConstCounter::new(0_u64).metric_type();
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (value, number) in values {
            let labels = [("reason", value)];
            ConstCounter::new(number).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut writer = Writer(encoder);
        self.mandate(&mut writer)?;
        self.log(&mut writer)?;
        self.changes(&mut writer)?;
        self.members(&mut writer)?;
        self.network(&mut writer)
    }
}

impl Snapshot {
    fn mandate(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let mandate = self.status.mandate;
        let holds = mandate.is_some_and(|mandate| mandate.leader.number() == self.me);
        writer.gauge(
            "mandate_held",
            "1 if this member holds the mandate; the sum over all members must never exceed 1",
            f64::from(holds),
        )?;
        writer.gauge(
            "mandate_known",
            "1 if this member leads or follows under a mandate; 0 means that it has no coordinator",
            f64::from(mandate.is_some()),
        )?;
        let term = mandate.map_or(0, |mandate| mandate.term.number());
        writer.gauge("term", "The term of the known mandate; 0 if there is none", term as f64)?;
        let lease = mandate.map_or(0.0, |mandate| mandate.lease_left.as_secs_f64());
        writer.gauge(
            "lease_remaining_seconds",
            "How long the mandate lasts without another heartbeat",
            lease,
        )?;
        let coordinator = self.status.coordinator.map_or(-1.0, |id| f64::from(id.number()));
        writer.gauge(
            "coordinator",
            "The number of the coordinator; -1 if there is none",
            coordinator,
        )?;
        writer.gauge(
            "eligible",
            "1 if this member may lead now: no witness, its clock in order, with its log, and not just passed",
            f64::from(self.status.eligible),
        )?;
        writer.gauge(
            "members_needed",
            "How many members must agree on a mandate",
            self.status.needed as f64,
        )?;
        writer.gauge(
            "members_configured",
            "How many members there are",
            self.status.members.len() as f64,
        )?;
        let (voters, learners) = (
            counted(&self.status, |suffrage| suffrage == Suffrage::Voter),
            counted(&self.status, |suffrage| suffrage != Suffrage::Voter),
        );
        writer.gauge("members_voters", "How many members vote", f64::from(voters))?;
        writer.gauge(
            "members_learners",
            "How many members have the log and do not vote",
            f64::from(learners),
        )?;
        let version = self.status.list.as_ref().map_or(0, |list| list.version);
        writer.gauge(
            "members_version",
            "How often the member list has changed since the cluster was founded",
            version as f64,
        )
    }

    fn log(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let log = &self.status.log;
        let complete = f64::from(log.is_complete);
        let name = |id: bellwether_core::NodeId| id.number().to_string();
        let members = self.status.members.iter();
        let behind = members.filter_map(|member| Some((name(member.id), member.behind? as f64)));
        for (name, help, value) in [
            (
                "log_complete",
                "1 if this member holds everything that is committed, so that it may take over",
                complete,
            ),
            (
                "log_last_index",
                "The index of this member's last entry",
                log.last.index.number() as f64,
            ),
            (
                "log_commit_index",
                "The commit index that this member knows",
                log.commit.index.number() as f64,
            ),
            ("log_bytes", "Bytes of the entries that this member keeps", log.bytes as f64),
        ] {
            writer.gauge(name, help, value)?;
        }
        writer.gauges("log_behind_entries", "How many entries a member lacks", behind)
    }

    fn changes(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let elections = self.tally.elections.iter().map(|(reason, count)| (*reason, *count));
        writer.counters("elections", "Elections that this member began, by reason", elections)?;
        writer.counter(
            "leader_changes",
            "Changes of the coordinator that this member saw",
            self.tally.changes,
        )?;
        writer.counter("mandates_won", "Mandates that this member won", self.tally.won)?;
        let lost = self.tally.lost.iter().map(|(reason, count)| (*reason, *count));
        writer.counters("mandates_lost", "Mandates that this member lost, by reason", lost)
    }

    fn members(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let members = &self.status.members;
        let alive = members.iter().filter(|member| member.health == Health::Alive).count();
        writer.gauge(
            "members_alive",
            "Members that answered lately, this one included",
            alive as f64,
        )?;
        let name = |id: bellwether_core::NodeId| id.number().to_string();
        let ages = members
            .iter()
            .filter_map(|member| Some((name(member.id), member.heard?.as_secs_f64())));
        writer.gauges("heartbeat_age_seconds", "How long ago a member was last heard", ages)?;
        let clocks = || members.iter().filter_map(|member| Some((member.id, member.clock?)));
        writer.gauges(
            "clock_offset_seconds",
            "How far a member's clock is ahead of the average of all",
            clocks().map(|(id, clock)| (name(id), clock.offset_us as f64 / 1e6)),
        )?;
        writer.gauges(
            "clock_error_seconds",
            "The error bound of that offset",
            clocks().map(|(id, clock)| (name(id), clock.error_us as f64 / 1e6)),
        )?;
        writer.gauges(
            "clock_rate_ppm",
            "By how much a member's clock gains against the average of all, in parts per million",
            clocks().filter_map(|(id, clock)| Some((name(id), clock.rate_ppb? as f64 / 1e3))),
        )?;
        writer.gauges(
            "clock_drifts",
            "1 if a member's clock drifts by more than the bound, so that it may not lead",
            clocks().map(|(id, clock)| (name(id), f64::from(clock.drifts))),
        )?;
        writer.gauges(
            "connected",
            "1 if messages can be sent to a member",
            self.connected.iter().map(|(id, up, _)| (id.to_string(), f64::from(*up))),
        )?;
        writer.gauges(
            "queued_messages",
            "How many messages wait to be sent to a member",
            self.connected.iter().map(|(id, _, queued)| (id.to_string(), *queued as f64)),
        )
    }

    fn network(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let counters = &self.counters;
        for (name, help, count) in [
            ("frames_received", "Frames received from other members", counters.frames_in),
            ("frames_sent", "Frames sent to other members", counters.frames_out),
            (
                "received_bytes",
                "Bytes received from other members, before encryption",
                counters.bytes_in,
            ),
            ("sent_bytes", "Bytes sent to other members, before encryption", counters.bytes_out),
            ("connects", "Connections to other members that were established", counters.connects),
            ("reconnects", "Connections that replaced a lost one", counters.reconnects),
            ("steps", "Events that this member handled", counters.steps),
            ("durable_writes", "Times that the durable state was written", counters.durable_writes),
        ] {
            writer.counter(name, help, count)?;
        }
        let taken = ConstCounter::new(counters.durable_time.as_secs_f64());
        let help = "How long these writes took in total";
        let kind = taken.metric_type();
        taken.encode(writer.0.encode_descriptor("durable_write_seconds", help, None, kind)?)?;
        // All reasons, so that an alert can be written before the first case.
        let refused = Reason::ALL
            .iter()
            .map(|reason| (reason.name(), counters.refused.get(reason).copied().unwrap_or(0)));
        writer.counters(
            "refused_connections",
            "Connections that were refused or closed for cause, by reason",
            refused,
        )?;
        let dropped = Dropped::ALL
            .iter()
            .map(|reason| (reason.name(), counters.dropped.get(reason).copied().unwrap_or(0)));
        writer.counters(
            "dropped_messages",
            "Messages that did not reach their member, by reason",
            dropped,
        )?;
        writer.gauge(
            "certificate_remaining_seconds",
            "How long the member's certificate is still valid; 0 if it has ended",
            self.certificate.as_secs_f64(),
        )?;
        writer.gauge(
            "uptime_seconds",
            "How long this member has been running",
            self.uptime.as_secs_f64(),
        )?;
        let incarnation = f64::from(self.status.incarnation);
        writer.gauge("incarnation", "How often this member has started", incarnation)?;
        let labels: Vec<(&str, &str)> =
            self.info.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let one = ConstGauge::new(1_i64);
        let help = "What runs here";
        let mut encoder = writer.0.encode_descriptor("info", help, None, one.metric_type())?;
        one.encode(encoder.encode_family(&labels)?)
    }
}
