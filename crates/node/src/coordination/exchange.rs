//! An exchange to the coordinator on behalf of an HTTP client.
//!
//! It is a client like any other, for one request. What is not answered is asked again: answers go
//! to where a session was last heard of, and that may have been another exchange. With the same
//! number nothing is done twice.

use super::look::look;
use super::numbers::{self, Numbered, REMEMBERED};
use super::refusals::{
    denied, ended, force_released, no_coordinator, refused, unanswered, unknown,
};
use crate::about::{ANSWERS_WITHIN, About};
use crate::clients::{Coordinator, Note, Visitor};
use bellwether_coordination::{Answer, Ask, Number, Refusal, Reply, Request, Secret, SessionId};
use bellwether_coordination::{Subject, Token};
use bellwether_http::ErrorResponse;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// What is not answered is asked again after this time.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// The longest wait for one answer.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);
/// How often a number that is too small is drawn again.
const DRAWS: usize = 3;

/// One exchange.
pub(super) struct Exchange<'a> {
    about: &'a About,
    visitor: Visitor,
    /// The coordinator, as far as is known.
    known: Coordinator,
    /// Grants that no client could ask for again if the exchange ended now: to be released then.
    orphan: Option<(Own, Numbered)>,
}

/// A session, and the key that was shown for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) id: SessionId,
    pub(super) key: Secret,
}

/// Whether a request is asked again if there is no answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retry {
    Always,
    /// The same, but one that is known to wait becomes no further entry of the log: a sign of life is enough.
    UnlessItWaits,
    /// Only if it is known that nothing was done.
    IfUndone,
}

/// There is no answer.
enum Missed {
    /// Nothing was done.
    Undone,
    /// It may have been done or not.
    Unknown,
}

/// What came of an [`Ask`]; or that the session is gone.
type Answered = Result<Result<Answer, Refusal>, Gone>;

/// The session is no more, or is another's.
struct Gone(Reply);

/// Whether what a session holds was given up.
pub(super) enum Given {
    Done,
    /// Its client was told. It is when the client has stopped, and at the latest after this time.
    Within(Duration),
}

impl<'a> Exchange<'a> {
    pub(super) fn new(about: &'a About) -> Self {
        let known = about.requests.coordinator();
        Exchange { about, visitor: about.requests.open_passing(), known, orphan: None }
    }

    /// Begins a session, or finds it.
    pub(super) async fn open(
        mut self,
        key: Secret,
        client: String,
        ttl_ms: u64,
    ) -> Result<SessionId, ErrorResponse> {
        let request = Request::Open { key, client, ttl_ms, sent: 0 };
        let pick = |reply| match reply {
            Reply::Opened { key: this, result, .. } if this == key => Some(result),
            _ => None,
        };
        self.fetch(&request, Retry::Always, pick).await?.map_err(|refusal| refused(&refusal))
    }

    /// Keeps a session alive.
    pub(super) async fn keep_alive(mut self, own: Own) -> Result<(), ErrorResponse> {
        let Own { id: session, key } = own;
        let request = Request::KeepAlive { session, key, sent: 0 };
        let pick = |reply| match reply {
            Reply::KeptAlive { session: this, .. } => (this == session).then_some(Ok(())),
            Reply::ForceReleased { session: this, lock, number, by } => {
                (this == session).then_some(Err(Err((lock, number, by))))
            }
            reply => gone(reply, session).map(|gone| Err(Ok(gone))),
        };
        match self.fetch(&request, Retry::Always, pick).await? {
            Ok(()) => Ok(()),
            Err(Ok(gone)) => Err(self.lost(session, gone).await),
            Err(Err((lock, number, by))) => Err(force_released(&lock, number, &by)),
        }
    }

    /// Ends a session. Its own client, if it listens elsewhere, has to stop first.
    pub(super) async fn close(self, own: Own) -> Result<Given, ErrorResponse> {
        self.finish(Request::Close { session: own.id, key: own.key }, own.id).await
    }

