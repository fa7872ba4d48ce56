#!/usr/bin/env python3
"""What policies do to the traffic of stock programs: predicted by the solver, measured by perftest, beside a compiler.

    table.py EMULATOR DAEMON CTL [--runs N] [--rows REGEX] [--isolated] [--quiet] [--order]

Each row is a policy and programs that send as much as they can; some have phases, between which something happens while
the programs run. rdma-qosd adopts the programs, which know nothing of it. What each should get is what `rdma-qosctl tree
--busy` says; what it gets is what it prints itself. A row fails if one of them is more than 3 points of the link off, or
5 in the second after a change.

With --order, it measures nothing: a row fails unless everybody moves data, and who should get more has moved more bytes.
So it says the same on a machine that has no time.

With --isolated, on firmware that lets a process use leaves of its own only: what holds there, with and without traffic
classes of the port. What each should get is then what `rdma-qosctl simulate` says of the trees and the port as they are.

Prints a table, and a line `ok ROW` or `not ok ROW` for each run of each row. Exit status 77: something is missing.
"""
import argparse
import dataclasses
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
from collections.abc import Callable

TOLERANCE = 3  # points of the link
TOLERANCE_AT_ONCE = 5  # in the second after a change
SETTLE = 1.5  # seconds after a change, which are not counted
SECONDS = 3  # that are measured, at least
HUNG = 120  # seconds: what takes longer does not come, on a busy machine either
MOVED = 32 << 20  # bytes of all programs together, after which their order is judged


@dataclasses.dataclass
class Flow:
    """A client and its server. One of them sends what is measured: its program has this name."""

    name: str
    program: str = "ib_write_bw"  # or ucx_perftest, which prints no rate of each second
    size: int = 65536
    queue_pairs: int = 1
    depth: int = 128  # messages that are posted and not done: without a processor, the program has these to send
    dscp: int = 0
    in_tree: bool = True  # else no rule of the policy is about it: its queue pairs are in no leaf
    devx: bool = False  # of ucx_perftest: it makes its queue pairs by DEVX, so nobody adopts them. One flow of a row
    launched: bool = False  # below rdma-qos-run, which registers it and marks its packets
    is_marked: bool = True  # with the DSCP of its level; else with `dscp` all the same

    @property
    def level(self) -> str:
        return self.name.split("-")[0]

    @property
    def sender_is_server(self) -> bool:
        """Clients read from it. Both sides do, as a queue pair that only answers is not in RTS, and in no leaf then."""
        return self.program == "ib_read_bw"

    @property
    def is_counted(self) -> bool:
        """No program says what it sends."""
        return self.sender_is_server or self.program == "ucx_perftest"


@dataclasses.dataclass
class Phase:
    what: str
    act: Callable[["Host"], None] = lambda host: None
    # What each flow should get in Mbit/s, where the tree does not say it.
    expected: Callable[["Host"], dict[str, float]] | None = None
    in_tree: bool = True  # the programs' queue pairs
    at_once: bool = False  # by what each has of the bytes that the NIC sends in the second after `act`


@dataclasses.dataclass
class Row:
    name: str
    link: int  # Mbit/s
    policy: str
    flows: list[Flow]
    phases: list[Phase] = dataclasses.field(default_factory=lambda: [Phase("")])
    starts_daemon: bool = True
    classes: list[str] = dataclasses.field(default_factory=list)  # of the ports, as `rdma-qos-emulator ctl` has them
    settings: str = ""  # more lines of rdma-qosd.yaml
    queue_groups: str = ""  # what the firmware keeps apart; empty: as the emulator was started
    # By what each has of the bytes that the NIC has sent in one interval, instead of by what programs print. Of rows in
    # which all together fill the link.
    by_parts: bool = False


def levels(rest: str, **schedules: str) -> str:
    """A policy with a level for each program of these names."""
    text = "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n"
    for name, schedule in schedules.items():
        text += f"  - {{name: {name}, {schedule}}}\n"
    text += "qos-match-rules:\n"
    for name in schedules:
        text += f"  - {{client: {{command: [\"{name}*\"]}}, qos-level-name: {name}}}\n"
    return text + rest


def wait_until(what: str, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + HUNG
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} in {HUNG} s")
        time.sleep(0.05)


