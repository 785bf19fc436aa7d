//! Configuration and certificates are read again while members run.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, PATIENCE, call, get, led_by, post};
use bellwether::{Client, Endpoints};
use bellwether_api::json::{ChangedSetting, Problem, Reloaded, Status};
use bellwether_core::NodeId;
use bellwether_net::certs::{self, Files, Pair};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Three members that have a coordinator, which is the third.
async fn cluster() -> Cluster {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    cluster
}

/// Changes the configuration that all members share.
fn edit(cluster: &Cluster, from: &str, to: &str) {
    let path = cluster.folder.path().join("bellwether.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

async fn reload(cluster: &Cluster, index: usize) -> Reloaded {
    let (code, reloaded) = post(cluster.http(index), "/v1/reload", "").await;
    assert_eq!(code, 200);
    reloaded
}

async fn refused(cluster: &Cluster, index: usize) -> String {
    let (code, problem): (_, Problem) = post(cluster.http(index), "/v1/reload", "").await;
    assert_eq!(code, 422, "{problem:?}");
    assert_eq!(problem.code.as_deref(), Some("not-reloaded"));
    problem.error
}

fn changed(key: &str, from: &str, to: &str) -> ChangedSetting {
    ChangedSetting { key: key.to_owned(), from: Some(from.to_owned()), to: Some(to.to_owned()) }
}

#[tokio::test]
async fn limits_change_at_all_members_when_the_coordinator_reloads() {
    let cluster = cluster().await;
    let sessions = |index| post::<serde_json::Value>(cluster.http(index), "/v1/sessions", OPEN);
    const OPEN: &str = r#"{"client": "a", "ttl_ms": 60000}"#;
    assert_eq!(sessions(0).await.0, 200);
    edit(&cluster, "[tls]", "[sessions]\nmax = 1\n[tls]");
    assert_eq!(reload(&cluster, 0).await.changed, [changed("sessions.max", "200000", "1")]);
    assert_eq!(sessions(0).await.0, 200, "a follower's limits are not in force");
    let reloaded = reload(&cluster, 2).await;
    assert_eq!(reloaded.changed, [changed("sessions.max", "200000", "1")]);
    assert_eq!(reloaded.needs_restart, []);
    let (code, refusal) = sessions(1).await;
    assert_eq!((code, refusal["code"].as_str()), (429, Some("too-many-sessions")));
    edit(&cluster, "max = 1\n", "max = 3\n");
    reload(&cluster, 2).await;
    assert_eq!(sessions(1).await.0, 200);
    cluster.stop().await;
}

#[tokio::test]
async fn what_needs_a_restart_is_named_and_not_changed() {
    let cluster = cluster().await;
    // A profile gives heartbeat and lease, which are set here, and needs no restart.
    let new = "profile = \"wide\"\nquorum = \"none\"\n[sessions]\nconnections_max = 9\n[tls]";
    edit(&cluster, "[tls]", new);
    let reloaded = reload(&cluster, 2).await;
    assert_eq!((&reloaded.changed, &reloaded.needs_coordinator), (&vec![], &vec![]));
    let quorum = changed("quorum", "\"majority\"", "\"none\"");
    let connections = changed("sessions.connections_max", "10000", "9");
    assert_eq!(reloaded.needs_restart, [quorum.clone(), connections]);
    assert_eq!(reload(&cluster, 2).await, reloaded, "it still differs");
    edit(&cluster, "connections_max = 9\n", "");
    assert_eq!(reload(&cluster, 2).await.needs_restart, [quorum]);
    cluster.stop().await;
}

/// G16: at one entry of the log for all members.
#[tokio::test]
async fn leases_change_at_all_members_when_the_coordinator_reloads() {
    let mut cluster = cluster().await;
    edit(&cluster, "lease = \"1500ms\"", "lease = \"2s\"");
    edit(&cluster, "heartbeat = \"150ms\"", "heartbeat = \"200ms\"");
    let both =
        [changed("heartbeat", "\"150ms\"", "\"200ms\""), changed("lease", "\"1500ms\"", "\"2s\"")];
    let reloaded = reload(&cluster, 1).await;
    assert_eq!((&reloaded.changed, &reloaded.needs_restart), (&vec![], &vec![]));
    assert_eq!(reloaded.needs_coordinator, both);
    let warned = |status: &Status| status.warnings.iter().any(|text| text.contains("goes by"));
    let status: Status = get(cluster.http(1), "/v1/status").await;
    assert_eq!(status.lease_full_ms, 1_500);
    assert!(warned(&status), "{:?}", status.warnings);

    let reloaded = reload(&cluster, 2).await;
    assert_eq!((&reloaded.needs_coordinator, &reloaded.needs_restart), (&vec![], &vec![]));
    assert_eq!(reloaded.changed, both);
    for index in 0..3 {
        // The first has not read its configuration again.
        cluster.until(index, |s| s.lease_full_ms == 2_000 && warned(s) == (index == 0)).await;
    }
    assert_eq!(reload(&cluster, 2).await.changed, []);

    // One with the former configuration is let in, leads, and goes by the log.
    cluster.restart(2).await;
    for index in 0..3 {
        let status = cluster.until(index, led_by(3)).await;
        assert_eq!((status.lease_full_ms, warned(&status)), (2_000, index != 1), "{status:?}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn leases_that_cannot_be_committed_are_an_error() {
    let cluster = cluster().await;
    let cut = "{\"blocked\": [1, 2]}";
    let (code, _): (_, serde_json::Value) = post(cluster.http(2), "/dev/partition", cut).await;
    assert_eq!(code, 200);
    edit(&cluster, "lease = \"1500ms\"", "lease = \"2s\"");
    let (code, problem): (_, Problem) = post(cluster.http(2), "/v1/reload", "").await;
    assert_eq!((code, problem.code.as_deref()), (503, Some("not-committed")), "{problem:?}");
    cluster.stop().await;
}

#[tokio::test]
async fn a_wrong_configuration_changes_nothing() {
    let cluster = cluster().await;
    edit(&cluster, "[tls]", "[sessions]\nmax = 1\nmex = 2\n[tls]");
    let error = refused(&cluster, 2).await;
    assert!(error.contains("bellwether.toml:8: sessions.mex: unknown key"), "{error}");
    edit(&cluster, "mex = 2\n", "");
    let files = Files::of(cluster.folder.path(), NodeId::new(3));
    let other = Files::of(cluster.folder.path(), NodeId::new(2));
    let key = std::fs::read(&files.key).unwrap();
    std::fs::copy(&other.key, &files.key).unwrap();
    let error = refused(&cluster, 2).await;
    assert!(error.contains("does not belong to the certificate"), "{error}");
    let open = r#"{"client": "a", "ttl_ms": 60000}"#;
    for _ in 0..2 {
        let (code, _) = post::<serde_json::Value>(cluster.http(2), "/v1/sessions", open).await;
        assert_eq!(code, 200, "the limit of one is not in force");
    }
    std::fs::write(&files.key, key).unwrap();
    assert_eq!(reload(&cluster, 2).await.changed.len(), 1);
    cluster.stop().await;
}

/// Replaces a file as a whole, as certificate managers do.
fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// A client that trusts this authority, and has its certificate of it.
async fn connect(cluster: &Cluster, authority: &Pair) -> Result<Client, bellwether::Error> {
    let folder = tempfile::tempdir().unwrap();
    let pair = certs::client("test", authority, "app", 1).unwrap();
    let texts = [("ca.pem", &authority.certificate)].into_iter();
    let texts =
        texts.chain([("client-app.pem", &pair.certificate), ("client-app-key.pem", &pair.key)]);
    for (name, text) in texts {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let address = cluster.addresses[2].to_string();
    let endpoints = Endpoints::parse(&address, folder.path().to_str(), Some("app")).unwrap();
    Client::connect(endpoints.timeout(Duration::from_secs(2))).await
}

/// The authority itself is replaced, without a moment in which members refuse each other: first all trust both, then
/// all have certificates of the new one, then all trust the new one alone.
#[tokio::test]
async fn certificates_and_their_authority_roll_without_a_restart() {
    let cluster = cluster().await;
    let folder = cluster.folder.path().to_owned();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let old = Pair { certificate: read("ca.pem"), key: read("ca-key.pem") };
    let new = certs::authority("test", 40).unwrap();
    let ca: PathBuf = folder.join("ca.pem");
    let status: bellwether_api::json::Status = get(cluster.http(0), "/v1/status").await;
    let warned = |warnings: &[String]| warnings.iter().any(|text| text.contains("0 days left"));
    assert!(warned(&status.warnings), "{:?}", status.warnings);
    assert!(connect(&cluster, &new).await.is_err());

    replace(&ca, &(old.certificate.clone() + &new.certificate));
    let mut first = String::new();
    for index in 0..3 {
        first = reload(&cluster, index).await.certificate_until;
    }
    connect(&cluster, &old).await.unwrap();
    for id in 1..=3 {
        let id = NodeId::new(id);
        let (pair, files) = (certs::member("test", &new, id, 30).unwrap(), Files::of(&folder, id));
        replace(&files.key, &pair.key);
        replace(&files.certificate, &pair.certificate);
    }
    let before = status.last_change;
    for index in 0..3 {
        let until = reload(&cluster, index).await.certificate_until;
        assert!(until > first, "{until}, and {first} before");
    }
    connect(&cluster, &new).await.unwrap();
    replace(&ca, &new.certificate);
    for index in 0..3 {
        reload(&cluster, index).await;
    }
    connect(&cluster, &new).await.unwrap();
    assert!(connect(&cluster, &old).await.is_err());

    let status: bellwether_api::json::Status = get(cluster.http(0), "/v1/status").await;
    assert!(!warned(&status.warnings), "{:?}", status.warnings);
    assert_eq!(status.last_change, before, "no election was needed");
    let (_, _, metrics) = call(cluster.http(0), "GET /metrics", "").await;
    let left = metrics
        .lines()
        .find_map(|line| line.strip_prefix("bellwether_certificate_remaining_seconds "));
    assert!(left.unwrap().parse::<f64>().unwrap() > 29.0 * 86_400.0, "{left:?}");
    tokio::time::timeout(PATIENCE, cluster.stop()).await.unwrap();
}
