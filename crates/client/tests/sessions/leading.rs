//! Work that runs while a role is led.

use crate::fake::{Fake, soon};
use bellwether::ErrorKind;
use bellwether_coordination::Ending;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Says that it was dropped.
struct Stopped(mpsc::UnboundedSender<&'static str>);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.send("stopped");
    }
}

#[tokio::test]
async fn work_stops_when_leadership_is_lost_and_runs_again_when_elected_again() {
    let fake = Fake::new();
    let (client, (tell, mut told)) = (fake.client().await, mpsc::unbounded_channel());
    let (sessions, mut running) = mpsc::unbounded_channel();
    let leading = tokio::spawn(async move {
        let mut runs = 0;
        let work = |leadership: Arc<bellwether::Leadership>| {
            runs += 1;
            let (run, tell, sessions) = (runs, tell.clone(), sessions.clone());
            async move {
                let _stopped = Stopped(tell);
                sessions.send((leadership.session().id(), leadership.token())).unwrap();
                match run {
                    1 => std::future::pending().await,
                    run => run,
                }
            }
        };
        client.lead("r", work).await
    });
    let (first, token) = soon("the first run", running.recv()).await.unwrap();
    assert!(told.try_recv().is_err(), "it runs as long as it leads");
    fake.end(first, Ending::Expired);
    assert_eq!(soon("the end of the work", told.recv()).await, Some("stopped"));
    let (second, larger) = soon("the second run", running.recv()).await.unwrap();
    assert!(second != first && larger > token);
    assert_eq!(soon("the result", leading).await.unwrap().unwrap(), 2);
    // It has resigned.
    fake.until("no session", |state| state.coordination.sessions().is_empty()).await;
}

#[tokio::test]
async fn what_does_not_pass_by_itself_is_an_error() {
    // Even while no member answers: that passes.
    let client = Fake::new().client().await;
    let leading = client.lead("", |_| async {});
    let error = soon("an error", leading).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
}

#[tokio::test]
async fn who_stops_leading_leaves_nothing_behind() {
    let fake = Fake::new();
    let (client, (tell, mut told)) = (fake.client().await, mpsc::unbounded_channel());
    let leading = tokio::spawn(async move {
        let work = |_| {
            let stopped = Stopped(tell.clone());
            tell.send("runs").unwrap();
            async move {
                let _stopped = stopped;
                std::future::pending::<()>().await;
            }
        };
        client.lead("r", work).await
    });
    assert_eq!(soon("the work", told.recv()).await, Some("runs"));
    leading.abort();
    assert_eq!(soon("the end of the work", told.recv()).await, Some("stopped"));
    fake.until("no session", |state| state.coordination.sessions().is_empty()).await;
}
