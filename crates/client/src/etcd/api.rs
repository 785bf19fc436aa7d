//! etcd's calls, as they are needed here.

use super::grpc::{Answers, Channel, Fault, Questions};
use super::keys::after;
use bellwether_api::etcd::{
    AuthenticateRequest, AuthenticateResponse, Compare, DeleteRangeRequest, DeleteRangeResponse,
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    LeaseRevokeRequest, LeaseRevokeResponse, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse,
    PutRequest, RangeRequest, RangeResponse, RequestOp, StatusRequest, StatusResponse, TxnRequest,
    TxnResponse, WatchCancelRequest, WatchCreateRequest, WatchRequest, WatchResponse, compare,
    range_request, request_op, response_op, watch_create_request, watch_request,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

impl Channel {
    pub(crate) async fn status(&self) -> Result<StatusResponse, Fault> {
        self.unary("etcdserverpb.Maintenance/Status", &StatusRequest {}).await
    }

    pub(crate) async fn authenticate(
        &self,
        name: String,
        password: String,
    ) -> Result<AuthenticateResponse, Fault> {
        let ask = AuthenticateRequest { name, password };
        self.unary("etcdserverpb.Auth/Authenticate", &ask).await
    }

    pub(crate) async fn grant(&self, id: i64, ttl: i64) -> Result<LeaseGrantResponse, Fault> {
        self.unary("etcdserverpb.Lease/LeaseGrant", &LeaseGrantRequest { ttl, id }).await
    }

    pub(crate) async fn revoke(&self, id: i64) -> Result<LeaseRevokeResponse, Fault> {
        self.unary("etcdserverpb.Lease/LeaseRevoke", &LeaseRevokeRequest { id }).await
    }

    pub(crate) async fn time_to_live(&self, id: i64) -> Result<LeaseTimeToLiveResponse, Fault> {
        self.unary("etcdserverpb.Lease/LeaseTimeToLive", &LeaseTimeToLiveRequest { id }).await
    }

    /// By default linearizable, as the calls below.
    pub(crate) async fn range(&self, ask: &RangeRequest) -> Result<RangeResponse, Fault> {
        self.unary("etcdserverpb.KV/Range", ask).await
    }

    pub(crate) async fn delete(&self, key: &str) -> Result<i64, Fault> {
        let ask = DeleteRangeRequest { key: key.into(), range_end: Vec::new() };
        let done: DeleteRangeResponse = self.unary("etcdserverpb.KV/DeleteRange", &ask).await?;
        Ok(done.deleted)
    }

    pub(crate) async fn txn(&self, ask: &TxnRequest) -> Result<TxnResponse, Fault> {
        self.unary("etcdserverpb.KV/Txn", ask).await
    }

    pub(crate) async fn keep_alives(
        &self,
    ) -> Result<
        (Questions<LeaseKeepAliveRequest>, super::grpc::ComingAnswers<LeaseKeepAliveResponse>),
        Fault,
    > {
        self.stream("etcdserverpb.Lease/LeaseKeepAlive").await
    }
}

/// All keys that begin with this.
pub(crate) fn all(prefix: &str) -> RangeRequest {
    RangeRequest { key: prefix.into(), range_end: after(prefix), ..RangeRequest::default() }
}

/// The newest of them, as many as said; created by this revision, if one is given.
pub(crate) fn newest(prefix: &str, limit: i64, max_create_revision: i64) -> RangeRequest {
    RangeRequest {
        limit,
        sort_order: range_request::SortOrder::Descend.into(),
        sort_target: range_request::SortTarget::Create.into(),
        keys_only: true,
        max_create_revision,
        ..all(prefix)
    }
}

/// The oldest of them.
pub(crate) fn oldest(prefix: &str) -> RangeRequest {
    RangeRequest {
        sort_order: range_request::SortOrder::Ascend.into(),
        sort_target: range_request::SortTarget::Create.into(),
        ..all(prefix)
    }
}

/// That a key was created at this revision; never, if it is 0.
pub(crate) fn created(key: &str, revision: i64) -> Compare {
    Compare {
        result: compare::Result::Equal.into(),
        target: compare::Target::Create.into(),
        key: key.into(),
        target_union: Some(compare::TargetUnion::CreateRevision(revision)),
    }
}

pub(crate) fn get(ask: RangeRequest) -> RequestOp {
    RequestOp { request: Some(request_op::Request::Range(ask)) }
}

pub(crate) fn put(key: &str, value: &[u8], lease: i64) -> RequestOp {
    let ask = PutRequest { key: key.into(), value: value.to_vec(), lease };
    RequestOp { request: Some(request_op::Request::Put(ask)) }
}

/// The ranges among the answers of a transaction.
pub(crate) fn ranges(answer: TxnResponse) -> impl Iterator<Item = RangeResponse> {
    answer.responses.into_iter().filter_map(|one| match one.response {
        Some(response_op::Response::Range(range)) => Some(range),
        _ => None,
    })
}

/// The watches of a connection: one stream for all of them.
pub(crate) struct Watches {
    questions: Mutex<Questions<WatchRequest>>,
    routes: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    last: i64,
    by_id: BTreeMap<i64, mpsc::UnboundedSender<WatchResponse>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watches {
    /// Opens the stream. What becomes of it is the result of the future: it completes when the stream ends.
    pub(crate) async fn open(
        channel: &Channel,
    ) -> Result<(Arc<Watches>, impl Future<Output = Fault> + Send + use<>), Fault> {
        let (questions, answers) = channel.stream("etcdserverpb.Watch/Watch").await?;
        let watches =
            Arc::new(Watches { questions: Mutex::new(questions), routes: Mutex::default() });
        let reader = {
            let watches = watches.clone();
            async move {
                let fault = match answers.begin().await {
                    Ok(answers) => watches.route(answers).await,
                    Err(fault) => fault,
                };
                // A watch that ends is not waited for.
                locked(&watches.routes).by_id.clear();
                fault
            }
        };
        Ok((watches, reader))
    }

    async fn route(&self, mut answers: Answers<WatchResponse>) -> Fault {
        loop {
            match answers.next().await {
                Ok(Some(answer)) => {
                    let mut routes = locked(&self.routes);
                    let (id, canceled) = (answer.watch_id, answer.canceled);
                    if let Some(route) = routes.by_id.get(&id) {
                        let _ = route.send(answer);
                    }
                    if canceled {
                        routes.by_id.remove(&id);
                    }
                }
                Ok(None) => return Fault::Broken("it ended all watches".to_owned()),
                Err(fault) => return fault,
            }
        }
    }

    /// Watches keys from this revision on; only deletions, if that is enough.
    pub(crate) fn watch(
        self: &Arc<Self>,
        key: &str,
        range_end: Vec<u8>,
        start_revision: i64,
        deletions: bool,
    ) -> Result<Watcher, Fault> {
        let (route, answers) = mpsc::unbounded_channel();
        let id = {
            let mut routes = locked(&self.routes);
            routes.last += 1;
            let id = routes.last;
            routes.by_id.insert(id, route);
            id
        };
        let filters = match deletions {
            true => vec![watch_create_request::FilterType::Noput.into()],
            false => Vec::new(),
        };
        let ask = WatchCreateRequest {
            key: key.into(),
            range_end,
            start_revision,
            filters,
            watch_id: id,
        };
        let watcher = Watcher { watches: self.clone(), id, answers };
        self.say(watch_request::Request::Create(ask))?;
        Ok(watcher)
    }

    fn say(&self, request: watch_request::Request) -> Result<(), Fault> {
        locked(&self.questions).send(&WatchRequest { request: Some(request) })
    }
}

/// One watch; it ends when this is dropped.
pub(crate) struct Watcher {
    watches: Arc<Watches>,
    id: i64,
    answers: mpsc::UnboundedReceiver<WatchResponse>,
}

impl Watcher {
    /// The next events. `None` if there will be none: the stream has ended, or the revision is forgotten.
    pub(crate) async fn next(&mut self) -> Option<WatchResponse> {
        loop {
            let answer = self.answers.recv().await?;
            if answer.canceled {
                return None;
            }
            if !answer.events.is_empty() {
                return Some(answer);
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if locked(&self.watches.routes).by_id.remove(&self.id).is_some() {
            let ask = WatchCancelRequest { watch_id: self.id };
            // A stream that has ended has no watches.
            let _ = self.watches.say(watch_request::Request::Cancel(ask));
        }
    }
}
