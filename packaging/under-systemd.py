#!/usr/bin/env python3
"""Installs the Debian package under a real systemd, and does to its service what happens to services.

    packaging/under-systemd.py PACKAGE.deb

A container has systemd as its first process and this machine's files below a layer of its own, in memory: nothing of
what is installed and started in it is left. It has no network but loopback. Where such a container cannot be made
the script says why, and ends with 0. It needs root and systemd-nspawn (Debian: systemd-container).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

TRY = "bellwether-try.service"
# What the script is given inside, and where it writes what came of it.
SHARED = Path("/run/bellwether-try")
PATIENCE = 60
CONFIG = Path("/etc/bellwether")
HOST_HAS_SYSTEMD = Path("/run/systemd/system").is_dir()
PROVED = "its parent has shown proof"


def skip(why):
    print(f"skipped: the unit is not started under systemd: {why}")
    sys.exit(0)


def outside(package):
    if os.geteuid() != 0:
        skip("this needs root")
    if not shutil.which("systemd-nspawn"):
        skip("no systemd-nspawn here; apt-get install systemd-container")
    if not Path("/lib/systemd/systemd").exists():
        skip("no systemd here")
    if os.environ.get("BELLWETHER_TRY") != "mounts":
        # Mounts of its own, which end with this process.
        again = ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, package]
        sys.exit(subprocess.run(again, env={**os.environ, "BELLWETHER_TRY": "mounts"}).returncode)
    folder = Path(tempfile.mkdtemp(prefix="bellwether-try-"))
    try:
        verdict = in_container(folder, package)
    finally:
        clean(folder)
    sys.exit(verdict)


def clean(folder):
    """Never recursively: below the container's root are this machine's files."""
    for mounted in ("root", "layer"):
        subprocess.run(["umount", str(folder / mounted)], capture_output=True)
        remove_empty(folder / mounted)
    shared = folder / "shared"
    for file in shared.glob("*"):
        file.unlink()
    remove_empty(shared)
    remove_empty(folder)
    if not HOST_HAS_SYSTEMD:
        # Without a systemd outside, nobody else removes the control groups of the container.
        for tree in ("systemd", "unified", "."):
            for name in ("payload", "supervisor"):
                for group, _, _ in os.walk(f"/sys/fs/cgroup/{tree}/{name}", topdown=False):
                    remove_empty(group)


def remove_empty(folder):
    try:
        os.rmdir(folder)
    except OSError:
        pass


def in_container(folder, package):
    layer, root, shared = folder / "layer", folder / "root", folder / "shared"
    for path in (layer, root, shared):
        path.mkdir()
    mounts = [["mount", "-t", "tmpfs", "tmpfs", str(layer)]]
    options = f"lowerdir=/,upperdir={layer}/upper,workdir={layer}/work"
    mounts.append(["mount", "-t", "overlay", "overlay", "-o", options, str(root)])
    for mount in mounts:
        made = subprocess.run(mount, capture_output=True, text=True)
        if made.returncode != 0:
            skip(made.stderr.strip())
        for path in ("upper", "work"):
            (layer / path).mkdir(exist_ok=True)
    shutil.copy(package, shared / "bellwether.deb")
    shutil.copy(__file__, shared / "try.py")
    # Another machine, on which the package has never been.
    (root / "etc/machine-id").write_text("")
    shutil.rmtree(root / "etc/bellwether", ignore_errors=True)
    (root / f"etc/systemd/system/{TRY}").write_text(
        "[Unit]\nDescription=Try the service of Bellwether\n"
        f"[Service]\nType=oneshot\nExecStart={sys.executable} {SHARED}/try.py --inside\n"
        "ExecStopPost=/bin/systemctl --no-block exit 0\n"
    )
    command = ["systemd-nspawn", f"--directory={root}", f"--bind={shared}:{SHARED}", "--private-network"]
    command += ["--machine=bellwether-try", "--register=no", "--console=pipe", "--quiet", "--boot"]
    # A systemd outside gives it a scope; else it takes what there is.
    command += [] if HOST_HAS_SYSTEMD else ["--keep-unit"]
    with open(shared / "boot", "w") as boot:
        try:
            streams = {"stdin": subprocess.DEVNULL, "stdout": boot, "stderr": boot}
            subprocess.run([*command, f"systemd.unit={TRY}"], timeout=6 * PATIENCE, **streams)
        except subprocess.TimeoutExpired:
            boot.write("the container did not end in time\n")
    said = shared / "said"
    if not said.exists():
        skip("no container: " + (shared / "boot").read_text().strip())
    print(said.read_text(), end="")
    passed = (shared / "passed").exists()
    print("The service does under systemd what it should." if passed else "FAILED under systemd.")
    return 0 if passed else 1


def inside():
    said = open(SHARED / "said", "w", buffering=1)
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    sys.stdout.reconfigure(line_buffering=True)
    # What the service manager of the machine may have set is not for the members.
    for name in [name for name in os.environ if name.startswith("BELLWETHER")]:
        del os.environ[name]
    install()
    configure()
    start()
    dies()
    hangs()
    reloads()
    stops()
    remove()
    (SHARED / "passed").write_text("")


def run(*command, fine=True):
    done = subprocess.run(command, capture_output=True, text=True)
    if fine and done.returncode != 0:
        journal = subprocess.run(["journalctl", "--no-pager", "-n", "50"], capture_output=True, text=True)
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}\n{journal.stdout}")
    return done.stdout


def show(name, unit="bellwether"):
    return run("systemctl", "show", "--property", name, "--value", unit).strip()


def log(unit="bellwether"):
    return run("journalctl", "--no-pager", "--output=cat", "--unit", unit)


def until(what, is_so):
    """Looks until it is so, which it will be unless there is a bug."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if is_so():
            print(f"  {what}")
            return
        time.sleep(0.05)
    sys.exit(f"never: {what}\n{run('systemctl', 'status', 'bellwether', fine=False)}\n{log()}")


