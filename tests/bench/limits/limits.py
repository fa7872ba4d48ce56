#!/usr/bin/python3
"""What rdma-qosd uses of that which systemd limits, memory and tasks, at the bounds that it sets itself.

    tests/bench/limits/limits.py BUILD [--devices N] [--sessions N] [--users N]

BUILD: a build folder (build/release). Starts its rdma-qosd on simulated devices, and clients on the direct socket; with root, they are
of several users, each with a helper process of the daemon's. Prints a line of a table for each step. Memory is the PSS of all of the daemon's
processes, tasks are their threads: what MemoryMax= and TasksMax= of rdma-qosd.service count, but for page cache and the kernel's part.

Needs jeepney (Debian: python3-jeepney).
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "docs/examples"))
from peer import MANAGER, Connection  # noqa: E402

FIRST_UID = 60000
LEVELS = 100


def children(pid):
    return [int(each) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()]


def used(pid):
    """MiB and tasks of a process and its children."""
    memory = tasks = 0
    for each in [pid, *children(pid)]:
        try:
            rollup = pathlib.Path(f"/proc/{each}/smaps_rollup").read_text()
            tasks += len(os.listdir(f"/proc/{each}/task"))
        except OSError:
            continue
        memory += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return memory / 1024, tasks


def show(what, pid):
    memory, tasks = used(pid)
    print(f"| {what} | {memory:.0f} MiB | {tasks} |", flush=True)


def devices_file(count):
    lines = ["version: 1", "devices:"]
    for number in range(count):
        lines.append(f"  - {{name: mlx5_{number}, link-layer: ethernet, link-speed: 100Gbps}}")
    return "\n".join(lines) + "\n"


def policy():
    lines = ["version: 1", "qos-levels:", "  - {name: DEFAULT}"]
    lines += [f"  - {{name: level-{n}, schedule: {{share: 1}}}}" for n in range(LEVELS)]
    return "\n".join(lines) + "\n"


def register(connection, number, devices, with_file):
    queue_pair = {
        "device": ("s", f"mlx5_{number % devices}"),
        "number": ("u", 100 + number // devices),
        "type": ("s", "rc"),
    }
    if with_file:
        queue_pair["uverbs"] = ("h", with_file)
        queue_pair["handle"] = ("u", 1)
    request = {"level": ("s", f"level-{number % LEVELS}"), "queue-pairs": ("aa{sv}", [queue_pair])}
    connection.call(MANAGER, "Register", "a{sv}", (request,))


def connect_as(uid, socket):
    """Connections are their user's who made them."""
    if uid is not None:
        os.seteuid(uid)
    try:
        return Connection(socket)
    finally:
        if uid is not None:
            os.seteuid(0)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--devices", type=int, default=100)
    options.add_argument("--sessions", type=int, default=4000, help="of each user")
    options.add_argument("--users", type=int, default=4)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        (root / "etc/rdma-qos").mkdir(parents=True)
        (root / "etc/rdma-qos/policy.yaml").write_text(policy())
        (root / "devices.yaml").write_text(devices_file(options.devices))
        command = [options.build / "daemon/rdma-qosd", "--root", root, "--simulate", root / "devices.yaml"]
        with open(root / "log", "w") as log:
            daemon = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            while "ready: " not in (root / "log").read_text():
                if daemon.poll() is not None:
                    sys.exit((root / "log").read_text())
                time.sleep(0.05)
            time.sleep(2)
            print("| | memory | tasks |\n|---|---|---|")
            show(f"{options.devices} devices, {LEVELS} levels, idle", daemon.pid)
            connections = []
            users = [FIRST_UID + n for n in range(options.users)] if os.geteuid() == 0 else [None]
            for turn, uid in enumerate(users):
                connection = connect_as(uid, str(root / "run/rdma-qos/bus"))
                connections.append(connection)
                for number in range(options.sessions):
                    register(connection, turn * options.sessions + number, options.devices, None)
                show(f"{(turn + 1) * options.sessions} sessions of {turn + 1} users, a queue pair each", daemon.pid)
            # A call by which each user needs a helper process, and the closing of what it sent a thread.
            with open("/dev/null") as file:
                for turn, connection in enumerate(connections):
                    try:
                        register(connection, 10**6 + turn, options.devices, file)
                    except Exception as refused:  # it is no device
                        if "NotUverbs" not in str(refused):
                            raise
            show("the same, and a descriptor of each user", daemon.pid)
        finally:
            daemon.terminate()
            daemon.wait()


main()
