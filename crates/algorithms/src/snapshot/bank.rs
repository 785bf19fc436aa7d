//! A bank of which snapshots are taken: every process keeps an account and pays the others.
//!
//! The amount of money never changes. If you ask one account after the other, you miss money on the
//! way, and you count money twice that moves from an account that you have asked to one that you
//! have not. The sum over a snapshot is always right. The example is the paper's own.
//!
//! # Rules
//! * B1 To pay: the account has less, and the other gets a message with the amount. A process never
//!   pays more than it has.
//! * B2 A payment comes: the account has more.
//! * B3 Work is a payment whose receiver and amount follow from the payer and the number of its
//!   payments so far: they look random, and a run can be repeated.
//!
//! # Assumes
//! Channels lose and double nothing, or money disappears or is made. The order does not matter.
//!
//! # Costs
//! One message a payment.

use crate::definition::{Algorithm, Definition, Entry, Quantity, Settings, Topology};
use crate::options::{BadOption, Opt};
use crate::show::ProcessView;
use bellwether_core::{Assumptions, Channels, Context, Goal, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// What travels: money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer(pub u64);

impl Message for Transfer {
    fn kind(&self) -> Kind {
        Kind::protocol("TRANSFER")
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TRANSFER({})", self.0)
    }
}

/// What can be asked of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// Pay a process.
    Transfer {
        /// Whom.
        to: NodeId,
        /// How much.
        amount: u64,
    },
    /// Pay a process something.
    Work,
}

/// What a process says: that a payment cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// There is not so much in the account.
    Short {
        /// What was to be paid.
        wanted: u64,
        /// What there is.
        has: u64,
    },
    /// There is no such account to pay to, or it is the payer's own.
    NoOtherAccount(NodeId),
    /// On a ring, money goes to the next only.
    NotNext(NodeId),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Short { wanted, has } => write!(f, "cannot pay {wanted}: it has {has}"),
            Output::NoOtherAccount(id) => write!(f, "cannot pay {id}: that is no other account"),
            Output::NotNext(id) => write!(f, "cannot pay {id}: that is not the next on the ring"),
        }
    }
}

/// What is fixed for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What every account has at the beginning.
    pub balance: u64,
    /// Whether money goes to the next on the ring only.
    pub ring: bool,
    /// T.
    pub timeout: Duration,
}

/// One account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bank {
    balance: u64,
    /// How often it has worked.
    worked: u64,
}

type Cx<'a> = Context<'a, Bank>;

impl Process for Bank {
    type Msg = Transfer;
    type Timer = ();
    type Input = Input;
    type Output = Output;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        self.balance = cx.config().balance;
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Transfer { to, amount } => self.pay(to, amount, cx),
            Input::Work => self.work(cx),
        }
    }

    fn on_message(&mut self, _: NodeId, Transfer(amount): Transfer, cx: &mut Cx<'_>) {
        cx.rule("B2");
        self.balance = self.balance.saturating_add(amount);
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Bank {
    /// B1.
    fn pay(&mut self, to: NodeId, amount: u64, cx: &mut Cx<'_>) {
        cx.rule("B1");
        if to == cx.me() || !cx.group().contains(to) {
            cx.emit(Output::NoOtherAccount(to));
        } else if cx.config().ring && to != cx.group().after(cx.place(), 1) {
            cx.emit(Output::NotNext(to));
        } else if let Some(rest) = self.balance.checked_sub(amount) {
            self.balance = rest;
            cx.send(to, Transfer(amount));
        } else {
            cx.emit(Output::Short { wanted: amount, has: self.balance });
        }
    }

    /// B3. A process that is alone has no other to pay.
    fn work(&mut self, cx: &mut Cx<'_>) {
        cx.rule("B3");
        let others = cx.group().len() as u64 - 1;
        if others == 0 {
            return;
        }
        let dice = scramble(u64::from(cx.me().number()) << 32 ^ self.worked);
        self.worked = self.worked.wrapping_add(1);
        let steps = if cx.config().ring { 1 } else { 1 + (dice >> 32) % others };
        let amount = 1 + (dice & 0xffff_ffff) % (self.balance / 2).max(1);
        self.pay(cx.group().after(cx.place(), steps as usize), amount, cx);
    }

    /// What is in the account.
    pub fn balance(&self) -> u64 {
        self.balance
    }
}

/// The last step of splitmix64: every bit of the result depends on every bit of the number.
fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What an account has by default.
const BALANCE: u64 = 100;
/// No account may have more: the sum over all of them is far from overflow.
const BALANCE_MAX: u64 = 1_000_000_000;

pub(super) const BALANCE_OPTION: Opt = Opt {
    name: "balance",
    value: Some("AMOUNT"),
    help: "what every account of the bank has at the beginning; 100 if not given",
};

/// Whether there are only the channels of a ring.
pub(super) fn is_ring(settings: &Settings) -> bool {
    settings.options.text("channels") == Some("ring")
}

fn balance(settings: &Settings) -> Result<u64, BadOption> {
    match settings.options.number("balance", BALANCE)? {
        balance if balance > BALANCE_MAX => Err(BadOption {
            option: "balance",
            why: format!("{balance} is too much for an account; at most {BALANCE_MAX}"),
        }),
        balance => Ok(balance),
    }
}

impl Algorithm for Bank {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: Self::NAME,
            family: "snapshot",
            title: "Bank",
            source: "Chandy and Lamport, ACM TOCS 3(1), 1985",
            cost: "1 a payment",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("bank.rs"),
            example: "",
        };
        Definition::<Self>::new(entry, |settings, _| Config {
            balance: balance(settings).unwrap_or(BALANCE),
            ring: is_ring(settings),
            timeout: settings.timeout,
        })
        .options(&[BALANCE_OPTION])
        .checks(|settings, _| balance(settings).map(drop))
        .verbs(&["work", "transfer:TO:AMOUNT"], Self::input, Self::verb)
        .work(|_| true)
        .kinds(&["TRANSFER"])
        .goal(Goal::new("paid", "every payment has come", |_| true))
        // A payment is one message. Should it be late, there is plenty of time.
        .settles_within(|config, _, _| config.timeout.saturating_mul(100))
        .conserves(
            |config, group| {
                let total = config.balance.saturating_mul(group.len() as u64);
                Some(Quantity { name: "money", place: "in accounts", total })
            },
            |bank| Some(bank.balance),
            |transfer| transfer.0,
        )
        .view(|bank, _, _| ProcessView::new(format!("has {}", bank.balance)))
        .note(|bank| format!("has {}", bank.balance))
    }
}

impl Bank {
    pub(super) const NAME: &str = "bank";

    fn input(verb: &str) -> Option<Input> {
        if verb == "work" {
            return Some(Input::Work);
        }
        let (to, amount) = verb.strip_prefix("transfer:")?.split_once(':')?;
        let to = NodeId::new(to.parse().ok()?);
        Some(Input::Transfer { to, amount: amount.parse().ok().filter(|amount| *amount > 0)? })
    }

    fn verb(input: &Input) -> Cow<'static, str> {
        match input {
            Input::Work => Cow::Borrowed("work"),
            Input::Transfer { to, amount } => format!("transfer:{}:{amount}", to.number()).into(),
        }
    }
}
