//! What the driver must know of a process to run it: how its messages look on the wire, and where
//! its durable state is kept.

use super::durable::{DurableError, Owner, WholeFile};
use super::roster::Membership;
use super::runner::View;
use super::store::Store;
use crate::decode::Malformed;
use bellwether_api::envelope::Payload;
use bellwether_core::{Codec, Erasable, NodeId, Process};
use std::fmt;
use std::path::Path;
use std::task::Waker;

/// How a process meets the network.
///
/// Decoding must not panic, whatever the bytes: they come from outside.
pub trait Protocol: Send + Sync + 'static {
    /// The process that is run.
    type Process: Erasable;
    /// Keeps what is durable of it. [`WholeFile`] is enough for small states.
    type Store: Store<Self::Process>;

    /// What both ends must run alike; the greeting compares it. `host/bully`, `member`.
    fn name(&self) -> &str;

    /// A message as it travels.
    fn encode(&self, msg: &Msg<Self>) -> Payload;

    /// A message from what travelled.
    fn decode(&self, payload: Payload) -> Result<Msg<Self>, Malformed>;

    /// Whether `newer` makes the still unsent `older` to the same peer pointless. A newer
    /// heartbeat does; a protocol message never does.
    fn supersedes(&self, newer: &Msg<Self>, older: &Msg<Self>) -> bool {
        let _ = (newer, older);
        false
    }

    /// Whether no process waits for what this message, which the process has just asked for, will do at
    /// that peer: then it may stay for a moment, so that later ones go with it.
    fn can_wait(&self, sender: &View<'_, Self::Process>, to: NodeId, msg: &Msg<Self>) -> bool {
        let _ = (sender, to, msg);
        false
    }

    /// Whether this message may leave before the save that its step makes necessary: a crash before that save
    /// must not make anything wrong that follows from the message. The process handles no answer before
    /// the save has ended. Never by default.
    fn may_precede_save(
        &self,
        store: &Self::Store,
        process: &Self::Process,
        msg: &Msg<Self>,
    ) -> bool {
        let _ = (store, process, msg);
        false
    }

    /// Opens the store of this owner, and reads the durable state that it holds: none at the first
    /// start.
    fn open(&self, path: &Path, owner: Owner) -> Result<Opened<Self>, DurableError>;

    /// The id of the cluster that the process is of, if it knows one: the greeting compares it. A member
    /// of another cluster is refused.
    fn cluster_id(&self, process: &Self::Process, config: &Config<Self>) -> Option<u64> {
        let _ = (process, config);
        None
    }

    /// Whether the process has settings that the members agree on by themselves. The greeting does not compare those of
    /// the configuration then.
    fn has_settings(&self, process: &Self::Process) -> bool {
        let _ = process;
        false
    }

    /// What is asked of the process by others than [`Running`](crate::Running): all that there is at the moment, as one
    /// input. If there is nothing, this waker is woken as soon as there is. Nothing by default.
    fn asked(&self, waker: Option<&Waker>) -> Option<Input<Self>> {
        let _ = waker;
        None
    }

    /// Gives an output at once to those who wait for it here; returns it if listeners may want it, too. What needs a save
    /// comes here after the save. By default nobody waits.
    fn pass_on(&self, output: Output<Self>) -> Option<Output<Self>> {
        Some(output)
    }

    /// Who the members are, if this output of the process says so. By default they never change.
    fn members(&self, output: &Output<Self>) -> Option<Membership> {
        let _ = output;
        None
    }

    /// A number that names the data folder of the process; 0 if there is none. The greeting shows it, so that
    /// the folder of a removed member can be refused.
    fn folder(&self, process: &Self::Process) -> u64 {
        let _ = process;
        0
    }

    /// What the process is told when there is [proof](crate::proof) that this start of a peer has ended.
    /// Nothing by default.
    fn ended(&self, peer: NodeId, instance: u64) -> Option<Input<Self>> {
        let _ = (peer, instance);
        None
    }

    /// What the process is told when the connection to a peer tells something about the peer: a
    /// hint, never proof. Nothing by default.
    fn hint(&self, peer: NodeId, hint: Hint) -> Option<Input<Self>> {
        let _ = (peer, hint);
        None
    }
}

/// An open store, and the durable state that was in it.
pub type Opened<P> = (<P as Protocol>::Store, Option<Durable<P>>);
/// The message of a protocol's process.
pub type Msg<P> = <<P as Protocol>::Process as Process>::Msg;
/// The timer of a protocol's process.
pub type Timer<P> = <<P as Protocol>::Process as Process>::Timer;
/// The input of a protocol's process.
pub type Input<P> = <<P as Protocol>::Process as Process>::Input;
/// The output of a protocol's process.
pub type Output<P> = <<P as Protocol>::Process as Process>::Output;
/// The durable state of a protocol's process.
pub type Durable<P> = <<P as Protocol>::Process as Process>::Durable;
/// The configuration of a protocol's process.
pub type Config<P> = <<P as Protocol>::Process as Process>::Config;

/// What a connection tells about the process at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// No process listens at its address: it is not running, or not yet.
    Refused,
    /// An established connection was closed or reset: it ended, or it was cut off.
    Closed,
    /// It refuses this process, because this very data folder was removed from the cluster. This is proof, unlike
    /// the others: the peer is a member of the same cluster and knows the folder.
    Removed,
}

/// The protocol of any process that has a codec: a new algorithm needs no wire code. All processes
/// must be of the same build; the production member, which outlives builds, has a protocol of its
/// own.
pub struct Coded<P: Process> {
    name: String,
    codec: Codec<P>,
}

impl<P: Process> Coded<P> {
    /// The protocol of a process with this codec, under the name that the greeting compares:
    /// `host/bully`.
    pub fn new(name: impl Into<String>, codec: Codec<P>) -> Self {
        Coded { name: name.into(), codec }
    }

    /// Durable state as the file keeps it.
    pub fn encode_durable(&self, durable: &P::Durable) -> Vec<u8> {
        self.codec.durable.encode(durable)
    }

    /// Durable state from a file.
    pub fn decode_durable(&self, bytes: &[u8]) -> Result<P::Durable, Malformed> {
        self.codec.durable.decode(bytes).map_err(Malformed::new)
    }
}

impl<P: Process> fmt::Debug for Coded<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Coded").field(&self.name).finish()
    }
}

impl<P: Erasable> Protocol for Coded<P> {
    type Process = P;
    type Store = WholeFile<P>;

    fn name(&self) -> &str {
        &self.name
    }

    fn encode(&self, msg: &P::Msg) -> Payload {
        Payload::Serde(self.codec.msg.encode(msg).into())
    }

    fn decode(&self, payload: Payload) -> Result<P::Msg, Malformed> {
        match payload {
            Payload::Serde(bytes) => self.codec.msg.decode(&bytes).map_err(Malformed::new),
            Payload::Member(_) => Err(Malformed::new("a member's message to a hosted algorithm")),
        }
    }

    fn open(&self, path: &Path, owner: Owner) -> Result<Opened<Self>, DurableError> {
        let coder = self.codec.durable.clone();
        let encode = move |durable: &P::Durable| coder.encode(durable);
        WholeFile::open(path, owner, encode, |bytes| self.decode_durable(bytes))
    }
}
