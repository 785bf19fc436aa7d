//! The second connection: ready for when the first one fails, or its member follows no coordinator.
//!
//! * W1 A client that is in use keeps a connection to another member, if it knows one. It is listened to, so
//!   that it is known whether that member follows a coordinator.
//! * W2 When the first connection's member follows no coordinator, another that does is looked for at once,
//!   and then again and again; as soon as there is one, the client goes there.

use crate::endpoints::Endpoint;
use crate::finder::{BACK_OFF, Finder, jitter};
use crate::link::Link;
use crate::state::ClientState;
use crate::tasks::{Shared, Status};
use bellwether_api::client::{ToClient, decode_to_client};
use bellwether_net::Malformed;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// W1: a second connection is opened when the first one has been used for this long, and again after this time
/// if it cannot be had.
const AFTER: Duration = Duration::from_secs(1);

/// W2: the longest time between two questions to a member.
const LOOKS: Duration = Duration::from_millis(250);

/// Keeps the second connection, and completes when it is the better one (W2).
pub(crate) async fn keep(
    shared: &Shared,
    finder: &Finder,
    used: &Endpoint,
    spare: &mut Option<Link>,
) {
    let mut moved = finder.places.news();
    let mut news = shared.status.subscribe();
    let mut looked = 0;
    loop {
        let others = finder.others(used);
        let follows = news.borrow_and_update().follows;
        if !follows && spare.as_ref().is_some_and(Link::follows) {
            return;
        }
        let needed = !follows || spare.is_none();
        let search = async {
            match (follows, looked) {
                (false, 0) => {}
                (false, _) => sleep(jitter(back_off(looked))).await,
                (true, _) => idle(shared).await,
            }
            finder.race(others.clone()).await
        };
        tokio::select! {
            () = turned(&mut news, follows) => looked = 0,
            () = moved.changed() => {}
            open = heard(spare) => {
                if !open {
                    *spare = None;
                }
            }
            found = search, if needed && !others.is_empty() => {
                looked += 1;
                if let Ok(link) = found && (spare.is_none() || link.follows()) {
                    *spare = Some(link);
                }
            }
        }
    }
}

/// Waits until the first connection's member follows a coordinator, or does not any more.
async fn turned(news: &mut watch::Receiver<Status>, follows: bool) {
    if news.wait_for(|status| status.follows != follows).await.is_err() {
        std::future::pending().await
    }
}

/// Waits a while, and then until the client is in use.
async fn idle(shared: &Shared) {
    sleep(jitter(AFTER)).await;
    shared.until(ClientState::is_in_use).await;
}

fn back_off(looked: u32) -> Duration {
    (BACK_OFF.0 * 2_u32.saturating_pow(looked.min(10))).min(LOOKS)
}

/// Waits until the spare connection's member says something; false if it has closed the connection.
async fn heard(spare: &mut Option<Link>) -> bool {
    let Some(link) = spare else { return std::future::pending().await };
    let welcome = &mut link.welcome;
    let take = |bytes: &[u8]| {
        if let ToClient::Announcement(news) = decode_to_client(bytes).map_err(Malformed::new)? {
            (welcome.coordinator, welcome.term) = (news.coordinator, news.term);
        }
        Ok(())
    };
    matches!(link.frames.each(take).await, Ok(1..))
}
