//! A cluster of either engine, and what the suite does with it.

use crate::common::Up;
use crate::etcd::Servers;
use crate::{cases, examples, faults, only_etcd, sidecar};
use bellwether::{Client, Endpoints, Session, SessionOptions};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The TTL of sessions that are not to be lost, on a busy machine either.
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// A cluster.
pub(crate) struct Rig {
    pub(crate) engine: Cluster,
}

#[allow(clippy::large_enum_variant, reason = "there is one")]
pub(crate) enum Cluster {
    Members(Up),
    Etcd(Servers),
}

impl Rig {
    pub(crate) fn members() -> Rig {
        Rig { engine: Cluster::Members(Up::start("--nodes 3")) }
    }

    pub(crate) fn etcd() -> Option<Rig> {
        Some(Rig { engine: Cluster::Etcd(Servers::start(3)?) })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> String {
        match &self.engine {
            Cluster::Members(up) => {
                let sockets = (1..=3).map(|id| format!("unix:{}", up.socket(id)));
                sockets.collect::<Vec<_>>().join(",")
            }
            Cluster::Etcd(servers) => format!("etcd://{}/suite", servers.hosts().join(",")),
        }
    }

    pub(crate) async fn client(&self) -> Client {
        let endpoints = Endpoints::parse(&self.address(), None, None).unwrap();
        Client::connect(endpoints.timeout(PATIENCE)).await.unwrap()
    }

    /// A session of a client of its own.
    pub(crate) async fn session(&self, name: &str) -> Session {
        session(&self.client().await, name).await
    }

    /// The TTL of sessions that are to be lost. Members keep a shorter one.
    pub(crate) fn short(&self) -> Duration {
        match self.engine {
            Cluster::Members(_) => Duration::from_secs(1),
            // The shortest that it keeps.
            Cluster::Etcd(_) => Duration::from_secs(2),
        }
    }

    pub(crate) fn servers(&self) -> Option<&Servers> {
        match &self.engine {
            Cluster::Etcd(servers) => Some(servers),
            Cluster::Members(_) => None,
        }
    }

    fn pid(&self, place: usize) -> Pid {
        match &self.engine {
            Cluster::Members(up) => up.pids[place],
            Cluster::Etcd(servers) => servers.pid(place),
        }
    }

    /// Stops a process, or lets it go on.
    pub(crate) fn signal(&self, place: usize, signal: Signal) {
        kill_process(self.pid(place), signal).unwrap();
    }

    /// Kills the one that leads.
    pub(crate) fn kill_leader(&mut self) -> usize {
        match &mut self.engine {
            Cluster::Members(up) => {
                let status = crate::common::call(
                    &up.members[0],
                    "GET",
                    "/v1/status",
                    &serde_json::Value::Null,
                );
                let leader = status.unwrap().1["coordinator"].as_u64().unwrap_or(1) as usize - 1;
                up.say(&format!("kill {}", leader + 1));
                leader
            }
            Cluster::Etcd(servers) => {
                let leader = servers.settle();
                servers.kill(leader);
                leader
            }
        }
    }

    /// Starts it again.
    pub(crate) fn restart(&mut self, place: usize) {
        match &mut self.engine {
            Cluster::Members(up) => up.say(&format!("revive {}", place + 1)),
            Cluster::Etcd(servers) => {
                servers.run(place);
                servers.settle();
            }
        }
    }
}

pub(crate) async fn session(client: &Client, name: &str) -> Session {
    session_of(client, name, TTL).await
}

pub(crate) async fn session_of(client: &Client, name: &str, ttl: Duration) -> Session {
    let options = SessionOptions { ttl, ..SessionOptions::named(name) };
    client.session(options).await.unwrap()
}

/// Waits until this is so.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < PATIENCE, "waited too long: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs the suite.
pub(crate) fn run(mut rig: Rig) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        macro_rules! each {
            ($($case:path),* $(,)?) => {$(
                let began = Instant::now();
                let late = concat!(stringify!($case), " takes too long");
                tokio::time::timeout(2 * PATIENCE, $case(&mut rig)).await.expect(late);
                eprintln!("{}: {:?}", stringify!($case), began.elapsed());
            )*};
        }
        each![
            cases::exclusion_is_linearizable_and_tokens_grow,
            cases::the_first_to_come_is_the_first_served,
            cases::a_request_that_does_not_wait_is_busy,
            cases::a_request_that_times_out_leaves_nothing_behind,
            cases::requests_may_be_dropped_at_every_step,
            cases::a_guard_that_is_dropped_gives_back,
            cases::a_session_that_ends_gives_back_all,
            cases::a_session_asks_once_for_a_lock,
            cases::names_may_have_any_characters,
            cases::tokens_are_checked,
            cases::roles_have_values_and_are_passed_on,
            cases::observers_see_every_leader,
            cases::lists_tell_who_has_what,
            cases::work_runs_while_the_role_is_led,
            cases::two_hundred_wait,
            examples::the_examples_run_by_the_address_alone,
            faults::a_paused_client_knows_that_it_has_lost,
            faults::a_minority_grants_nothing_and_a_sidecar_says_so,
            sidecar::a_sidecar_tells_who_leads,
            faults::a_lost_leader_costs_no_lock,
        ];
        if rig.servers().is_some() {
            each![
                only_etcd::what_etcd_cannot_give_is_refused_before,
                only_etcd::names_that_others_use_are_refused,
                only_etcd::etcdctl_and_we_exclude_each_other,
                only_etcd::bad_addresses_are_told_apart,
                only_etcd::a_wrong_user_or_certificate_is_told,
                only_etcd::failures_have_their_exit_codes_and_leave_nothing,
                only_etcd::a_lease_that_expires_while_waiting_is_told,
                only_etcd::a_new_request_does_not_get_the_turn_of_an_older_one,
                only_etcd::a_pair_is_two_entries_of_the_log,
                only_etcd::a_deleted_key_is_a_lost_lock,
                only_etcd::a_killed_command_is_not_waited_for,
                only_etcd::nothing_is_left_behind,
            ];
        }
    });
}
