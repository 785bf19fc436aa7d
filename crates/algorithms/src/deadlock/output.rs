//! What a site says.

use super::names::{Cycle, Resource, Tx};
use crate::election;
use std::fmt;

/// What a site says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A transaction begins.
    Begun(Tx),
    /// A transaction waits for a resource of this site.
    Waits {
        /// Which.
        tx: Tx,
        /// The timestamp of its request.
        label: u64,
        /// For what.
        resource: Resource,
        /// Who holds it.
        holder: Tx,
    },
    /// A transaction has a resource of this site.
    Granted {
        /// Which.
        tx: Tx,
        /// What.
        resource: Resource,
    },
    /// A transaction of this site gives a resource back before its end.
    Unlocked {
        /// Which.
        tx: Tx,
        /// What.
        resource: Resource,
    },
    /// A transaction of this site has ended, and gives all back.
    Ended {
        /// Which.
        tx: Tx,
        /// How.
        how: How,
    },
    /// A deadlock was found here.
    Found(Cycle),
    /// What looked like a deadlock was none, or is none any more.
    Refuted(Cycle),
    /// What a script asks for cannot be done.
    Refused(Refusal),
    /// The election's word.
    Election(election::Output),
}

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// With success.
    Committed,
    /// By itself, without.
    GaveUp,
    /// As the victim of this deadlock.
    Victim(Cycle),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Begun(tx) => write!(f, "begins {tx}"),
            Output::Waits { tx, resource, holder, .. } => {
                write!(f, "lets {tx} wait for {resource}, which {holder} holds")
            }
            Output::Granted { tx, resource } => write!(f, "gives {resource} to {tx}"),
            Output::Unlocked { tx, resource } => write!(f, "gives {resource} back for {tx}"),
            Output::Ended { tx, how: How::Committed } => write!(f, "commits {tx}"),
            Output::Ended { tx, how: How::GaveUp } => write!(f, "gives up {tx}"),
            Output::Ended { tx, how: How::Victim(cycle) } => {
                write!(f, "aborts {tx}: deadlock {cycle}")
            }
            Output::Found(cycle) => write!(f, "finds the deadlock {cycle}"),
            Output::Refuted(cycle) => write!(f, "drops the suspicion {cycle}"),
            Output::Refused(refusal) => write!(f, "refuses: {refusal}"),
            Output::Election(output) => output.fmt(f),
        }
    }
}

/// Why a site cannot do what a script asks for. Nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has begun already.
    Begun(Tx),
    /// It has not begun here, or has ended.
    NotBegun(Tx),
    /// It waits, and can do nothing until it gets this.
    Waits(Tx, Resource),
    /// It has that already.
    Has(Tx, Resource),
    /// It does not have that.
    HasNot(Tx, Resource),
    /// There is no such site.
    NoSite(Resource),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Begun(tx) => write!(f, "{tx} has begun already"),
            Refusal::NotBegun(tx) => write!(f, "there is no {tx} at home here"),
            Refusal::Waits(tx, resource) => {
                write!(f, "{tx} waits for {resource}, and can do nothing until it has it")
            }
            Refusal::Has(tx, resource) => write!(f, "{tx} has {resource} already"),
            Refusal::HasNot(tx, resource) => write!(f, "{tx} does not have {resource}"),
            Refusal::NoSite(resource) => {
                write!(f, "there is no site S{}", resource.site.number())
            }
        }
    }
}

impl std::error::Error for Refusal {}