class Running:
    """A flow under way, and what it said: the rate of each second, and when it said so."""

    def __init__(self, host: "Host", flow: Flow, port: int):
        self.flow = flow
        self.rates: list[tuple[float, float]] = []
        self.last_lines: list[str] = []
        sender, other = ("mlx5_0", flow.name), ("mlx5_1", "peer")
        server, client = (sender, other) if flow.sender_is_server else (other, sender)
        self.server = subprocess.Popen([host.program(flow.program, server[1]), *self.options(server[0], port)],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=self.environment())
        wait_until(f"no server for {flow.name}", lambda: is_taken(port))
        self.client = subprocess.Popen(
            ["stdbuf", "-oL", *(host.launcher() if flow.launched else []), host.program(flow.program, client[1]),
             *self.options(client[0], port), "127.0.0.1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment())
        self.sender = self.server if flow.sender_is_server else self.client
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def options(self, device: str, port: int) -> list[str]:
        if self.flow.program == "ucx_perftest":
            return ["-x", "rc_mlx5", "-d", f"{device}:1", "-t", "put_bw", "-D", "zcopy", "-O", str(self.flow.depth),
                    "-s", str(self.flow.size), "-n", str(1 << 40), "-p", str(port)]
        marked = [f"--tclass={self.flow.dscp << 2}"] if self.flow.dscp else []
        depth = [f"--tx-depth={self.flow.depth}"] if not self.flow.sender_is_server else []
        return ["-d", device, "-x", "0", "-F", "-s", str(self.flow.size), "-q", str(self.flow.queue_pairs), "-p", str(port),
                *depth, *marked, *(["-b", "-D", "60"] if self.flow.sender_is_server else ["--run_infinitely", "-D", "1"])]

    def environment(self) -> dict[str, str]:
        """Of what UCX makes by DEVX, only queue pairs are emulated. It marks them on RoCE v2 only, and does not find below
        the emulator that it is that."""
        if self.flow.program != "ucx_perftest":
            return dict(os.environ)
        return os.environ | {"UCX_IB_MLX5_DEVX": "y" if self.flow.devx else "n", "UCX_IB_MLX5_DEVX_OBJECTS": "rcqp",
                             "UCX_MEM_EVENTS": "n", "UCX_IB_GID_INDEX": "0",
                             "UCX_IB_TRAFFIC_CLASS": str(self.flow.dscp << 2)}

    def read(self) -> None:
        for line in self.client.stdout:
            self.last_lines = [*self.last_lines[-5:], line]
            if found := re.match(r"\s*\d+\s+\d+\s+[\d.]+\s+([\d.]+)\s", line):
                self.rates.append((time.monotonic(), float(found[1]) * 8.388608))

    def rate(self, begin: float, end: float) -> float:
        """Of the seconds that lie between: Mbit/s."""
        rates = [rate for at, rate in self.rates if at - 1 >= begin and at <= end]
        if not rates:
            raise RuntimeError(f"{self.flow.name} reports nothing: {''.join(self.last_lines)}")
        return sum(rates) / len(rates)

    def end(self) -> None:
        for process in (self.client, self.server):
            process.kill()
            process.wait()
        self.reader.join()


def is_taken(port: int) -> bool:
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("::", port))
            return False
        except OSError:
            return True


class Host:
    """The daemon and its files, on the devices of the emulator around this process."""

    def __init__(self, arguments: argparse.Namespace, root: str):
        self.emulator, self.daemon, self.ctl_program = arguments.emulator, arguments.daemon, arguments.ctl
        self.launcher_program = arguments.launcher
        self.root = root
        self.process: subprocess.Popen | None = None
        self.running: list[Running] = []
        self.link = 0
        self.port = 19000
        self.queue_groups = ""
        os.makedirs(f"{root}/etc/rdma-qos")

    def write_settings(self, more: str) -> None:
        with open(f"{self.root}/etc/rdma-qos/rdma-qosd.yaml", "w") as file:
            file.write(f"version: 1\nunregistered: adopt\ndrift-interval: 2s\n{more}")

    def program(self, program: str, name: str) -> str:
        folder = f"{self.root}/bin/{program}"
        path = f"{folder}/{name}"
        if not os.path.exists(path):
            os.makedirs(folder, exist_ok=True)
            shutil.copy(shutil.which(program), path)
        return path

    def launcher(self) -> list[str]:
        return [self.launcher_program, "--root", self.root, "--"]

    def ctl(self, *words: str) -> str:
        ended = subprocess.run([self.ctl_program, "--root", self.root, *words], capture_output=True, text=True)
        if ended.returncode != 0:
            raise RuntimeError(f"rdma-qosctl {' '.join(words)}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    def emulator_ctl(self, *words: str) -> str:
        return subprocess.run([self.emulator, "ctl", *words], capture_output=True, text=True, check=True).stdout

    def write_policy(self, text: str) -> None:
        with open(f"{self.root}/etc/rdma-qos/policy.yaml", "w") as file:
            file.write(text)

    def start(self) -> None:
        for folder in ("var", "run"):  # what a daemon before has left, such as devices that are disabled
            shutil.rmtree(f"{self.root}/{folder}", ignore_errors=True)
        log = open(f"{self.root}/log", "w")
        self.process = subprocess.Popen([self.daemon, "--root", self.root, "--host-devices"], stdout=log, stderr=log)
        wait_until("the daemon does not come", lambda: subprocess.run(
            [self.ctl_program, "--root", self.root, "status"], capture_output=True).returncode == 0)

    def stop(self) -> None:
        for flow in self.running:
            flow.end()
        self.running = []
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def set_link(self, mbps: int) -> None:
        self.link = mbps
        for device in ("mlx5_0", "mlx5_1"):
            self.emulator_ctl("link-speed", device, f"{mbps}Mbps")

    def set_queue_groups(self, word: str) -> None:
        if not self.queue_groups:
            self.queue_groups = json.loads(self.emulator_ctl("state", "--json"))["devices"][0]["queue-groups"]
        self.emulator_ctl("set", "queue-groups", word or self.queue_groups)

    def set_classes(self, words: list[str]) -> None:
        for device in ("mlx5_0", "mlx5_1"):
            self.emulator_ctl("port-classes", device, *(words or ["none"]))

    def run(self, flow: Flow) -> None:
        self.port += 1
        self.running.append(Running(self, flow, self.port))

    def end(self, name: str) -> None:
        running = next(each for each in self.running if each.flow.name == name)
        self.running.remove(running)
        running.end()

    # ---- what should be ----

    def queue_pairs_of(self, running: Running) -> list[dict]:
        all_of_host = json.loads(self.ctl("qps", "--json"))["queue-pairs"]
        return [each for each in all_of_host if each["pid"] == running.sender.pid and each["device"] == "mlx5_0/1"]

    def device_state(self) -> dict:
        state = json.loads(self.emulator_ctl("state", "--json"))
        return next(each for each in state["devices"] if each["name"] == "mlx5_0")

    def numbers_of(self, running: Running) -> set[int]:
        """Those made by DEVX are known to the device only. The other end has one, too, which sends next to nothing."""
        if running.flow.devx and not running.flow.launched:
            return {each["qpn"] for each in self.device_state()["queue-pairs"]
                    if each["type"] == "devx" and each["state"] == "RTS"}
        return {each["number"] for each in self.queue_pairs_of(running)}

    def has_its_place(self, running: Running) -> bool:
        if running.flow.devx and not running.flow.launched:
            return len(self.numbers_of(running)) > 0
        own = self.queue_pairs_of(running)
        return len(own) == running.flow.queue_pairs and all(bool(each.get("leaf")) == running.flow.in_tree for each in own)

    def all_have_their_place(self) -> bool:
        return all(self.has_its_place(running) for running in self.running)

    def predicted(self) -> dict[str, float]:
        tree = json.loads(self.ctl("tree", "mlx5_0", "--busy", "--json"))["trees"][0]["elements"]
        by_path = {element["path"]: element for element in tree}
        rates = {}
        for running in self.running:
            rate = 0.0
            for own in self.queue_pairs_of(running):
                element = by_path[own["responder-leaf" if running.flow.sender_is_server else "leaf"]]
                rate += element["gets"] / 1000 / element["queue-pairs"]
            rates[running.flow.name] = rate
        return rates

    def simulated(self) -> dict[str, float]:
        """Those of one level, and those outside with one DSCP, are taken to be served in equal parts, as the answer says."""
        loads: dict[str, int] = {}
        senders: dict[str, tuple[str, int]] = {}
        for running in self.running:
            flow = running.flow
            if flow.in_tree and flow.is_marked:
                load, count = flow.level, 1
            else:
                load = f"outside.dscp{flow.dscp}" if flow.dscp else "outside"
                count = 1 if flow.in_tree else flow.queue_pairs  # a process in the tree is one tree
            loads[load] = loads.get(load, 0) + count
            senders[flow.name] = (load, count)
        words = [load if load[:7] != "outside" else f"{load}*{count}" for load, count in loads.items()]
        gets: dict[str, float] = {}

        def both_say_the_same() -> bool:
            """Asked one after the other, while the daemon may be reading what has changed."""
            gets.update(self.ask_simulate(",".join(f"{word}=inf" for word in words), loads))
            every_sender_is_in_the_tree = all(running.flow.in_tree and running.flow.is_marked for running in self.running)
            return not every_sender_is_in_the_tree or self.is_said_by_tree(gets)

        wait_until("simulate and tree --busy do not say the same", both_say_the_same)
        return {name: gets[load] * count / loads[load] for name, (load, count) in senders.items()}

    def ask_simulate(self, load: str, names: dict[str, int]) -> dict[str, float]:
        answer = json.loads(self.ctl("simulate", "--json", "--device", "mlx5_0", "--load", load))
        gets = {level["level"]: level["gets"] / 1000 for level in answer["devices"][0]["steps"][0]["levels"] if "gets" in level}
        return {name: gets[name] for name in names}

    def is_said_by_tree(self, gets: dict[str, float]) -> bool:
        """`tree --busy` counts with everybody who has a queue pair, which are those that send. A point more or less."""
        tree = json.loads(self.ctl("tree", "mlx5_0", "--busy", "--json"))["trees"][0]["elements"]
        busy: dict[str, float] = {}
        for element in tree:
            if "gets" in element:
                level = element["path"].split("/")[1]
                busy[level] = busy.get(level, 0.0) + element["gets"] / 1000
        return all(abs(busy.get(level, 0.0) - rate) * 100 <= self.link for level, rate in gets.items())

    def measured(self) -> dict[str, float]:
        time.sleep(SETTLE)
        begin, before = time.monotonic(), self.responses()
        time.sleep(SECONDS)
        end, after = time.monotonic(), self.responses()
        time.sleep(1.5)  # whose seconds are not those of the others
        return {
            running.flow.name: (after[running.flow.name] - before[running.flow.name]) * 8e-6 / (end - begin)
            if running.flow.is_counted else running.rate(begin, time.monotonic())
            for running in self.running}

    def responses(self) -> dict[str, int]:
        """Bytes that others have read, and other bytes of which no program says how many they are."""
        return self.bytes_of([running for running in self.running if running.flow.is_counted])

    def bytes_of(self, flows: list[Running]) -> dict[str, int]:
        """What each has sent, as the NIC counts it below the leaf."""
        device = self.device_state()
        bytes_of = {element["id"]: element["bytes"] for element in device["tree"]}
        by_number = {each["qpn"]: each for each in device["queue-pairs"]}
        return {running.flow.name: sum(
            bytes_of[by_number[each["number"]]["responder" if running.flow.sender_is_server else "requester"]]
            for each in self.queue_pairs_of(running)) for running in self.running if running in flows}

    def sent_by(self, numbers: dict[str, set[int]]) -> dict[str, int]:
        """By queue pairs of these numbers: bytes."""
        queue_pairs = self.device_state()["queue-pairs"]
        return {name: sum(each["bytes"] for each in queue_pairs if each["qpn"] in own) for name, own in numbers.items()}

    def in_the_second_after(self, act: Callable[["Host"], None]) -> dict[str, float]:
        """Of the link: Mbit/s. Time that the link has lost, it makes up for then."""
        numbers = {running.flow.name: self.numbers_of(running) for running in self.running}
        act(self)
        before = self.sent_by(numbers)
        time.sleep(1)
        after = self.sent_by(numbers)
        all_of_it = sum(after.values()) - sum(before.values())
        return {name: (after[name] - before[name]) * self.link / all_of_it for name in after}

    def signal(self, name: str, number: signal.Signals) -> None:
        next(each for each in self.running if each.flow.name == name).sender.send_signal(number)

    def parts(self) -> dict[str, float]:
        """Of the link: Mbit/s. In between is one interval, the same for all."""
        numbers = {running.flow.name: self.numbers_of(running) for running in self.running}

        first = self.sent_by(numbers)
        wait_until("somebody does not send",
                   lambda: all(count > first[name] for name, count in self.sent_by(numbers).items()))
        time.sleep(SETTLE)
        before = self.sent_by(numbers)
        now = dict(before)

        def enough() -> bool:
            now.update(self.sent_by(numbers))
            return sum(now.values()) - sum(before.values()) >= MOVED

        wait_until("too little data moves", enough)
        all_of_it = sum(now.values()) - sum(before.values())
        return {name: (now[name] - before[name]) * self.link / all_of_it for name in now}

    def moved(self, in_all: int = MOVED) -> dict[str, int]:
        """By each, while all together move enough to compare them."""
        before = self.bytes_of(self.running)
        now = dict(before)

        def enough() -> bool:
            now.update(self.bytes_of(self.running))
            return sum(now.values()) - sum(before.values()) >= in_all

        wait_until("too little data moves", enough)
        return {name: now[name] - before[name] for name in now}


# ---- rows ----


def reload_with(policy: str) -> Callable[[Host], None]:
    def act(host: Host) -> None:
        host.write_policy(policy)
        host.ctl("reload")

    return act


def equal_parts(host: Host) -> dict[str, float]:
    """Nothing is in the tree: queue pairs of the whole link compete one by one."""
    count = sum(running.flow.queue_pairs for running in host.running)
    return {running.flow.name: host.link * running.flow.queue_pairs / count for running in host.running}


def simulated_responses(host: Host) -> dict[str, float]:
    names = [running.flow.name for running in host.running]
    answer = json.loads(host.ctl("simulate", "--json", "--load", ",".join(f"{name}.responder=inf" for name in names)))
    device = next(each for each in answer["devices"] if each["device"] == "mlx5_0/1")
    gets = {level["level"]: level["gets"] / 1000 for level in device["steps"][0]["levels"]}
    return {name: gets[f"{name}.responder"] for name in names}


def change_heavy_behind_its_back(host: Host) -> None:
    """And looks at what that does before it is repaired."""
    state = json.loads(host.emulator_ctl("state", "--json"))
    tree = next(device for device in state["devices"] if device["name"] == "mlx5_0")["tree"]
    heavy = next(element for element in tree if element["bw-share"] == max(each["bw-share"] for each in tree))
    host.emulator_ctl("drift", "mlx5_0", str(heavy["id"]), "1", "0")


SHARES = levels("", heavy="schedule: {share: 70}", light="schedule: {share: 30}")


def shares_with(size: int, link: int) -> Row:
    name = f"{size} B" if size < 1024 else f"{size // 1024} KiB" if size < 1 << 20 else f"{size >> 20} MiB"
    return Row(f"shares 70 and 30, messages of {name}", link, SHARES, [Flow("heavy", size=size), Flow("light", size=size)])


THREE_LEVELS = """version: 1
scheduling-nodes:
  - {name: apps, share: 60}
  - {name: batch, share: 40}
  - {name: night, parent: batch, share: 75}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {parent: apps, share: 2}}
  - {name: web, schedule: {parent: apps, share: 1}}
  - {name: dump, schedule: {parent: night, share: 1}}
  - {name: scan, schedule: {parent: night, share: 4}}
  - {name: log, schedule: {parent: batch, share: 25}}
qos-match-rules:
  - {client: {command: [rpc]}, qos-level-name: rpc}
  - {client: {command: [web]}, qos-level-name: web}
  - {client: {command: [dump]}, qos-level-name: dump}
  - {client: {command: [scan]}, qos-level-name: scan}
  - {client: {command: [log]}, qos-level-name: log}
"""


def rows() -> list[Row]:
    two = [Flow("heavy"), Flow("light")]
    return [
        shares_with(256, 30),
        shares_with(1024, 100),
        shares_with(4096, 300),
        shares_with(65536, 400),
        shares_with(1 << 20, 800),
        Row("messages of different size", 300, SHARES, [Flow("heavy", size=4096), Flow("light", size=1 << 18)]),
        Row("the first capped", 400, levels("", heavy="schedule: {share: 70, max-rate: 100Mbps}", light="schedule: {share: 30}"), two),
        Row("three levels of nodes", 400, THREE_LEVELS, [Flow(name) for name in ("rpc", "web", "dump", "scan", "log")]),
        Row("fair by process: 1 and 16 queue pairs", 400, levels("", all="schedule: {share: 1, fair-by: process}"),
            [Flow("all-one"), Flow("all-many", queue_pairs=16)]),
        Row("fair by queue pair: 1 and 3 queue pairs", 400, levels("", all="schedule: {share: 1, fair-by: queue-pair}"),
            [Flow("all-one"), Flow("all-many", queue_pairs=3)]),
        Row("one class: 1 and 4 queue pairs compete one by one", 400, levels("", all="schedule: {share: 1}"),
            [Flow("all-one"), Flow("all-many", queue_pairs=4)]),
        Row("a guarantee of 300", 400, levels("", heavy="schedule: {min-rate: 300Mbps}, allow: {user: [root]}",
                                               light="schedule: {share: 1}"), two),
        Row("a cap for each queue pair: 20, with 4 of them", 400,
            levels("", heavy="schedule: {share: 1}, per-queue-pair: {max-rate: 20Mbps}", light="schedule: {share: 1}"),
            [Flow("heavy", queue_pairs=4), Flow("light")],
            [Phase("", expected=lambda host: {"heavy": 80, "light": host.link - 80})]),
        Row("what others read from here", 400, levels("", heavy="schedule: {share: 1, responder: {share: 3}}",
                                                       light="schedule: {share: 1, responder: {share: 1}}"),
            [Flow("heavy", "ib_read_bw"), Flow("light", "ib_read_bw")], [Phase("", expected=simulated_responses)]),
        Row("a policy that changes", 400, SHARES, two, [
            Phase("before"),
            Phase("after a reload", reload_with(SHARES.replace("70", "15").replace("30}", "85}"))),
            Phase("and back", reload_with(SHARES))]),
        Row("disable and enable", 400, SHARES, two, [
            Phase("before"),
            Phase("disabled", lambda host: host.ctl("disable", "--all") and None, equal_parts, False),
            Phase("enabled", lambda host: host.ctl("enable", "--all") and None)]),
        Row("somebody else changes the NIC", 400, SHARES, two, [
            Phase("before"),
            Phase("after the repair", change_heavy_behind_its_back)]),
        Row("programs that were there first", 400, SHARES, two, [
            Phase("without the daemon", expected=equal_parts, in_tree=False),
            Phase("adopted", Host.start)], starts_daemon=False),
        Row("a link that gets slower", 400, SHARES, two, [
            Phase("at 400 Mbit/s"),
            Phase("at 200 Mbit/s", lambda host: host.set_link(200))]),
    ]


def mode_rows() -> list[Row]:
    """Firmware that keeps something apart, and attach modes that hold between processes all the same."""
    rows = []
    for mode, groups in (("shared-legacy", "isolated-objects"), ("shared-nodes", "isolated-attach")):
        def row(name: str, policy: str, flows: list[Flow], phases: list[Phase] | None = None) -> Row:
            return Row(f"{mode}: {name}", 400, policy, flows, phases or [Phase("")], queue_groups=groups)

        rows += [
            row("shares 70 and 30 of two processes", SHARES, [Flow("heavy"), Flow("light")]),
            row("shares that follow a reload", SHARES, [Flow("heavy"), Flow("light")], [
                Phase("before"),
                Phase("after it", reload_with(SHARES.replace("70", "15").replace("30}", "85}")))]),
            row("a cap holds for all processes", levels("", all="schedule: {share: 1, max-rate: 100Mbps}"),
                [Flow("all-one"), Flow("all-two")]),
            row("a process counts once, whatever queue pairs it has",
                levels("", all="schedule: {share: 1, fair-by: process}"),
                [Flow("all-one"), Flow("all-many", queue_pairs=16)]),
        ]
    # Leaves of their own, of the same weight.
    rows.append(Row("shared-nodes: processes in one class have equal parts", 400, levels("", all="schedule: {share: 1}"),
                    [Flow("all-one"), Flow("all-many", queue_pairs=16)],
                    [Phase("", expected=lambda host: {"all-one": 200, "all-many": 200})],
                    queue_groups="isolated-attach"))
    return rows


def isolated_rows() -> list[Row]:
    """In attach mode `per-process` each process has a copy of what it needs of the tree."""
    def row(name: str, policy: str, flows: list[Flow]) -> Row:
        return Row(f"isolated: {name}", 400, policy, flows, [Phase("", expected=Host.simulated)])

    return [
        row("shares 70 and 30 of two processes do not hold", SHARES, [Flow("heavy"), Flow("light")]),
        row("a cap holds", levels("", heavy="schedule: {share: 70, max-rate: 100Mbps}", light="schedule: {share: 30}"),
            [Flow("heavy"), Flow("light")]),
        row("a cap holds in each process, not for all", levels("", all="schedule: {share: 1, max-rate: 100Mbps}"),
            [Flow("all-one"), Flow("all-two")]),
        row("a process counts once, whatever queue pairs it has", levels("", all="schedule: {share: 1, fair-by: process}"),
            [Flow("all-one"), Flow("all-many", queue_pairs=16)]),
        row("a cap for each queue pair",
            levels("", heavy="schedule: {share: 1}, per-queue-pair: {max-rate: 20Mbps}", light="schedule: {share: 1}"),
            [Flow("heavy", queue_pairs=4), Flow("light")]),
    ]


def adaptive_rows() -> list[Row]:
    """The same, with caps that follow what is measured: as with one tree."""
    def row(name: str, policy: str, flows: list[Flow], phases: list[Phase] | None = None) -> Row:
        return Row(f"isolated, adaptive: {name}", 400, policy, flows, phases or [Phase("")],
                   settings="cap-mode: adaptive\n")

    return [
        row("shares 70 and 30 of two processes", SHARES, [Flow("heavy"), Flow("light")]),
        row("shares that follow a reload", SHARES, [Flow("heavy"), Flow("light")], [
            Phase("before"),
            Phase("after it", reload_with(SHARES.replace("70", "15").replace("30}", "85}")))]),
        row("one ends, and one comes", SHARES, [Flow("heavy"), Flow("light")], [
            Phase("both"),
            Phase("light alone", lambda host: host.end("heavy")),
            Phase("both again", lambda host: host.run(Flow("heavy")))]),
        row("one pauses", SHARES, [Flow("heavy", depth=8), Flow("light", depth=8)], [
            Phase("both"),
            Phase("light alone, in the first second", lambda host: host.signal("heavy", signal.SIGSTOP),
                  lambda host: {"heavy": 0, "light": host.link}, at_once=True),
            Phase("both again, in the first second", lambda host: host.signal("heavy", signal.SIGCONT), at_once=True),
            Phase("both again")]),
        row("a cap holds for all processes", levels("", all="schedule: {share: 1, max-rate: 100Mbps}"),
            [Flow("all-one"), Flow("all-two")]),
        row("a process counts once, whatever queue pairs it has",
            levels("", all="schedule: {share: 1, fair-by: process}"), [Flow("all-one"), Flow("all-many", queue_pairs=16)]),
        row("what one does not use", levels("", heavy="schedule: {share: 70}, per-queue-pair: {max-rate: 80Mbps}",
                                            light="schedule: {share: 30}"), [Flow("heavy"), Flow("light")],
            [Phase("", expected=lambda host: {"heavy": 80, "light": host.link - 80})]),
    ]


# The DSCPs of the rows below, and the classes that ports have for them.
BLUE, GREEN, RED, CONTROL, NOTIFICATIONS = 26, 10, 18, 46, 48
MARKS = [f"dscp{BLUE}=1", f"dscp{GREEN}=2", f"dscp{RED}=3", f"dscp{CONTROL}=6"]
DSCP_OF = {"heavy": BLUE, "light": GREEN, "storage": RED, "late": RED, "control": CONTROL, "plain": 0}

HEAVY, LIGHT = Flow("heavy", dscp=BLUE), Flow("light", dscp=GREEN)
TWO = [HEAVY, LIGHT]


def marked(rest: str = "", **schedules: str) -> str:
    """Levels that ask for their DSCP."""
    return levels(rest, **{name: (f"dscp: {DSCP_OF[name]}, " if DSCP_OF[name] else "") + f"schedule: {{{schedule}}}"
                           for name, schedule in schedules.items()})


def stored(**schedules: str) -> str:
    """The same, and a level for what the kernel sends to NVMe over Fabrics: no program is in it."""
    text = marked(storage="share: 30", **schedules)
    return text.replace("  - {client: {command: [\"storage*\"]}, qos-level-name: storage}\n", "") + \
        "qos-ulps:\n  - {ulp: nvme-of, qos-level-name: storage}\n"


def as_the_kernel(queue_pairs: int) -> Flow:
    """Marked as the kernel's queue pairs are told to, in no leaf, and of no session."""
    return Flow("kernel", dscp=RED, queue_pairs=queue_pairs, in_tree=False)


def class_rows() -> list[Row]:
    """Traffic classes of the port above trees that are alike to it, one for each process.

    The link is slow: what a program has posted then lasts for more than half a second without a processor.
    """
    equal = marked(heavy="share: 1", light="share: 1")
    controlled = marked(heavy="share: 1", light="share: 1", control="share: 1")

    def row(name: str, classes: list[str], flows: list[Flow], policy: str = equal, phases: list[Phase] | None = None) -> Row:
        return Row(f"isolated, classes: {name}", 100, policy, flows, phases or [Phase("", expected=Host.simulated)],
                   classes=[*classes, *MARKS], by_parts=True)

    def change(*classes: str) -> Callable[[Host], None]:
        return lambda host: host.set_classes([*classes, *MARKS] if classes else [])

    return [
        row("70 and 30 of two processes", ["tc1=70", "tc2=30"], TWO),
        row("50, 30 and 20", ["tc1=50", "tc2=30", "tc3=20"], [Flow("late", dscp=RED), *TWO],
            marked(late="share: 1", light="share: 1", heavy="share: 1")),
        row("two processes in one of them", ["tc1=70", "tc2=30"],
            [Flow("heavy-one", dscp=BLUE), Flow("heavy-many", dscp=BLUE, queue_pairs=4), LIGHT]),
        row("a maximum rate of 25", ["tc1=70,25Mbps", "tc2=30"], TWO),
        row("a cap of 25 in the tree", ["tc1=70", "tc2=30"], TWO, marked(heavy="share: 1, max-rate: 25Mbps", light="share: 1")),
        row("a strict one with a cap of 20 in the tree", ["tc1=70", "tc2=30", "tc6=strict"],
            [*TWO, Flow("control", dscp=CONTROL)],
            marked(heavy="share: 1", light="share: 1", control="share: 1, max-rate: 20Mbps")),
        row("a strict one with a maximum rate of 20", ["tc1=70", "tc2=30", "tc6=strict,20Mbps"],
            [*TWO, Flow("control", dscp=CONTROL)], controlled),
        row("UCX and perftest", ["tc1=70", "tc2=30"], [Flow("heavy", "ucx_perftest", dscp=BLUE), LIGHT]),
        row("UCX by DEVX below rdma-qos-run", ["tc1=70", "tc2=30"],
            [Flow("heavy", "ucx_perftest", devx=True, launched=True), LIGHT]),
        row("UCX by DEVX, in no leaf", ["tc0=30", "tc1=70"],
            [HEAVY, Flow("outside", "ucx_perftest", devx=True, in_tree=False)]),
        row("a program that marks nothing", ["tc0=10", "tc1=70", "tc2=20"], [*TWO, Flow("plain")],
            marked(heavy="share: 1", light="share: 1", plain="share: 1")),
        row("4 queue pairs in no leaf", ["tc0=30", "tc1=70"], [HEAVY, Flow("outside", queue_pairs=4, in_tree=False)]),
        row("messages of different size", ["tc1=70", "tc2=30"],
            [Flow("heavy", size=1 << 14, depth=512, dscp=BLUE), Flow("light", size=1 << 18, dscp=GREEN)]),
        row("weights that change", ["tc1=70", "tc2=30"], TWO, phases=[
            Phase("70 and 30", expected=Host.simulated),
            Phase("25 and 75", change("tc1=25", "tc2=75"), Host.simulated),
            Phase("without classes", change(), Host.simulated)]),
    ]


def is_divided(host: Host, classes: int) -> bool:
    """Whether the port has so many classes with a weight or, strict, with a maximum rate."""
    words = host.device_state().get("port-classes", [])
    return len([word for word in words if re.match(r"tc\d=([1-9]|strict,)", word)]) == classes


def managed_rows() -> list[Row]:
    """The same classes, which rdma-qosd sets: the port is as nobody has touched it.

    Class 0 has what is not in the policy, with 5 % of the link; without anybody in it, the others divide it.
    """
    def when_divided(classes: int, act: Callable[[Host], None] = lambda host: None) -> Callable[[Host], None]:
        def wait(host: Host) -> None:
            words = host.device_state().get("port-classes", [])
            act(host)
            wait_until("the port is not divided", lambda: is_divided(host, classes) and
                       (act is nothing or host.device_state()["port-classes"] != words))

        return wait

    def nothing(_: Host) -> None:
        pass

    def larger(*flows: Flow) -> list[Flow]:
        """For a link of 200 Mbit/s: what is posted lasts as long."""
        return [dataclasses.replace(flow, size=1 << 17) for flow in flows]

    def disable(host: Host) -> None:
        host.ctl("disable", "--all")
        wait_until("the port is not as before", lambda: not host.device_state().get("port-classes"))

    def row(name: str, policy: str, flows: list[Flow], classes: int, more: list[Phase] | None = None, link: int = 100,
            settings: str = "") -> Row:
        return Row(f"isolated, managed: {name}", link, policy, flows,
                   [Phase("", when_divided(classes, nothing), Host.simulated), *(more or [])],
                   settings="port-classes: manage\n" + settings, by_parts=True)

    return [
        row("70 and 30 of two processes", marked(heavy="share: 70", light="share: 30"), TWO, 3, [
            Phase("25 and 75 after a reload", when_divided(3, reload_with(marked(heavy="share: 25", light="share: 75"))),
                  Host.simulated),
            Phase("let go", disable, equal_parts, False),
            Phase("taken again", when_divided(3, lambda host: host.ctl("enable", "--all") and None), Host.simulated)]),
        row("50, 30 and 20", marked(late="share: 20", light="share: 30", heavy="share: 50"),
            [Flow("late", dscp=RED), *TWO], 4),
        # Maximum rates of classes are multiples of 100 Mbit/s, as on mlx5. In its tree each process is capped by itself.
        row("a cap of 100, of two processes together", marked(heavy="share: 70, max-rate: 100Mbps", light="share: 30"),
            larger(Flow("heavy-one", dscp=BLUE), Flow("heavy-two", dscp=BLUE), LIGHT), 3, link=200),
        row("a strict level with a cap of 100, of two processes together",
            marked(heavy="share: 70", light="share: 30", control="share: 1, strict: true, max-rate: 100Mbps"),
            larger(*TWO, Flow("control-one", dscp=CONTROL), Flow("control-two", dscp=CONTROL)), 4, link=200),
        row("UCX by DEVX below rdma-qos-run", marked(heavy="share: 70", light="share: 30"),
            [Flow("heavy", "ucx_perftest", devx=True, launched=True), LIGHT], 3),
        row("a level without a DSCP", marked(heavy="share: 60", light="share: 30", plain="share: 10"), [*TWO, Flow("plain")], 3),
        row("a program that does not set its level's DSCP", marked(heavy="share: 50", light="share: 30", late="share: 20"),
            [*TWO, Flow("late", is_marked=False)], 4),
        row("4 queue pairs as of the kernel, in no leaf", stored(heavy="share: 40", light="share: 30"),
            [*TWO, as_the_kernel(4)], 4),
        row("what is not in the policy", marked(heavy="share: 70", light="share: 30"),
            [*TWO, Flow("outside", queue_pairs=4, in_tree=False)], 3),
        # Anybody can send with their DSCP.
        row("a flood with the DSCP of congestion notifications", marked(heavy="share: 70", light="share: 30"),
            [*TWO, Flow("outside", queue_pairs=4, in_tree=False, dscp=NOTIFICATIONS)], 4,
            settings=f"cnp-dscp: {NOTIFICATIONS}\n"),
    ]


# ---- running them ----


@dataclasses.dataclass
class Result:
    predicted: float
    measured: list[float] = dataclasses.field(default_factory=list)


def run_row(host: Host, row: Row, results: dict) -> float:
    """The largest difference, in points of the link; of those of a second after a change, three fifths."""
    worst = 0.0
    try:
        host.set_link(row.link)
        host.set_queue_groups(row.queue_groups)
        host.set_classes(row.classes)
        host.write_policy(row.policy)
        host.write_settings(row.settings)
        host.ctl("check")
        if row.starts_daemon:
            host.start()
        for flow in row.flows:
            host.run(flow)
        for phase in row.phases:
            if phase.at_once:
                measured = host.in_the_second_after(phase.act)
            else:
                phase.act(host)
                if phase.in_tree:
                    wait_until("not all queue pairs have their place", host.all_have_their_place)
                measured = host.parts() if row.by_parts else host.measured()
            predicted = host.predicted() if phase.expected is None else phase.expected(host)
            for name, rate in measured.items():
                key = (row.name, phase.what, name)
                results.setdefault(key, (host.link, Result(predicted[name])))[1].measured.append(rate)
                off = abs(rate - predicted[name]) * 100 / host.link
                worst = max(worst, off * TOLERANCE / TOLERANCE_AT_ONCE if phase.at_once else off)
    finally:
        host.stop()
    return worst


def misorder(host: Host, row: Row) -> str:
    """What is wrong with the order of a row whose tree says what each should get; empty: nothing."""
    try:
        host.set_link(row.link)
        host.set_classes(row.classes)
        host.write_policy(row.policy)
        host.write_settings(row.settings)
        host.start()
        for flow in row.flows:
            host.run(flow)
        wait_until("not all queue pairs have their place", host.all_have_their_place)
        moved = host.moved()
        expected = row.phases[0].expected
        predicted = host.predicted() if expected is None else expected(host)
    finally:
        host.stop()
    said = ", ".join(f"{name} has moved {moved[name]} bytes, for a predicted {predicted[name]:.0f} Mbit/s" for name in moved)
    by_rate, by_bytes = sorted(predicted, key=predicted.get), sorted(moved, key=moved.get)
    return "" if by_rate == by_bytes and all(moved.values()) else said


def print_table(results: dict) -> None:
    print("| policy | program | predicted | measured (mean of runs) | farthest off, points of the link |")
    print("|---|---|--:|--:|--:|")
    for (row, phase, flow), (link, result) in results.items():
        mean = sum(result.measured) / len(result.measured)
        worst = max((rate - result.predicted) * 100 / link for rate in result.measured)
        least = min((rate - result.predicted) * 100 / link for rate in result.measured)
        off = worst if abs(worst) > abs(least) else least
        print(f"| {row}{': ' + phase if phase else ''} | {flow} | {result.predicted:.1f} | {mean:.1f} | {off:+.1f} |")


COMPILED = """#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
std::map<std::string, std::vector<std::regex>> all;
int main() { for (auto& [name, each] : all) { std::sort(each.begin(), each.end(), [](auto&, auto&) { return false; }); } }
"""


class Compiler:
    """Somebody else who wants a processor, all the time."""

    def __init__(self, folder: str):
        source = f"{folder}/compiled.cpp"
        with open(source, "w") as file:
            file.write(COMPILED)
        self.process = subprocess.Popen(
            ["sh", "-c", f"while :; do g++ -std=c++20 -O2 -c {source} -o {folder}/compiled.o; done"],
            env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}, start_new_session=True)

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("emulator", "daemon", "ctl"):
        parser.add_argument(name)
    parser.add_argument("--launcher", default="", help="rdma-qos-run; without it, rows with it are left out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", default="")
    parser.add_argument("--isolated", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="without a compiler beside")
    parser.add_argument("--order", action="store_true", help="who gets more, not how much")
    arguments = parser.parse_args()
    for program in ("ib_write_bw", "ib_read_bw", "stdbuf", "g++"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            return 77
    if "RDMA_QOS_EMULATOR" not in os.environ:
        ports = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ports.yaml")
        options = ["--isolate-queue-groups", "--devices", ports] if arguments.isolated else []
        return subprocess.run([arguments.emulator, "run", *options, "--", sys.executable, *sys.argv]).returncode
    results: dict = {}
    failures = 0
    with tempfile.TemporaryDirectory() as root:
        host = Host(arguments, root)
        compiler = None if arguments.quiet or arguments.order else Compiler(root)
        try:
            for row in [*managed_rows(), *class_rows(), *adaptive_rows(), *isolated_rows()] if arguments.isolated \
                    else [*rows(), *mode_rows()]:
                if not re.search(arguments.rows, row.name):
                    continue
                if missing := [flow.program for flow in row.flows if not shutil.which(flow.program)]:
                    print(f"skipped {row.name}: {missing[0]} is not installed")
                    continue
                if not arguments.launcher and any(flow.launched for flow in row.flows):
                    print(f"skipped {row.name}: --launcher is not given")
                    continue
                if arguments.order:
                    wrong = misorder(host, row)
                    failures += bool(wrong)
                    print(f"{'not ok' if wrong else 'ok'} {row.name}{wrong and ': ' + wrong}", flush=True)
                    continue
                for run in range(arguments.runs):
                    try:
                        worst, why = run_row(host, row, results), ""
                    except (RuntimeError, KeyError) as error:
                        worst, why = 100, f" ({error})"
                    good = worst <= TOLERANCE
                    failures += not good
                    print(f"{'ok' if good else 'not ok'} {row.name}, run {run + 1}: {worst:.1f} points{why}", flush=True)
        finally:
            if compiler:
                compiler.end()
    if results:
        print_table(results)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
