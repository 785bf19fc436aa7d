#!/usr/bin/env python3
"""Carries out the tasks of docs/operations.md on a real cluster while clients work, and checks what the clients saw.

usage: packaging/day-two.py BELLWETHER [FOLDER]     the command; and where to keep everything [a temporary folder]

It starts `bellwether node` processes on the loopback interface, one per member. Clients run `bellwether lock NAME -- CMD` again
and again. CMD appends its begin and its end, with its fencing token, to a file. The check reads this file:

- two sections never overlap;
- tokens only grow, also from the old cluster to the restored one;
- a section without an end belongs to a client that reported an error.

One more client campaigns for a role and begins with the address of the first member only. It must lead the role under one token, though
every member that it began with is gone. When the certificates change it is started again with its new one, and leads under one more token
from then on, also in the restored cluster.

A client may fail only because no member answered (exit code 69) or no coordinator was there (70). It then tries again. After the
restore its session may be unknown as well (71, 72). Every other exit code is a failure, and so is a step that does not end.

For every step the table has the longest time without a completed section. Needs Python 3.9 on Linux, and no package.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

CLUSTER = "demo"
MEMBERS = 10
WORKERS = 3
LOCK_TTL = 5
# How long clients work undisturbed before and after a step.
SETTLE = 1.0
# What a section does. /proc/uptime is the clock that a shell can read without another process; its unit is 10 ms.
SECTION = """
read -r up _ < /proc/uptime; echo "begin $SECTION $BELLWETHER_TOKEN $up" >> "$SECTIONS"
sleep 0.01
read -r up _ < /proc/uptime; echo "end $SECTION $BELLWETHER_TOKEN $up" >> "$SECTIONS"
"""
DUTY = 'while :; do echo "$BELLWETHER_TOKEN" >> "$DUTIES"; sleep 0.1; done'
RETRIED = {69, 70}
RETRIED_AFTER_RESTORE = RETRIED | {71, 72}


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Failed(Exception):
    """What a step expected and did not see."""


def until(what, holds, seconds=60.0):
    """Waits until `holds()` is true; what it returns then."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        with contextlib.suppress(OSError, ValueError, KeyError):
            if result := holds():
                return result
        time.sleep(0.02)
    raise Failed(f"{what}: not within {seconds:.0f} s")


