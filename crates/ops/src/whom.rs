//! The members that a command asks: the one that was named, or those of the cluster that `bellwether up` runs
//! on this host.
//!
//! Of several the first that answers is as good as any: every member tells what it knows, and says
//! that it is its word. A member that has answered once is asked first the next time, so that lines of
//! `--watch` are the word of one member for as long as it lives.

use crate::asking::{ANSWERS_WITHIN, Address, Reply, Unanswered, ask, json, order};
use crate::on_etcd::OnEtcd;
use crate::running::sockets;
use crate::up::link::Link;
use bellwether_api::json::{Members, Status};
use bellwether_node::operator::{NoToken, OperatorToken};
use bellwether_shell::Failure;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a command ends with that may not do what it is asked for.
const NOT_ALLOWED: u8 = 77;

/// The engine cannot do it.
const UNSUPPORTED: u8 = 83;

/// There is no coordinator.
const NO_COORDINATOR: u8 = 70;

/// Where an installed member answers.
const INSTALLED: &str = "127.0.0.1:7480";

/// One of several that takes longer is passed over, until all have been: it may have been stopped.
const PASSED_OVER: Duration = Duration::from_millis(500);

/// The members that may be asked; there is at least one, or an etcd cluster.
#[derive(Debug)]
pub(crate) struct Whom {
    members: Vec<Address>,
    /// The place of the one that answered last.
    first: Cell<usize>,
    /// Where the operator token is, if a cluster of `up` has left word of it.
    token: Option<PathBuf>,
    /// An etcd cluster is asked instead.
    etcd: Option<OnEtcd>,
}

impl Whom {
    /// The named member; else the cluster of `bellwether up`; else an installed member.
    pub(crate) fn find(named: Option<&str>) -> Result<Self, Failure> {
        let etcd = named.map(OnEtcd::named).transpose()?.flatten();
        if etcd.is_some() {
            return Ok(Whom { members: Vec::new(), first: Cell::new(0), token: None, etcd });
        }
        let mut members = match named {
            Some(named) => vec![Address::parse(named)?],
            None => sockets::http_of_up()?,
        };
        if members.is_empty() {
            members.push(Address::parse(INSTALLED)?);
        }
        let token = sockets::token_of_up(&members[0]);
        Ok(Whom { members, first: Cell::new(0), token, etcd })
    }

    /// Asks these members from now on, too.
    pub(crate) fn learn(&mut self, seen: &Members) {
        let served = seen.members.iter().filter_map(|member| member.http.as_deref());
        for address in served.filter_map(|http| Address::parse(http).ok()) {
            if !self.members.contains(&address) {
                self.members.push(address);
            }
        }
    }

    /// Asks for something.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Unanswered> {
        self.ask(path).await?.read()
    }

    /// The same, not read yet.
    pub(crate) async fn ask(&self, path: &str) -> Result<Reply, Unanswered> {
        if let Some(etcd) = &self.etcd {
            return etcd.ask(path).await;
        }
        let mut patience = match self.members.len() {
            1 => ANSWERS_WITHIN,
            _ => PASSED_OVER,
        };
        loop {
            let mut no_answer = None;
            for step in 0..self.members.len() {
                let place = (self.first.get() + step) % self.members.len();
                match ask(&self.members[place], path, patience).await {
                    Err(silence @ Unanswered::NoAnswer(..)) => {
                        no_answer = no_answer.or(Some(silence))
                    }
                    answer => {
                        self.first.set(place);
                        return answer;
                    }
                }
            }
            match no_answer {
                // The whole host may be busy.
                Some(silence) if patience >= ANSWERS_WITHIN => return Err(silence),
                _ => patience = ANSWERS_WITHIN,
            }
        }
    }

    /// Commands something, as an operator, of a member that is known to answer: a command that got no
    /// answer may have been carried out, and is not given to another one. The operator token is in the
    /// file that was named, or where `up` has left it.
    pub(crate) async fn command<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        token: Option<&Path>,
        body: &B,
    ) -> Result<T, Failure> {
        Ok(self.order(path, token, json(body)).await?.read()?)
    }

    async fn order(&self, path: &str, token: Option<&Path>, body: Bytes) -> Result<Reply, Failure> {
        if let Some(etcd) = &self.etcd {
            return Ok(etcd.order(path, &body).await?);
        }
        let token = self.operator_token(token)?;
        if self.members.len() > 1 {
            let _: Status = self.get("/v1/status").await?;
        }
        let member = &self.members[self.first.get()];
        Ok(order(member, path, token.as_deref(), body).await?)
    }

    /// The operator token in the file that was named, or where `up` has left it; in letters.
    pub(crate) fn operator_token(&self, named: Option<&Path>) -> Result<Option<String>, Failure> {
        let token = named.or(self.token.as_deref()).map(OperatorToken::read).transpose();
        let unusable = |why: NoToken| Failure::Exit(NOT_ALLOWED, why.to_string());
        Ok(token.map_err(unusable)?.map(OperatorToken::hex))
    }

    /// The way to the coordinator, and its number. A member that knows none may be cut off or about to join, so the
    /// members that it names are asked, too.
    pub(crate) async fn coordinator(&mut self) -> Result<(Link, u32), Failure> {
        if self.etcd.is_some() {
            let what = "an etcd cluster has its own backups: use `etcdctl snapshot save`";
            return Err(Failure::Exit(UNSUPPORTED, what.to_owned()));
        }
        let mut seen: Members = self.get("/v1/members").await?;
        let is_led = |seen: &Members| seen.members.iter().any(|member| member.is_coordinator);
        if !is_led(&seen) {
            self.learn(&seen);
            for place in 0..self.members.len() {
                let answer = ask(&self.members[place], "/v1/members", PASSED_OVER).await;
                let answer = answer.and_then(|reply| reply.read::<Members>());
                let is_useful = |other: &Members| other.cluster == seen.cluster && is_led(other);
                if let Some(other) = answer.ok().filter(is_useful) {
                    self.first.set(place);
                    seen = other;
                    break;
                }
            }
        }
        let Some(member) = seen.members.iter().find(|member| member.is_coordinator) else {
            let what = "the cluster has no coordinator now; see `bellwether status`, and try again";
            return Err(Failure::Exit(NO_COORDINATOR, what.to_owned()));
        };
        let address = match &member.http {
            _ if member.id == seen.id => self.members[self.first.get()].clone(),
            Some(http) => Address::parse(http)?,
            None => {
                let what = format!(
                    "P{} is the coordinator, and its HTTP address is not in the configuration; give it",
                    member.id
                );
                return Err(Failure::flag("address", what));
            }
        };
        Ok((Link::new(address), member.id))
    }
}
