//! Work that runs on one process at a time.

use crate::finder::{BACK_OFF, jitter};
use crate::{Client, Error, ErrorKind, Leadership, SessionOptions, check};
use std::sync::Arc;
use tokio::time::sleep;

impl Client {
    /// Runs work while this process leads a role: it campaigns, runs the work once it is elected, and stops the work when
    /// leadership is lost. Then it campaigns again, in a new session. When the work completes, it resigns and returns the
    /// result of the work.
    ///
    /// The work is stopped by dropping its future, so it ends at an `await`. Pass [`Leadership::token`] along with
    /// everything that the work does to others.
    ///
    /// If no member or no coordinator answers, it keeps trying. It fails only with what does not pass by itself, such as
    /// [`ErrorKind::InvalidName`]. If you drop its future, it stops the work and resigns.
    ///
    /// ```no_run
    /// use bellwether::{Client, Endpoints};
    /// use std::time::Duration;
    ///
    /// # async fn example() -> Result<(), bellwether::Error> {
    /// let client = Client::connect(Endpoints::from_env_or_default()?).await?;
    /// client
    ///     .lead("cron", |leadership| async move {
    ///         for run in 1..=3 {
    ///             println!("run {run} with token {}", leadership.token());
    ///             tokio::time::sleep(Duration::from_secs(60)).await;
    ///         }
    ///     })
    ///     .await
    /// # }
    /// ```
    pub async fn lead<W: Future>(
        &self,
        role: &str,
        mut work: impl FnMut(Arc<Leadership>) -> W,
    ) -> Result<W::Output, Error> {
        check::name(role)?;
        let mut pause = BACK_OFF.0;
        loop {
            match self.elected(role).await {
                Ok(leadership) => {
                    pause = BACK_OFF.0;
                    let leadership = Arc::new(leadership);
                    let done = tokio::select! {
                        biased;
                        _ = leadership.lost() => None,
                        done = work(leadership.clone()) => Some(done),
                    };
                    if let Some(done) = done {
                        if let Some(leadership) = Arc::into_inner(leadership) {
                            // Leadership that was lost just now is given up, too.
                            let _ = leadership.resign().await;
                        }
                        return Ok(done);
                    }
                }
                Err(error) if passes(error.kind()) => {}
                Err(error) => return Err(error),
            }
            sleep(jitter(pause)).await;
            pause = (2 * pause).min(BACK_OFF.1);
        }
    }

    /// Leads a role in a session of its own.
    async fn elected(&self, role: &str) -> Result<Leadership, Error> {
        let session = self.session(SessionOptions::default()).await?;
        session.campaign(role).await
    }
}

/// Whether it passes when members and network recover.
fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unavailable | ErrorKind::NoCoordinator | ErrorKind::SessionEnded)
}