    /// Ends a session for an operator. Its client has to stop first, unless it is to end `now`.
    pub(super) async fn end(
        self,
        session: SessionId,
        by: String,
        now: bool,
    ) -> Result<Given, ErrorResponse> {
        self.finish(Request::End { session, by, now }, session).await
    }

    async fn finish(
        mut self,
        request: Request,
        session: SessionId,
    ) -> Result<Given, ErrorResponse> {
        let gone = self.fetch(&request, Retry::Always, |reply| gone(reply, session)).await;
        match gone {
            Ok(Gone(Reply::Ended { why: Some(_), .. })) => Ok(Given::Done),
            Ok(gone) => Err(self.lost(session, gone).await),
            Err(refused) => {
                let ttl = look(self.about, move |coordination, _| {
                    coordination.sessions().get(&session).map(|session| session.ttl_ms)
                });
                self.given_later(ttl.await.ok().flatten(), refused)
            }
        }
    }

    /// Takes a lock away from a session. Its client has to stop first, unless the lock is to go to the
    /// next `now`.
    pub(super) async fn force(
        mut self,
        lock: String,
        session: SessionId,
        by: String,
        now: bool,
    ) -> Result<Given, ErrorResponse> {
        let request = Request::Force { lock: lock.clone(), session, by, now };
        let pick = |reply| match reply {
            Reply::Forced { lock: this, session: holder, result } => {
                (this == lock && holder == session).then_some(result)
            }
            _ => None,
        };
        match self.fetch(&request, Retry::IfUndone, pick).await {
            Ok(Ok(())) => Ok(Given::Done),
            Ok(Err(refusal)) => Err(refused(&refusal)),
            Err(refused) => {
                let ttl = look(self.about, move |coordination, _| {
                    let lock = coordination.locks().get(lock.as_str())?;
                    lock.holders.get(&session)?;
                    coordination.sessions().get(&session).map(|session| session.ttl_ms)
                });
                self.given_later(ttl.await.ok().flatten(), refused)
            }
        }
    }

    /// What has not been given up in time is given up when the holder's time is over, if a coordinator
    /// knows of it.
    fn given_later(
        &self,
        ttl_ms: Option<u64>,
        refused: ErrorResponse,
    ) -> Result<Given, ErrorResponse> {
        match (ttl_ms, self.about.requests.coordinator().id) {
            (Some(ttl_ms), Some(_)) => Ok(Given::Within(Duration::from_millis(ttl_ms))),
            _ => Err(refused),
        }
    }

    /// The session that holds something by a token.
    pub(super) async fn check(
        mut self,
        of: Subject,
        token: Token,
    ) -> Result<SessionId, ErrorResponse> {
        // It asks nothing else.
        let request = Request::Check { number: 0, of, token };
        let pick = |reply| match reply {
            Reply::Checked { result, .. } => Some(result),
            _ => None,
        };
        let result = self.fetch(&request, Retry::Always, pick).await?;
        result.map_err(|refusal| refused(&refusal))
    }

    /// Asks for something that is answered at once.
    pub(super) async fn ask(
        mut self,
        own: Own,
        given: Option<u64>,
        ask: Ask,
    ) -> Result<(), ErrorResponse> {
        self.wait(own, given, ask, Duration::ZERO).await.map(drop)
    }

    /// Gives back what a request was granted.
    pub(super) async fn release(
        mut self,
        own: Own,
        granted: Numbered,
    ) -> Result<(), ErrorResponse> {
        let ask = Ask::Release(granted.number());
        let answer = self.answer(own, granted.release(), 0, ask, Duration::ZERO).await?;
        answer.map(drop).map_err(|refusal| refused(&numbers::shown(refusal)))
    }

