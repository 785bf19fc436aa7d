//! The messages of a process as they pass, for observers.
//!
//! Most of the time there is none. Then a message costs a look at the number of onlookers, and is
//! neither copied nor written out.

use super::protocol::{Msg, Protocol};
use super::shared::Shared;
use bellwether_core::{Kind, Message, NodeId, Time};
use tokio::sync::broadcast;

/// The number of messages that are kept for a slow listener.
const KEPT: usize = 1024;

/// A message that a process sent to another one or received from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// What the process's clock showed.
    pub at: Time,
    /// Who sent it.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// What kind of message it is.
    pub kind: Kind,
    /// The message, in words.
    pub text: String,
    /// Whether a partition made for development swallows it.
    pub cut: bool,
}

/// Where the messages pass.
#[derive(Debug)]
pub(crate) struct Tap(broadcast::Sender<Traffic>);

impl Tap {
    pub(crate) fn new() -> Self {
        Tap(broadcast::Sender::new(KEPT))
    }

    pub(crate) fn downgrade(&self) -> broadcast::WeakSender<Traffic> {
        self.0.downgrade()
    }

    /// The process asks for this message to be sent.
    pub(crate) fn sent<P: Protocol>(&self, shared: &Shared<P>, to: NodeId, msg: &Msg<P>, at: Time) {
        if self.0.receiver_count() > 0 {
            let (from, cut) = (shared.me(), shared.is_cut_off(to));
            self.show(Traffic { at, from, to, kind: msg.kind(), text: msg.to_string(), cut });
        }
    }

    /// The process is about to handle this message.
    pub(crate) fn received<P: Protocol>(
        &self,
        shared: &Shared<P>,
        from: NodeId,
        msg: &Msg<P>,
        at: Time,
    ) {
        if self.0.receiver_count() > 0 {
            let to = shared.me();
            self.show(Traffic {
                at,
                from,
                to,
                kind: msg.kind(),
                text: msg.to_string(),
                cut: false,
            });
        }
    }

    fn show(&self, traffic: Traffic) {
        // The last onlooker may have left this instant.
        let _ = self.0.send(traffic);
    }
}
