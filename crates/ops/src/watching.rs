//! Showing what a member says: once, or again and again.

use crate::asking::{Reply, Unanswered};
use crate::whom::Whom;
use bellwether_shell::{Failure, Verdict, harmless, print};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IsTerminal};
use std::time::Duration;
use tokio::runtime::Runtime;

/// What all commands that ask a member have in common.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The HTTP address of any member [default: those of `bellwether up`, or of an installed
    /// member: 127.0.0.1:7480]; or an etcd cluster: etcd://HOST:PORT,.../PREFIX
    #[arg(long, value_name = "HOST:PORT", env = "BELLWETHER_HTTP")]
    address: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Repeat every second, or at this interval: redraws on a terminal, and elsewhere prints a line
    /// whenever something changes
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "1s")]
    watch: Option<String>,
}

impl AskArgs {
    /// The member that was named, if one was.
    pub(crate) fn named(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Who is asked.
    pub(crate) fn whom(&self) -> Result<Whom, Failure> {
        Whom::find(self.address.as_deref())
    }

    /// Prints an answer, as JSON or for people.
    pub(crate) fn print(
        &self,
        answer: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<Verdict, Failure> {
        let json = || format!("{}\n", serde_json::to_string_pretty(answer).unwrap_or_default());
        print(&if self.json { json() } else { harmless(&text()).into_owned() })?;
        Ok(Verdict::Well)
    }

    /// Whether to go on asking.
    pub(crate) fn watches(&self) -> bool {
        self.watch.is_some()
    }
}

/// What a member can be asked for.
pub(crate) trait Shown: Serialize + DeserializeOwned {
    /// Where.
    const PATH: &'static str;
    /// For people.
    fn table(&self) -> String;
    /// What is worth a new line when it changes.
    fn line(&self) -> String;
    /// Whether the member that answers knows a coordinator. Without one, what it tells may be old.
    fn is_coordinated(&self) -> bool;
}

/// There is no coordinator.
const NO_COORDINATOR: u8 = 70;

/// An answer of any kind, so that showing it is compiled once.
trait Answer {
    fn table(&self) -> String;
    fn line(&self) -> String;
    fn is_coordinated(&self) -> bool;
    /// As JSON: on one line, or on as many as are good to read.
    fn json(&self, pretty: bool) -> String;
}

impl<T: Shown> Answer for T {
    fn table(&self) -> String {
        Shown::table(self)
    }

    fn line(&self) -> String {
        Shown::line(self)
    }

    fn is_coordinated(&self) -> bool {
        Shown::is_coordinated(self)
    }

    fn json(&self, pretty: bool) -> String {
        let json =
            if pretty { serde_json::to_string_pretty(self) } else { serde_json::to_string(self) };
        json.unwrap_or_default()
    }
}

/// Where to ask, and how to read the answer.
struct Question {
    path: &'static str,
    read: fn(&Reply) -> Result<Box<dyn Answer>, Unanswered>,
}

impl Question {
    async fn ask(&self, whom: &Whom) -> Result<Box<dyn Answer>, Unanswered> {
        (self.read)(&whom.ask(self.path).await?)
    }
}

/// Asks and shows.
pub(crate) fn run<T: Shown + 'static>(args: &AskArgs) -> Result<Verdict, Failure> {
    show(args, &Question { path: T::PATH, read: |reply| Ok(Box::new(reply.read::<T>()?)) })
}

fn show(args: &AskArgs, question: &Question) -> Result<Verdict, Failure> {
    let whom = args.whom()?;
    let interval = args.watch.as_deref().map(interval).transpose()?;
    runtime()?.block_on(async {
        match interval {
            None => {
                let answer = question.ask(&whom).await?;
                print(&if args.json {
                    format!("{}\n", answer.json(true))
                } else {
                    harmless(&answer.table()).into_owned()
                })?;
                if answer.is_coordinated() {
                    Ok(Verdict::Well)
                } else {
                    Err(Failure::Silent(NO_COORDINATOR))
                }
            }
            Some(interval) if io::stdout().is_terminal() && !args.json => {
                redraw(question, &whom, interval).await
            }
            Some(interval) => follow(question, &whom, interval, args.json).await,
        }
    })
}

/// What runs a command that waits for others. One thread: members end with the thread that started
/// them, so it must be the one that stays.
pub fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Input(format!("cannot start the runtime: {error}")))
}

fn interval(text: &str) -> Result<Duration, Failure> {
    let span = bellwether_algorithms::options::duration(text)
        .map_err(|what| Failure::flag("watch", what))?;
    if span < Duration::from_millis(10) {
        let what = format!("'{text}' is too short an interval; give at least 10ms");
        return Err(Failure::flag("watch", what));
    }
    Ok(span)
}

/// Clears the terminal and draws the answer, for ever.
async fn redraw(question: &Question, whom: &Whom, interval: Duration) -> Result<Verdict, Failure> {
    loop {
        let text = match question.ask(whom).await {
            Ok(answer) => answer.table(),
            Err(unanswered) => format!("{unanswered}\n"),
        };
        let text = harmless(&text);
        print(&format!("\x1b[H\x1b[2J{text}\nevery {interval:?}; Ctrl-C ends\n"))?;
        tokio::time::sleep(interval).await;
    }
}

/// Prints a line whenever something changes, for ever. A member that does not answer is a change
/// too; one that never did is an error.
async fn follow(
    question: &Question,
    whom: &Whom,
    interval: Duration,
    json: bool,
) -> Result<Verdict, Failure> {
    let mut last: Option<String> = None;
    loop {
        let (gist, line) = match question.ask(whom).await {
            Ok(answer) if json => (answer.line(), answer.json(false)),
            Ok(answer) => (answer.line(), answer.line()),
            Err(unanswered) if last.is_none() => return Err(unanswered.into()),
            Err(_) if json => (String::new(), "null".to_owned()),
            Err(unanswered) => (String::new(), unanswered.to_string()),
        };
        if last.as_ref() != Some(&gist) {
            print(&format!("{}\n", harmless(&line)))?;
            last = Some(gist);
        }
        tokio::time::sleep(interval).await;
    }
}