    /// Asks for locks, and gives up when it has waited this long. The number of the request and
    /// its token.
    pub(super) async fn lock(
        mut self,
        own: Own,
        given: Option<u64>,
        ask: Ask,
        wait: Duration,
    ) -> Result<(u64, u64), ErrorResponse> {
        let (numbered, answer) = self.wait(own, given, ask.clone(), wait).await?;
        let mut answer = Ok(answer);
        if let Ok(Answer::Waits { .. }) = answer {
            let give_up = Ask::GiveUp(numbered.number());
            let given_up = self.answer(own, numbered.give_up(), 0, give_up, Duration::ZERO).await?;
            answer = match given_up {
                Ok(_) => Err(Refusal::GaveUp),
                // It was decided in the meantime.
                Err(_) => self.answer(own, numbered.number(), 0, ask, Duration::ZERO).await?,
            };
        }
        // The caller is still there and gets its number now.
        self.orphan = None;
        match answer {
            Ok(Answer::Granted(token)) => Ok((numbered.shown, token.0)),
            Ok(_) => Err(unanswered()),
            Err(refusal) => Err(refused(&numbers::shown(refusal))),
        }
    }

    /// Asks, and waits this long for more than the answer that the request waits.
    pub(super) async fn wait(
        &mut self,
        own: Own,
        given: Option<u64>,
        ask: Ask,
        wait: Duration,
    ) -> Result<(Numbered, Answer), ErrorResponse> {
        let mut numbered = Numbered::of(given);
        let holds = matches!(ask, Ask::Lock { .. });
        let crowded = self.is_crowded(own.id).await;
        for _ in 0..DRAWS {
            self.orphan = (numbered.drawn && holds).then_some((own, numbered));
            let forget_below = if crowded { numbered.forget_below() } else { 0 };
            let number = numbered.number();
            let answer = self.answer(own, number, forget_below, ask.clone(), wait).await?;
            match (answer, numbered.again()) {
                (Ok(answer), _) => return Ok((numbered, answer)),
                (Err(Refusal::Forgotten(_)), Some(larger)) => numbered = larger,
                (Err(refusal), _) => {
                    self.orphan = None;
                    return Err(refused(&numbers::shown(refusal)));
                }
            }
        }
        self.orphan = None;
        Err(refused(&Refusal::Forgotten(numbered.shown)))
    }

    /// Whether much is remembered for a session.
    async fn is_crowded(&self, session: SessionId) -> bool {
        let seen = look(self.about, move |coordination, _| {
            let session = coordination.sessions().get(&session);
            session.is_some_and(|session| session.remembered() as u64 >= REMEMBERED)
        });
        seen.await.unwrap_or_default()
    }