class Member:
    """A process of `bellwether node`, and what is needed to start it again."""

    def __init__(self, cluster, number, address, http):
        self.cluster, self.number, self.address, self.http = cluster, number, address, http
        self.data = f"data/{number}"
        self.process = None

    def configure(self, others):
        config = (
            f'cluster = "{CLUSTER}"\nid = {self.number}\nhttp = "{self.http}"\noperator_token = "operator.token"\n'
            f'data = "{self.data}"\nsocket = "{self.number}.sock"\n[tls]\nca = "certs/ca.pem"\n'
            f'certificate = "certs/member-{self.number}.pem"\nkey = "certs/member-{self.number}-key.pem"\n'
        )
        for each in [self, *others]:
            config += f'[[member]]\nid = {each.number}\naddress = "{each.address}"\nhttp = "{each.http}"\n'
        (self.cluster.folder / f"{self.number}.toml").write_text(config)

    def start(self, *flags):
        with open(self.cluster.folder / f"member-{self.number}.log", "a") as log:
            self.process = subprocess.Popen(
                [self.cluster.command, "node", "--config", f"{self.number}.toml", *flags],
                cwd=self.cluster.folder, env=self.cluster.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    def log(self):
        return (self.cluster.folder / f"member-{self.number}.log").read_text()

    def ask(self, path, method="GET"):
        request = urllib.request.Request(f"http://{self.http}{path}", method=method)
        if method == "POST":
            request.add_header("Authorization", f"Bearer {self.cluster.token}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def ready(self):
        until(f"member {self.number} is ready", lambda: self.ask("/readyz"))

    def both(self):
        """The parent that waits, and the member itself."""
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [parent, *map(int, children)]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Cluster:
    """The members that there are, and the clients."""

    def __init__(self, command, folder):
        self.command, self.folder = os.path.realpath(command), folder
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("BELLWETHER_") and name != "NOTIFY_SOCKET"}
        self.environment["XDG_RUNTIME_DIR"] = str(folder)
        self.token = os.urandom(16).hex()
        token_file = folder / "operator.token"
        token_file.touch(0o600)
        token_file.write_text(self.token + "\n")
        with contextlib.ExitStack() as held:
            bound = [held.enter_context(socket.socket()) for _ in range(2 * MEMBERS)]
            for each in bound:
                each.bind(("127.0.0.1", 0))
            free = [f"127.0.0.1:{each.getsockname()[1]}" for each in bound]
        self.all = {number: Member(self, number, free[2 * number - 2], free[2 * number - 1])
                    for number in range(1, MEMBERS + 1)}
        self.here = []
        self.client_certs = "clients-old"

    def run(self, *words, codes=(0,)):
        done = subprocess.run([self.command, *map(str, words)], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode not in codes:
            raise Failed(f"bellwether {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def order(self, *words):
        """A command of an operator, to any member."""
        return self.run(*words, "--address", self.here[0].http, "--operator-token", "operator.token")

    def install(self, source, *names):
        """Puts certificates where the members read them, each complete at once."""
        for name in names:
            shutil.copy(self.folder / source / name, self.folder / "certs" / f"{name}.new")
            os.rename(self.folder / "certs" / f"{name}.new", self.folder / "certs" / name)

    def coordinator(self):
        for member in self.here:
            with contextlib.suppress(OSError, ValueError):
                mandate = json.loads(member.ask("/v1/status"))["mandate"]
                if mandate:
                    return self.all[mandate["leader"]]
        return None

    def addresses(self):
        return ",".join(member.address for member in list(self.here))

    def join(self, number):
        """Prepares a new member and starts it; it waits until it is added."""
        member = self.all[number]
        member.configure(self.here)
        member.start("--join")
        until(f"member {number} answers", lambda: member.ask("/healthz"))
        return member

    def gone(self, member):
        """A removed member ends by itself, with exit code 5."""
        self.here.remove(member)
        code = member.process.wait(30)
        if code != 5:
            raise Failed(f"the removed member {member.number} ended with {code} instead of 5")

    def end(self):
        for member in self.all.values():
            if member.process and member.process.poll() is None:
                for process in member.both():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                member.process.wait()


class Clients:
    """Processes of `bellwether lock`, one after the other in each of some threads, and one of `bellwether campaign`."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.sections = cluster.folder / "sections"
        self.sections.touch()
        self.duties = cluster.folder / "duties"
        self.duties.touch()
        self.retried = RETRIED
        self.works = True
        self.failures = []  # (when, section, exit code, message)
        self.unexpected = []
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(WORKERS)]
        self.duty = None
        self.duty_starts = 0

    def start(self):
        for thread in self.threads:
            thread.start()

    def start_duty(self):
        self.duty_starts += 1
        environment = {**self.cluster.environment, "DUTIES": str(self.duties)}
        with open(self.cluster.folder / "duty.log", "a") as log:
            self.duty = subprocess.Popen(
                [self.cluster.command, "campaign", "duty", "--ttl", "30s", "--connect", self.cluster.here[0].address,
                 "--certs", self.cluster.client_certs, "--client", "app", "--", "sh", "-c", DUTY],
                cwd=self.cluster.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until("the role is led", lambda: len(set(self.led())) == self.duty_starts)

    def led(self):
        """The token of the role, again and again while its leader works."""
        return [int(line) for line in self.duties.read_text().split("\n")[:-1]]

    def duty_works(self):
        """The leader of the role still works, under the token that it began with."""
        done = len(self.led())
        until("the leader of the role works", lambda: len(self.led()) > done)

    def lock(self, section):
        environment = {**self.cluster.environment, "SECTION": section, "SECTIONS": str(self.sections)}
        return subprocess.run(
            [self.cluster.command, "lock", "work", "--quiet", "--ttl", f"{LOCK_TTL}s", "--grace", "1s", "--connect",
             self.cluster.addresses(), "--certs", self.cluster.client_certs, "--client", "app", "--", "sh", "-c", SECTION],
            cwd=self.cluster.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)

    def work(self, number):
        count = 0
        while self.works:
            count += 1
            section = f"{number}-{count}"
            try:
                done = self.lock(section)
                code, message = done.returncode, done.stderr.strip()
            except subprocess.TimeoutExpired:
                code, message = -1, "it neither got the lock nor failed for 90 s"
            if code != 0:
                self.failures.append((now(), section, code, message))
                if code not in self.retried:
                    self.unexpected.append(f"client {section}: exit {code}: {message}")
                    return
                time.sleep(0.05)

    def stop(self):
        self.works = False
        for thread in self.threads:
            if thread.ident:
                thread.join()

    def stop_duty(self):
        if self.duty and self.duty.poll() is None:
            self.duty.terminate()
            self.duty.wait(30)

    def ends(self):
        """When each section ended."""
        return [float(line.split()[3]) for line in self.sections.read_text().splitlines() if line.startswith("end ")]

    def violations(self):
        """What must not be in the history."""
        found = []
        failed = {section for _, section, _, _ in self.failures}
        largest, inside = 0, None
        for line in self.sections.read_text().splitlines():
            kind, section, token, _ = line.split()
            token = int(token)
            if kind == "begin":
                if inside is not None and inside not in failed:
                    found.append(f"section {section} began while {inside} had not ended")
                if token <= largest:
                    found.append(f"section {section} has token {token}, which is not above {largest}")
                largest, inside = max(largest, token), section
            elif section == inside:
                inside = None
            else:
                found.append(f"section {section} ended while {inside} was inside")
        led = self.led()
        if led != sorted(led) or len(set(led)) != self.duty_starts:
            found.append(f"{self.duty_starts} clients led the role, under these tokens: {sorted(set(led))}")
        return found


class Day:
    """The steps, and what each cost."""

    def __init__(self, cluster, clients):
        self.cluster, self.clients, self.rows = cluster, clients, []

    @contextlib.contextmanager
    def step(self, name):
        time.sleep(SETTLE)
        failures, begun = len(self.clients.failures), now()
        yield
        took, done = now() - begun, len(self.clients.ends())
        until(f"clients work after: {name}", lambda: len(self.clients.ends()) >= done + WORKERS)
        self.clients.duty_works()
        time.sleep(SETTLE)
        if self.clients.unexpected:
            raise Failed(f"{name}: {self.clients.unexpected[0]}")
        ends = self.clients.ends()
        after = [at for at in ends if at >= begun]
        before = [at for at in ends if at < begun]
        times = before[-1:] + after
        gap = max(later - earlier for earlier, later in zip(times, times[1:]))
        codes = [code for _, _, code, _ in self.clients.failures[failures:]]
        retries = " ".join(f"{code}×{codes.count(code)}" for code in sorted(set(codes))) or "none"
        print(f"{name:<46} {took:7.2f} s  {gap * 1000:7.0f} ms  {len(after):7}   {retries}", flush=True)

    def begin(self):
        cluster = self.cluster
        numbers = f"1..{MEMBERS}"
        cluster.run("certs", "--cluster", CLUSTER, "--ids", numbers, "--client", "app", "--out", "old")
        cluster.run("certs", "--cluster", CLUSTER, "--ids", numbers, "--client", "app", "--out", "new", "--days", "100")
        shutil.copytree(cluster.folder / "old", cluster.folder / "certs")
        for client, (authorities, own) in {"clients-old": ("old", "old"), "clients-both": ("old new", "old"),
                                           "clients-next": ("old new", "new"), "clients-new": ("new", "new")}.items():
            (cluster.folder / client).mkdir()
            self.authorities(client, *authorities.split())
            for name in ("client-app.pem", "client-app-key.pem"):
                shutil.copy(cluster.folder / own / name, cluster.folder / client / name)
        self.authorities("both", "old", "new")
        first = cluster.all[1]
        first.configure([])
        first.start()
        cluster.here = [first]
        first.ready()
        self.clients.start()
        until("the clients begin", lambda: len(self.clients.ends()) >= WORKERS)
        self.clients.start_duty()
        print(f"{'step':<46} {'took':>9}  {'gap':>10}  {'sections':>8}   retried client errors", flush=True)
        with self.step("nothing happens, one member"):
            time.sleep(3)

    def authorities(self, target, *sources):
        folder = self.cluster.folder
        (folder / target).mkdir(exist_ok=True)
        (folder / target / "ca.pem").write_text("".join((folder / each / "ca.pem").read_text() for each in sources))

    def grow(self, number):
        cluster = self.cluster
        with self.step(f"add member {number}"):
            member = cluster.join(number)
            cluster.order("members", "add", number, member.address)
            cluster.here.append(member)

    def replace(self, old, new):
        cluster = self.cluster
        role = "the coordinator" if cluster.coordinator() is cluster.all[old] else "member"
        with self.step(f"replace {role} {old} by {new}"):
            member = cluster.join(new)
            cluster.order("members", "replace", old, new, member.address)
            cluster.here.append(member)
            cluster.gone(cluster.all[old])

    def remove(self, number):
        cluster = self.cluster
        role = "the coordinator" if cluster.coordinator() is cluster.all[number] else "member"
        with self.step(f"remove {role} {number}"):
            cluster.order("members", "remove", number)
            cluster.gone(cluster.all[number])

    def crash(self):
        cluster = self.cluster
        leader = until("a coordinator", cluster.coordinator)
        with self.step(f"kill -9 of the coordinator's member, {leader.number}"):
            os.kill(leader.both()[1], signal.SIGKILL)
            leader.process.wait(30)
            until("another coordinator", lambda: cluster.coordinator() not in (None, leader))
        with self.step(f"start member {leader.number} again"):
            leader.start("--join")
            leader.ready()

    def power_cut(self):
        cluster = self.cluster
        with self.step(f"kill -9 of all {len(cluster.here)} members at once, and start"):
            for process in [process for member in cluster.here for process in member.both()]:
                os.kill(process, signal.SIGKILL)
            for member in cluster.here:
                member.process.wait(30)
            for member in cluster.here:
                member.start("--join")
            for member in cluster.here:
                member.ready()

    def reload_by_signal(self):
        for member in self.cluster.here:
            before = member.log().count("configuration reloaded by")
            member.process.send_signal(signal.SIGHUP)
            until(f"member {member.number} has reloaded",
                  lambda: member.log().count("configuration reloaded by") > before)

    def certificates(self):
        cluster = self.cluster
        remaining = re.compile(r"^bellwether_certificate_remaining_seconds(?:\{.*\})? (.+)$", re.M)
        with self.step("certificates 1: trust the old and the new CA"):
            cluster.install("both", "ca.pem")
            self.reload_by_signal()
            cluster.client_certs = "clients-both"
        with self.step("certificates 2: certificates of the new CA"):
            for member in cluster.here:
                cluster.install("new", f"member-{member.number}.pem", f"member-{member.number}-key.pem")
                answer = json.loads(member.ask("/v1/reload", "POST"))
                left = float(remaining.search(member.ask("/metrics")).group(1))
                if not 99 * 86400 < left <= 100 * 86400:
                    raise Failed(f"member {member.number} does not use the new certificate: {answer}, {left} s left")
            cluster.client_certs = "clients-next"
        with self.step("certificates 3: trust the new CA only"):
            cluster.install("new", "ca.pem")
            self.reload_by_signal()
            cluster.client_certs = "clients-new"
        # A client with a certificate of the old CA is refused now.
        cluster.run("lock", "other", "--quiet", "--wait", "5s", "--connect", cluster.addresses(), "--certs", "clients-both",
                    "--client", "app", "--", "true", codes=(77,))
        self.clients.stop_duty()
        self.clients.start_duty()

    def leases(self, heartbeat, lease):
        """Changes the settings that all share at one entry of the log: the coordinator commits them when it reloads."""
        cluster = self.cluster
        with self.step(f"change the lease of all members to {lease} ms"):
            for member in cluster.here:
                path = cluster.folder / f"{member.number}.toml"
                text = re.sub(r'^(heartbeat|lease) = .*\n', "", path.read_text(), flags=re.M)
                path.write_text(f'heartbeat = "{heartbeat}ms"\nlease = "{lease}ms"\n{text}')
            self.reload_by_signal()
            for member in cluster.here:
                until(f"member {member.number} goes by the new lease",
                      lambda: json.loads(member.ask("/v1/status"))["lease_full_ms"] == lease)

    def rolling_restart(self):
        cluster = self.cluster
        last = until("a coordinator", cluster.coordinator)
        with self.step("restart all members, one after the other"):
            for member in sorted(cluster.here, key=lambda each: each is last):
                member.stop()
                member.start("--join")
                member.ready()

    def restore(self):
        cluster = self.cluster
        with self.step("write a backup"):
            cluster.order("backup", "--out", "demo.bak")
        self.clients.retried = RETRIED_AFTER_RESTORE
        with self.step("restore the backup into a new cluster"):
            for member in cluster.here:
                member.stop()
            # A client of the old cluster may believe for one TTL that it holds its lock.
            time.sleep(LOCK_TTL)
            ids = set()
            for member in cluster.here:
                member.data = f"restored/{member.number}"
                member.configure([other for other in cluster.here if other is not member])
                said = cluster.run("restore", "demo.bak", "--data", member.data, "--id", member.number, "--json")
                ids.add(json.dumps({key: value for key, value in json.loads(said).items() if "cluster" in key}))
            if len(ids) != 1:
                raise Failed(f"the members of the new cluster have different ids: {ids}")
            for member in cluster.here:
                member.start()
            for member in cluster.here:
                member.ready()

    def all_steps(self):
        self.begin()
        for number in range(2, 6):
            self.grow(number)
        for number in range(1, 6):
            self.replace(number, number + 5)
        for _ in range(2):
            self.remove(max(member.number for member in self.cluster.here))
        self.crash()
        self.power_cut()
        self.certificates()
        self.leases(200, 1_500)
        self.leases(50, 300)
        self.rolling_restart()
        self.restore()


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    if not (os.path.isfile(sys.argv[1]) and os.access(sys.argv[1], os.X_OK)):
        print(f"there is no program {sys.argv[1]}; build it with `cargo build --bin bellwether`, or name another one",
              file=sys.stderr)
        return 2
    folder = Path(sys.argv[2] if len(sys.argv) == 3 else tempfile.mkdtemp(prefix="day-two-")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty; name another folder", file=sys.stderr)
        return 2
    cluster = Cluster(sys.argv[1], folder)
    clients = Clients(cluster)
    failed = None
    try:
        Day(cluster, clients).all_steps()
    except (Failed, subprocess.TimeoutExpired, OSError, KeyboardInterrupt) as problem:
        failed = f"{type(problem).__name__}: {problem}"
    clients.stop()
    violations = clients.violations()
    clients.stop_duty()
    cluster.end()
    for each in violations + clients.unexpected + ([failed] if failed else []):
        print(f"WRONG: {each}")
    wrong = bool(violations or clients.unexpected or failed)
    sections, retried = len(clients.ends()), len(clients.failures)
    print(f"{sections} sections, {len(violations)} violations, {retried} client errors retried, {len(clients.unexpected)} others")
    if wrong:
        print(f"logs, history and data are in {folder}")
    elif len(sys.argv) == 2:
        shutil.rmtree(folder)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
