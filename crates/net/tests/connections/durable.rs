//! What must survive a crash is safe before anybody hears of it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{CLUSTER, Cluster, Input, Msg, Output, Talk, connected, heard, id, said, soon};
use bellwether_core::NodeId;
use bellwether_net::durable::{Owner, compose, parse};
use bellwether_net::{RunError, StartError, start};
use std::path::Path;

fn owner(id: NodeId) -> Owner {
    Owner { cluster: CLUSTER.into(), id, protocol: "talk".into() }
}

fn on_disk(path: &Path) -> u64 {
    let (found, state) = parse(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(found, owner(id(1)));
    u64::from_le_bytes(state.try_into().unwrap())
}

#[tokio::test]
async fn the_file_is_written_before_the_message_leaves() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(2));
    let path = folder.path().join("state");
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    let two = cluster.start(2);
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    connected(&two, 1).await;
    for n in 1..=20 {
        one.input(Input::Count).await;
        assert_eq!(heard(&mut outputs).await, (id(1), Msg::Say(n)));
        assert!(on_disk(&path) >= n);
    }
    assert_eq!(one.counters().durable_writes, 21, "one for the start, one for each change");
    one.input(Input::Send(id(2), vec![Msg::Say(0)])).await;
    heard(&mut outputs).await;
    assert_eq!(one.counters().durable_writes, 21, "nothing changed, nothing written");
}

#[tokio::test]
async fn a_restart_remembers() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(1));
    let path = folder.path().join("state");
    for (life, wanted) in [None, Some(1), Some(2)].into_iter().enumerate() {
        let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
        let mut outputs = one.outputs();
        said(&mut outputs, Output::Started(wanted)).await;
        one.input(Input::Count).await;
        one.stop().await.unwrap();
        assert_eq!(on_disk(&path), life as u64 + 1);
    }
}

/// The message of the error when a process is started with this file.
async fn refusal(content: &[u8]) -> String {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(1));
    let path = folder.path().join("state");
    std::fs::write(&path, content).unwrap();
    let mut options = cluster.options(1);
    options.data = Some(path.clone());
    match start(Talk("talk"), (), options) {
        Err(error @ StartError::Durable(_)) => {
            assert_eq!(std::fs::read(&path).unwrap(), content, "the evidence is left alone");
            let text = error.to_string();
            assert!(text.contains(path.to_str().unwrap()), "{text}");
            text
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was started"),
    }
}

#[tokio::test]
async fn a_damaged_file_refuses_to_start_and_says_what_to_do() {
    let good = compose(&owner(id(1)), &7u64.to_le_bytes());
    for length in 0..good.len() {
        let text = refusal(&good[..length]).await;
        assert!(text.contains("truncated"), "{length}: {text}");
        assert!(text.contains("Restore it") && text.contains("longest lease"), "{text}");
    }
    // All but the magic number and the length, which are recognised as what they are.
    for index in (20..good.len()).chain([8]) {
        let mut bad = good.clone();
        bad[index] ^= 0x10;
        let text = refusal(&bad).await;
        assert!(text.contains("checksum") || text.contains("format 17"), "{index}: {text}");
    }
    let mut foreign = good.clone();
    foreign[0] = b'#';
    assert!(refusal(&foreign).await.contains("not a state file"));
    let short = compose(&owner(id(1)), &[1, 2, 3]);
    assert!(refusal(&short).await.contains("cannot be read"));
}

#[tokio::test]
async fn the_file_of_another_process_is_refused() {
    let foreign = [
        Owner { id: id(2), ..owner(id(1)) },
        Owner { cluster: "prod".into(), ..owner(id(1)) },
        Owner { protocol: "host/bully".into(), ..owner(id(1)) },
    ];
    for owner in foreign {
        let text = refusal(&compose(&owner, &7u64.to_le_bytes())).await;
        assert!(text.contains("belongs to"), "{text}");
    }
}

#[tokio::test]
async fn two_processes_cannot_share_a_file() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(1));
    let path = folder.path().join("state");
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    let mut options = cluster.options(1);
    options.data = Some(path.clone());
    let error = start(Talk("talk"), (), options).err().unwrap();
    assert!(error.to_string().contains("in use"), "{error}");
    one.stop().await.unwrap();
    cluster.start_with(1, |options| options.data = Some(path.clone()));
}

