//! `bellwether sessions`: the clients, and what they have.

use super::{below, clock, count, names, table};
use crate::watching::Shown;
use bellwether_api::coordination::Coordination;
use serde::{Deserialize, Serialize};

/// The sessions, as a member shows them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Sessions(Coordination);

impl Shown for Sessions {
    const PATH: &'static str = "/v1/sessions";

    fn table(&self) -> String {
        let header =
            ["session", "client", "TTL", "since", "holds", "waits for", "leads", "campaigns"];
        let mut table = table(&header);
        for session in &self.0.sessions {
            table.add_row([
                session.session.clone(),
                session.client.clone(),
                format!("{} ms", session.ttl_ms),
                clock(&session.since).to_owned(),
                names(&session.holds),
                names(&session.waits_for),
                names(&session.leads),
                names(&session.campaigns_for),
            ]);
        }
        format!("{table}\n{}", below(&self.0))
    }

    fn is_coordinated(&self) -> bool {
        self.0.coordinator.is_some()
    }

    fn line(&self) -> String {
        let each = self.0.sessions.iter().map(|session| {
            let mut text = format!("{} ({})", session.session, session.client);
            for (word, list) in [
                ("holds", &session.holds),
                ("waits for", &session.waits_for),
                ("leads", &session.leads),
                ("campaigns for", &session.campaigns_for),
            ] {
                if !list.is_empty() {
                    text += &format!(" {word} {}", list.join(", "));
                }
            }
            text
        });
        let each: Vec<_> = each.collect();
        let count = count(self.0.sessions.len(), "session", "sessions");
        if each.is_empty() { count } else { format!("{count}: {}", each.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_api::coordination::Session;

    #[test]
    fn a_session_shows_what_it_has() {
        let session = Session {
            session: "s3.1".to_owned(),
            client: "cron on a".to_owned(),
            ttl_ms: 5_000,
            since: "2026-11-16T09:30:00.125Z".to_owned(),
            holds: vec!["a".to_owned(), "b".to_owned()],
            waits_for: Vec::new(),
            leads: vec!["cron".to_owned()],
            campaigns_for: Vec::new(),
        };
        let mut shown =
            Sessions(Coordination { sessions: vec![session], ..Coordination::default() });
        let text = shown.table();
        for fragment in ["s3.1", "cron on a", "5000 ms", "09:30:00.125", "a, b"] {
            assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
        }
        assert_eq!(shown.line(), "1 session: s3.1 (cron on a) holds a, b leads cron");
        shown.0.sessions.clear();
        assert_eq!(shown.line(), "0 sessions");
    }
}
