//! The commands.

use crate::coordination::sessions::Sessions;
use crate::watching::{self, AskArgs};
use bellwether_api::json::Status;
use bellwether_http::Extra;
use bellwether_shell::{Failure, Verdict, commands};
use clap::Subcommand;

commands! {
    /// The commands that run members.
    pub struct ServerCommand(Server);
}

commands! {
    /// The commands that ask members, and those that run jobs as their clients.
    pub struct ClientCommand(Client);
}

#[derive(Subcommand)]
enum Server {
    /// Run one member of a real cluster
    Node(Box<crate::node::NodeArgs>),
    /// Start a whole cluster on this machine, watch it and break it
    Up(Box<crate::up::args::UpArgs>),
    /// One of the members that `up` starts
    #[command(hide = true)]
    UpMember(crate::up::args::UpMemberArgs),
}

impl ServerCommand {
    /// Carries the command out. The members' HTTP servers serve the extra routes as well.
    pub fn run(self, extra: Extra) -> Result<Verdict, Failure> {
        match self.0 {
            Server::Node(args) => crate::node::run(&args, extra),
            Server::Up(args) => crate::up::run(&args, extra),
            Server::UpMember(args) => crate::up::member::run(&args, extra),
        }
    }
}

#[derive(Subcommand)]
enum Client {
    /// Make a certificate authority and certificates for development
    Certs(crate::certs::CertsArgs),
    /// Show the coordinator, since when it leads and why
    Status(AskArgs),
    /// List the members, their health and their clocks; add, promote, remove or replace one
    Members(Box<crate::membership::MembersArgs>),
    /// Write the state of a running cluster to a file
    Backup(crate::backup::BackupArgs),
    /// Make the data folder of a member of a new cluster from a backup
    Restore(crate::backup::RestoreArgs),
    /// Show what a data folder holds
    Inspect(crate::backup::InspectArgs),
    /// Run a command only while it leads a role
    Campaign(Box<crate::running::args::CampaignArgs>),
    /// Run a command only while it holds a lock
    Lock(Box<crate::running::args::LockArgs>),
    /// Keeps the job of `campaign` or `lock`
    #[command(hide = true)]
    Keep(crate::running::keeper::KeepArgs),
    /// Becomes the job of `campaign` or `lock`
    #[command(hide = true)]
    Become(crate::running::keeper::BecomeArgs),
    /// List the sessions of clients: what they hold, wait for and lead
    Sessions(AskArgs),
    /// List the roles: leader, candidates, and the reason of the last change
    Roles(crate::coordination::roles::RolesArgs),
    /// List the locks with holders and waiting sessions; or force-release one
    Locks(crate::coordination::locks::LocksArgs),
    /// List the deadlocks that were found, and the sessions that wait now
    Deadlocks(crate::coordination::deadlocks::DeadlocksArgs),
}

impl ClientCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Verdict, Failure> {
        match self.0 {
            Client::Certs(args) => crate::certs::run(&args),
            Client::Status(args) => watching::run::<Status>(&args),
            Client::Members(args) => crate::membership::run(&args),
            Client::Backup(args) => crate::backup::backup(&args),
            Client::Restore(args) => crate::backup::restore(&args),
            Client::Inspect(args) => crate::backup::inspect_folder(&args),
            Client::Campaign(args) => crate::running::campaign::run(&args),
            Client::Lock(args) => crate::running::lock::run(&args),
            Client::Keep(args) => crate::running::keeper::keep(&args),
            Client::Become(args) => crate::running::keeper::become_job(&args),
            Client::Sessions(args) => watching::run::<Sessions>(&args),
            Client::Roles(args) => crate::coordination::roles::run(&args),
            Client::Locks(args) => crate::coordination::locks::run(&args),
            Client::Deadlocks(args) => crate::coordination::deadlocks::run(&args),
        }
    }
}