#[tokio::test]
async fn a_process_that_cannot_write_stops_and_sends_nothing() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(2));
    let path = folder.path().join("state");
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    let two = cluster.start(2);
    let (mut by_one, mut by_two) = (one.outputs(), two.outputs());
    connected(&one, 1).await;
    said(&mut by_one, Output::Started(None)).await;
    one.input(Input::Send(id(2), vec![Msg::Say(77)])).await;
    assert_eq!(heard(&mut by_two).await.1, Msg::Say(77));
    folder.close().unwrap();
    one.input(Input::Count).await;
    let error = soon("the end", one.finished()).await.unwrap_err();
    assert!(matches!(error, RunError::Durable(_)), "{error}");
    assert!(error.to_string().contains("state.new"), "{error}");
    assert!(!one.input(Input::Count).await);
    assert_eq!(one.inspect(|view| view.process.count).await, None);
    two.stop().await.unwrap();
    while let Ok((_, output)) = by_two.try_recv() {
        assert!(!matches!(output, Output::Received(..)), "it promised what it had not written");
    }
}

#[tokio::test]
async fn what_may_precede_the_save_leaves_before_it_and_nothing_else() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(2));
    let path = folder.path().join("state");
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    let two = cluster.start(2);
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    one.input(Input::CountAndAsk).await;
    assert_eq!(heard(&mut outputs).await.1, Msg::Ask(1));
    assert_eq!(heard(&mut outputs).await.1, Msg::Say(1));
    // The next save fails, so what it would make true is never said.
    folder.close().unwrap();
    one.input(Input::CountAndAsk).await;
    assert_eq!(heard(&mut outputs).await.1, Msg::Ask(2));
    let error = soon("the end", one.finished()).await.unwrap_err();
    assert!(matches!(error, RunError::Durable(_)), "{error}");
    two.stop().await.unwrap();
    while let Ok((_, output)) = outputs.try_recv() {
        assert!(!matches!(output, Output::Received(..)), "it promised what it had not written");
    }
}

#[tokio::test]
async fn a_save_that_fails_is_a_clear_error() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(1));
    let path = folder.path().join("state");
    // A directory cannot be replaced by the file beside. (A link to /dev/full would be replaced.)
    std::fs::create_dir(folder.path().join("state.new")).unwrap();
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    let error = soon("the end", one.finished()).await.unwrap_err();
    assert!(error.to_string().contains("state.new`: File exists"), "{error}");
    assert!(!path.exists());
}

/// What is already here when something durable changes is handled before the save, and leaves after
/// it in order.
#[tokio::test]
async fn one_save_is_enough_for_all_that_waits() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(2));
    let path = folder.path().join("state");
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    let two = cluster.start(2);
    let mut outputs = two.outputs();
    connected(&one, 1).await;
    connected(&two, 1).await;
    let before = one.counters().durable_writes;
    for _ in 0..5 {
        // No other task runs between these: all of them are there when the process is woken.
        let inputs = (0..20).map(|_| one.input(Input::Count));
        for input in inputs.collect::<Vec<_>>() {
            input.await;
        }
        one.input(Input::Send(id(2), vec![Msg::Say(0)])).await;
        let seen = one.inspect(|view| view.process.count).await.unwrap();
        assert!(on_disk(&path) >= seen, "a look shows only what is saved");
    }
    let mut wanted = (1..=100).collect::<Vec<u64>>();
    for at in [20, 41, 62, 83, 104] {
        wanted.insert(at, 0);
    }
    for n in wanted {
        assert_eq!(heard(&mut outputs).await, (id(1), Msg::Say(n)));
    }
    let saves = one.counters().durable_writes - before;
    assert!(saves <= 50, "{saves} saves for 100 changes that came 20 at a time");
}

/// Another user of the directory may have put a link there.
#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), Cluster::new(1));
    let (path, elsewhere) = (folder.path().join("state"), folder.path().join("elsewhere"));
    std::fs::write(&elsewhere, "precious").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("state.new")).unwrap();
    let one = cluster.start_with(1, |options| options.data = Some(path.clone()));
    one.input(Input::Count).await;
    one.stop().await.unwrap();
    assert_eq!(on_disk(&path), 1);
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
}
