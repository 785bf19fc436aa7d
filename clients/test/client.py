"""A client that openapi-python-client made of a member's document, against a running cluster."""

import sys
import threading

import httpx
from bellwether_member import AuthenticatedClient, Client
from bellwether_member.api.orders import campaign, close, keep_alive, lock, open_, release, resign
from bellwether_member.api.reads import sessions
from bellwether_member.models import (
    CampaignOrder, Coordination, Done, Granted, KeptAlive, LockOrder, OpenSession, Opened, Problem,
    ResignOrder, RoleStatus, Wanted,
)

address = sys.argv[1]


def session(name: str):
    opened = open_.sync(client=Client(base_url=address), body=OpenSession(client=name, ttl_ms=10_000))
    assert isinstance(opened, Opened), opened
    return opened.session, AuthenticatedClient(base_url=address, token=opened.key)


one, as_one = session("python one")
other, as_other = session("python other")
assert isinstance(keep_alive.sync(one, client=as_one), KeptAlive)
listed = sessions.sync(client=Client(base_url=address))
assert isinstance(listed, Coordination) and one in [each.session for each in listed.sessions]

# A lock: busy, waited for, released.
order = LockOrder(locks=[Wanted(name="python")], wait_ms=0)
held = lock.sync(one, client=as_one, body=order)
assert isinstance(held, Granted), held
busy = lock.sync_detailed(other, client=as_other, body=order)
assert busy.status_code == 409 and isinstance(busy.parsed, Problem) and busy.parsed.code == "busy", busy
found = []
wait = LockOrder(locks=[Wanted(name="python")], wait_ms=20_000)
waits = threading.Thread(target=lambda: found.append(lock.sync(other, client=as_other.with_timeout(httpx.Timeout(30)), body=wait)))
waits.start()
assert isinstance(release.sync(one, held.number, client=as_one), Done)
waits.join(30)
assert isinstance(found[0], Granted) and found[0].token > held.token, found

# A role, and a stream of its changes.
leads = campaign.sync("python role", client=as_one, body=CampaignOrder(session=one, value="v"))
assert isinstance(leads, RoleStatus) and leads.leads, leads
with httpx.stream("GET", f"{address}/v1/roles/python%20role/watch", timeout=30) as stream:
    data = next(line for line in stream.iter_lines() if line.startswith("data:"))
    assert '"value":"v"' in data, data
assert isinstance(resign.sync("python role", client=as_one, body=ResignOrder(session=one)), Done)

# Errors have codes.
stolen = keep_alive.sync_detailed(one, client=as_other)
assert stolen.status_code == 403 and stolen.parsed.code == "wrong-key", stolen
assert isinstance(close.sync(one, client=as_one), Done)
over = keep_alive.sync_detailed(one, client=as_one)
assert over.status_code == 410 and over.parsed.code == "no-session", over
close.sync(other, client=as_other)
print("Python: session, lock, wait, release, campaign, watch and errors work")