def check(what, is_so):
    if not is_so:
        sys.exit(f"not so: {what}\n{run('systemctl', 'status', 'bellwether', fine=False)}\n{log()}")
    print(f"  {what}")


def members():
    """The process that systemd knows, and its children."""
    main = show("MainPID")
    return main, Path(f"/proc/{main}/task/{main}/children").read_text().split()


def leader(http):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http}/v1/status", timeout=2) as answer:
            return (json.load(answer)["mandate"] or {}).get("leader")
    except OSError:
        return None


def another_leads():
    return leader(7481) in (1, 2)


def leads():
    return leader(7480) == 3 and leader(7481) == 3


def install():
    print("install:")
    run("dpkg", "--install", str(SHARED / "bellwether.deb"))
    check("the service is neither enabled nor started", show("UnitFileState") == "disabled" and show("ActiveState") == "inactive")
    run("getent", "passwd", "bellwether")


def configure():
    run("bellwether", "certs", "--cluster", "demo", "--ids", "1..3", "--out", str(CONFIG))
    for number in (1, 2, 3):
        http = 7480 if number == 3 else 7480 + number
        text = (
            f'cluster = "demo"\nid = {number}\nhttp = "127.0.0.1:{http}"\n'
            f'data = "{"/var/lib/bellwether" if number == 3 else f"/var/lib/member-{number}"}"\n'
            f'[tls]\nca = "ca.pem"\ncertificate = "member-{number}.pem"\nkey = "member-{number}-key.pem"\n'
        )
        text += "".join(f'[[member]]\nid = {each}\naddress = "127.0.0.1:740{each}"\n' for each in (1, 2, 3))
        (CONFIG / ("bellwether.toml" if number == 3 else f"{number}.toml")).write_text(text)
    shutil.chown(CONFIG / "member-3-key.pem", "bellwether")
    # The other members, which stay.
    for number in (1, 2):
        run("systemd-run", f"--unit=member-{number}", "bellwether", "node", "--config", str(CONFIG / f"{number}.toml"))


def start():
    print("start:")
    # It returns when the process that systemd knows has said READY=1.
    run("systemctl", "start", "bellwether")
    main, children = members()
    check("systemd knows the parent, and the member is its only child", len(children) == 1)
    check("both are of the user of the package", {os.stat(f"/proc/{pid}").st_uid for pid in (main, *children)} == {
        int(run("id", "--user", "bellwether"))})
    until("the member leads", leads)
    until("its status is in systemd's", lambda: "mandate" in show("StatusText"))


def dies():
    print("kill -9 of the member:")
    os.kill(int(members()[1][0]), 9)
    until("the others have the proof", lambda: all(PROVED in log(f"member-{number}") for number in (1, 2)))
    until("systemd starts it again", lambda: show("NRestarts") == "1" and show("ActiveState") == "active")
    check("systemd knows by which signal it has ended", "status=9/KILL" in log())
    until("it leads again", leads)


def hangs():
    print("a member that does not answer:")
    proofs = log("member-1").count(PROVED)
    os.kill(int(members()[1][0]), 19)
    until("the watchdog ends it", lambda: "Watchdog timeout" in log())
    until("its parent proves its death", lambda: log("member-1").count(PROVED) > proofs)
    until("systemd starts it again", lambda: show("NRestarts") == "2" and show("ActiveState") == "active")
    until("it leads again", leads)


def reloads():
    print("reload:")
    pids = members()
    run("systemctl", "reload", "bellwether")
    until("it has read its configuration again", lambda: "configuration reloaded by SIGHUP" in log())
    check("it is the same process", members() == pids)


def stops():
    print("stop:")
    run("systemctl", "stop", "bellwether")
    check("it has handed over and ended with 0", "hands over and exits" in log() and show("Result") == "success")
    until("another member leads", another_leads)


def remove():
    print("remove:")
    run("dpkg", "--purge", "bellwether")
    check("the state stays", any(Path("/var/lib/bellwether").iterdir()))
    check("the unit is gone", show("LoadState") == "not-found")


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        inside()
    elif len(sys.argv) == 2:
        outside(sys.argv[1])
    else:
        sys.exit(__doc__)
