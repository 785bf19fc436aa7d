//! What the driver must know of a process to run it: how its messages look on the wire and its
//! durable state on disk.

use crate::runner::View;
use bellwether_algorithms::catalogue::Algorithm;
use bellwether_api::envelope::Payload;
use bellwether_core::{NodeId, Process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;

/// How a process meets the network.
///
/// Decoding must not panic, whatever the bytes: they come from outside.
pub trait Protocol: Send + Sync + 'static {
    /// The process that is run.
    type Process: Process<
            Msg: Send,
            Timer: Send,
            Input: Send,
            Output: Send,
            Durable: Send,
            Config: Send + Sync,
        > + Send
        + 'static;

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

    /// Whether nobody waits for what this message, which the process has just asked for, will do at
    /// that peer: then it may stay for a moment, so that later ones go with it.
    fn can_wait(&self, sender: &View<'_, Self::Process>, to: NodeId, msg: &Msg<Self>) -> bool {
        let _ = (sender, to, msg);
        false
    }

    /// Durable state as the file keeps it.
    fn encode_durable(&self, durable: &Durable<Self>) -> Vec<u8>;

    /// Durable state from a file.
    fn decode_durable(&self, bytes: &[u8]) -> Result<Durable<Self>, Malformed>;

    /// What the process is told when the connection to a peer tells something about the peer: a
    /// hint, never proof. Nothing by default.
    fn hint(&self, peer: NodeId, hint: Hint) -> Option<Input<Self>> {
        let _ = (peer, hint);
        None
    }
}

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
    /// Nobody listens at its address: it is not running, or not yet.
    Refused,
    /// An established connection was closed or reset: it ended, or it was cut off.
    Closed,
}

/// Bytes that mean nothing to this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong with them.
    pub what: String,
    /// Whether a well-behaved peer of another version may have sent them: then the message is
    /// ignored and counted, and the connection stays.
    pub foreign: bool,
}

impl Malformed {
    /// Says what is wrong: no version sends this.
    pub fn new(what: impl fmt::Display) -> Self {
        Malformed { what: what.to_string(), foreign: false }
    }

    /// Says what is not understood, though another version may mean something by it.
    pub fn foreign(what: impl fmt::Display) -> Self {
        Malformed { what: what.to_string(), foreign: true }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Malformed {}

/// A catalogue algorithm: its messages ride serde-encoded, so that a new algorithm needs no wire
/// code. All processes must be of the same build; the production member, which outlives builds, has
/// a protocol of its own.
pub struct Catalogue<A> {
    name: String,
    algorithm: PhantomData<fn() -> A>,
}

impl<A: Algorithm> Catalogue<A> {
    /// The protocol of algorithm `A`.
    pub fn new() -> Self {
        Catalogue { name: format!("host/{}", A::ENTRY.name), algorithm: PhantomData }
    }
}

impl<A: Algorithm> Default for Catalogue<A> {
    fn default() -> Self {
        Catalogue::new()
    }
}

impl<A> fmt::Debug for Catalogue<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Catalogue").field(&self.name).finish()
    }
}

impl<A: Algorithm> Protocol for Catalogue<A> {
    type Process = A;

    fn name(&self) -> &str {
        &self.name
    }

    fn encode(&self, msg: &A::Msg) -> Payload {
        Payload::Serde(to_bytes(msg).into())
    }

    fn decode(&self, payload: Payload) -> Result<A::Msg, Malformed> {
        match payload {
            Payload::Serde(bytes) => from_bytes(&bytes),
            Payload::Member(_) => Err(Malformed::new("a member's message to a hosted algorithm")),
        }
    }

    fn encode_durable(&self, durable: &A::Durable) -> Vec<u8> {
        to_bytes(durable)
    }

    fn decode_durable(&self, bytes: &[u8]) -> Result<A::Durable, Malformed> {
        from_bytes(bytes)
    }
}

/// Serde-encodes a value. Postcard fails only for types that serde cannot describe at all, and then
/// for every value of them; such bytes are refused when they are read.
fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).unwrap_or_default()
}

/// Decodes a value; nothing may be left over.
fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(Malformed::new(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(Malformed::new(error)),
    }
}