    /// Asks under this number, and waits this long for more than the answer that the request waits.
    async fn answer(
        &mut self,
        own: Own,
        number: Number,
        forget_below: Number,
        ask: Ask,
        wait: Duration,
    ) -> Result<Result<Answer, Refusal>, ErrorResponse> {
        let Own { id: session, key } = own;
        let request = Request::Ask { session, key, number, forget_below, ask };
        let of_this = |reply| -> Option<Answered> {
            match reply {
                Reply::Answered { session: this, number: that, result } => {
                    (this == session && that == number).then_some(Ok(result))
                }
                reply => gone(reply, session).map(Err),
            }
        };
        let until = Instant::now() + wait.min(WAIT_MAX);
        let first = match self.fetch(&request, Retry::Always, of_this).await? {
            Ok(first) => first,
            Err(gone) => return Err(self.lost(session, gone).await),
        };
        if !matches!(first, Ok(Answer::Waits { .. })) || wait.is_zero() {
            return Ok(first);
        }
        let last = |reply| of_this(reply).filter(|answer| !waits(answer));
        match self.fetch_until(&request, Retry::UnlessItWaits, until, last).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(gone)) => Err(self.lost(session, gone).await),
            Err(_) => Ok(first),
        }
    }

    /// What to send instead of a request that waits, by this member's committed entries. It keeps the session
    /// alive, as asking again would, and makes the answer come here.
    async fn sign_of_life(&self, request: &Request) -> Option<Request> {
        let Request::Ask { session, key, number, .. } = *request else { return None };
        let waits = look(self.about, move |coordination, _| {
            matches!(coordination.answered(session, number), Some(Ok(Answer::Waits { .. })))
        });
        let waits = waits.await.unwrap_or_default();
        waits.then_some(Request::KeepAlive { session, key, sent: 0 })
    }

    /// Says that a session is gone, or never was, or is another's.
    async fn lost(&mut self, session: SessionId, Gone(reply): Gone) -> ErrorResponse {
        self.orphan = None;
        let why = match reply {
            Reply::Denied { .. } => return denied(session),
            Reply::Ended { why, .. } => why,
            Reply::Ending { why, .. } => Some(why),
            _ => None,
        };
        let has_been = match why {
            Some(_) => true,
            None => {
                let seen = look(self.about, move |coordination, _| coordination.has_been(session));
                seen.await.unwrap_or_default()
            }
        };
        if has_been { ended(session, why) } else { unknown(&session.to_string()) }
    }

    /// Sends a request, and waits as long as is usual for what is picked of the replies.
    async fn fetch<T>(
        &mut self,
        request: &Request,
        retry: Retry,
        pick: impl FnMut(Reply) -> Option<T>,
    ) -> Result<T, ErrorResponse> {
        let until = Instant::now() + ANSWERS_WITHIN;
        match self.fetch_until(request, retry, until, pick).await {
            Ok(answer) => Ok(answer),
            Err(Missed::Undone) => {
                let status = self.about.ask().await;
                Err(no_coordinator(status.and_then(|status| self.about.why_no_mandate(&status))))
            }
            Err(Missed::Unknown) => Err(unanswered()),
        }
    }

    async fn fetch_until<T>(
        &mut self,
        request: &Request,
        retry: Retry,
        until: Instant,
        mut pick: impl FnMut(Reply) -> Option<T>,
    ) -> Result<T, Missed> {
        self.visitor.submit(request.clone());
        // Whether what was sent last is known not to have been done, and all before it too.
        let (mut undone, mut all_undone) = (false, true);
        let mut again = Instant::now() + AGAIN_AFTER;
        loop {
            match timeout_at(again.min(until), self.visitor.next()).await {
                Ok(Some(Note::Reply(Reply::NoCoordinator))) => undone = true,
                Ok(Some(Note::Reply(reply))) => {
                    if let Some(answer) = pick(reply) {
                        return Ok(answer);
                    }
                }
                Ok(Some(Note::Coordinator(news))) => {
                    // One that has come is asked as soon as it is there.
                    if news.id.is_some() && news != self.known {
                        again = Instant::now();
                    }
                    self.known = news;
                }
                Ok(Some(Note::Members(..))) => {}
                Ok(None) => return Err(Missed::Unknown),
                Err(_) if Instant::now() >= until => {
                    let nothing = undone && all_undone;
                    return Err(if nothing { Missed::Undone } else { Missed::Unknown });
                }
                Err(_) => {
                    again = Instant::now() + AGAIN_AFTER;
                    if undone || retry != Retry::IfUndone {
                        all_undone &= undone;
                        undone = false;
                        let waits = match retry {
                            Retry::UnlessItWaits => self.sign_of_life(request).await,
                            _ => None,
                        };
                        self.visitor.submit(waits.unwrap_or_else(|| request.clone()));
                    }
                }
            }
        }
    }
}

impl Drop for Exchange<'_> {
    /// The client has hung up, and no other knows the number: what was granted to it, or may
    /// yet be, would be lost until the session ends.
    fn drop(&mut self) {
        let Some((Own { id: session, key }, numbered)) = self.orphan else { return };
        let request = numbered.number();
        for (number, ask) in [
            (numbered.give_up(), Ask::GiveUp(request)),
            (numbered.release(), Ask::Release(request)),
        ] {
            self.visitor.submit(Request::Ask { session, key, number, forget_below: 0, ask });
        }
    }
}

/// The reply, if it says that the session is no more, or is another's.
fn gone(reply: Reply, session: SessionId) -> Option<Gone> {
    let over = matches!(
        &reply,
        Reply::Ended { session: this, .. }
        | Reply::Ending { session: this, .. }
        | Reply::Denied { session: this, .. } if *this == session
    );
    over.then_some(Gone(reply))
}

fn waits(answer: &Answered) -> bool {
    matches!(answer, Ok(Ok(Answer::Waits { .. })))
}
