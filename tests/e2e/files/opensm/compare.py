#!/usr/bin/env python3
"""Compares a living OpenSM on ibsim with what `rdma-qosctl` makes of the same fabric, policy and partitions.

    compare.py SEED QUERIES DIRECTORY

The seed determines fabrics, policies and questions. Prints each difference with what repeats it, then a line
`N path queries, N P_Key tables, N broadcast groups, N SLs: N differences`. Exit status: 0 no difference, 1 some, 2 the
comparison could not be made.
"""

import concurrent.futures
import ipaddress
import json
import os
import random
import re
import sys

import fabrics
import live
import policies

FABRIC_FILE = "/etc/rdma-qos/fabric.yaml"
POLICIES_PER_SHAPE = 4
SIGNS = {0: ">", 1: "<", 2: "=", 3: "largest"}


def gid(guid):
    return str(ipaddress.IPv6Address(0xFE80 << 112 | guid))


class Question:
    """One path query, as options of saquery and of query-path."""

    def __init__(self, rng, ports, lmc, policy, partitions):
        self.rng = rng
        # Several LIDs make several paths, all alike. One segment of an answer holds two, and more segments do not get
        # through ibsim.
        self.saquery = ["--numb_path", "2"]
        self.query_path = []
        self.ends(ports, lmc)
        if rng.random() < 0.4:
            service = rng.choice(sorted(policy.service_ids - {0}))
            self.add("service_id", "service-id", f"{service:#x}")
        if rng.random() < 0.4:
            self.add("qos_class", "qos-class", rng.choice([rng.randrange(4096), *policy.classes]))
        if rng.random() < 0.35:
            pkey = rng.choice([*partitions.pkeys * 3, rng.randrange(1, 0x8000)]) | rng.choice([0, 0x8000])
            self.add("pkey", "pkey", f"{pkey:#x}")
        if rng.random() < 0.1:
            self.add("sl", "sl", rng.randrange(16))
        if rng.random() < 0.2:
            mtu = rng.randint(1, 5)
            self.select("mtu", "mtu", mtu, live.MTU_BYTES[mtu])
        if rng.random() < 0.2:
            rate = rng.choice([2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17])
            self.select("rate", "rate", rate, f"{live.RATE_KBPS[rate]}kbps")
        if rng.random() < 0.2:
            life = rng.choice([rng.randint(1, 63), 17, 18, 19])
            self.select("pkt_lifetime", "packet-life", life, life)

    def add(self, theirs, ours, value):
        self.saquery += [f"--{theirs}", str(value)]
        self.query_path += [f"--{ours}", str(value)]

    def select(self, theirs, ours, number, value):
        selector = self.rng.randrange(4)
        self.saquery += [f"--{theirs}", str(selector << 6 | number)]
        self.query_path += [f"--{ours}", SIGNS[selector] + (str(value) if selector != 3 else "")]

    def ends(self, ports, lmc):
        chosen = [self.rng.choice(ports), self.rng.choice(ports)]
        if chosen[0] is chosen[1] and chosen[0]["type"] == "SWITCH":
            # The path of a switch to itself passes no table of SLs (docs/policy-reference.md, "vl15-sls").
            chosen[1] = ports[(ports.index(chosen[0]) + 1) % len(ports)]
        by_lid = self.rng.random() < 0.5
        for port, theirs, ours in zip(chosen, "sd", ("source", "destination")):
            if by_lid:
                # Port 0 of a switch has one LID (its LMC is 0).
                lid = port["lid"] + (self.rng.randrange(1 << lmc) if port["type"] == "CA" else 0)
                self.saquery += [f"--{theirs}lid", str(lid)]
                self.query_path += [f"--{ours}", f"lid:{lid}"]
            else:
                self.saquery += [f"--{theirs}gid", gid(port["guid"])]
                self.query_path += [f"--{ours}", gid(port["guid"])]


def our_answer(policy_file, options):
    done = live.run("rdma-qosctl", "--json", "query-path", policy_file, *options, check=False)
    said = json.loads(done.stdout)
    if done.returncode != 0:
        if not said["error"]["name"].endswith(".NoMatchingPath"):
            raise live.Failure(f"query-path {policy_file} {' '.join(options)}: {said['error']['message']}")
        return set()
    return {tuple(path.get(key) for key in ("mtu", "rate", "packet-life", "pkey", "sl")) for path in said["paths"]}


class World:
    """A fabric with one policy and partitions, in OpenSM and as we import them."""

    def __init__(self, simulator, directory, rng, lmc, mtus):
        self.simulator = simulator
        self.mtus = mtus    # of ports as in `tables`; what is not known yet is added
        self.directory = directory
        self.rng = rng
        self.lmc = lmc
        self.found = []
        self.counts = dict.fromkeys(("path queries", "P_Key tables", "broadcast groups", "SLs"), 0)
        ports = simulator.ports()
        self.partitions = policies.Partitions(rng, ports)
        self.policy = policies.Policy(rng, ports, self.partitions)
        # Of 16 SLs some are dropped.
        dropped = rng.sample(range(16), rng.choice([0, 0, 1, 2]))
        options = "qos_sl2vl " + ",".join("15" if sl in dropped else str(sl % 8) for sl in range(16)) + "\n"
        self.opensm = live.OpenSM(simulator, directory, self.policy.text, self.partitions.text, lmc, options)
        try:
            if not self.opensm.has_policy():
                raise live.Failure(f"OpenSM refuses the policy in {directory}")
            self.ports = simulator.ports()
            self.tables = {(port["guid"], port["port"]): self.opensm.pkeys(port) for port in self.ports}
            for port in self.ports if not mtus else []:
                mtus[port["guid"], port["port"]] = simulator.mtu(port)
            self.import_all()
        except Exception:
            self.opensm.end()
            raise

    def file(self, name):
        return os.path.join(self.directory, name)

    def import_all(self):
        with open(self.file("topology"), "w", encoding="utf-8") as file:
            file.write(self.simulator.discovery())
        live.run("rdma-qosctl", "import-fabric", "--ibnetdiscover", self.file("topology"), "--partitions",
                 self.file("partitions.conf"), "--sm", hex(self.opensm.port_guid()), "--output", FABRIC_FILE)
        with open(FABRIC_FILE, encoding="utf-8") as file:
            text = file.read()
        # What no output of ibnetdiscover has, by the documented keys: MTUs, the rate of a switch's own port (4x SDR in
        # ibsim), SLs that are dropped.
        for (guid, number), mtu in self.mtus.items():
            more = f"mtu: {mtu}" + (", rate: 10Gbps" if number == 0 else "")
            head = f"{{guid: {guid:#018x}, port: {number},"
            count = text.count(head)
            text = text.replace(head, f"{head} {more},")
            if count != 1:
                raise live.Failure(f"port {number} of {guid:#x} is {count} times in {FABRIC_FILE}")
        # All have the same table; a host and a switch stand for them.
        self.dropped = self.opensm.vl15_sls([self.ports[0], self.ports[-1]])
        if self.dropped:
            text += f"vl15-sls: {sorted(self.dropped)}\n"
        for path in (FABRIC_FILE, self.file("fabric.yaml")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.fabric = text
        live.run("rdma-qosctl", "import-opensm", self.file("policy.conf"), "--output", self.file("policy.yaml"))

    def differs(self, what, theirs, ours):
        self.found.append(what)
        print(f"{what}: OpenSM has {theirs}, rdma-qosctl {ours} (files: {self.directory})")

    def compare_paths(self, count):
        questions = [Question(self.rng, self.ports, self.lmc, self.policy, self.partitions) for _ in range(count)]

        def ask(question):
            return (self.opensm.path_records(*question.saquery),
                    [our_answer(self.file(name), question.query_path) for name in ("policy.conf", "policy.yaml")])

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(ask, questions))
        for question, (theirs, ours) in zip(questions, answers):
            self.counts["path queries"] += 1
            for form, answer in zip(("native", "imported"), ours):
                if answer != theirs:
                    self.differs(f"{form}: saquery PathRecord {' '.join(question.saquery)}; query-path "
                                 f"{' '.join(question.query_path)}", theirs or "none", answer or "none")

    def compare_tables(self):
        """What the fabric file says of ports and partitions."""
        for (guid, number), pkeys in self.tables.items():
            line = re.search(rf"\{{guid: {guid:#018x}, port: {number},.*", self.fabric).group(0)
            said = re.search(r"pkeys: \[([^]]*)\]", line)
            ours = {int(word, 16) for word in said.group(1).split(", ")} if said else set()
            self.counts["P_Key tables"] += 1
            if ours != pkeys:
                self.differs(f"P_Keys of port {number} of {guid:#x}", sorted(map(hex, pkeys)), sorted(map(hex, ours)))
        for name, number, broadcast in re.findall(
                r"- name: (.*)\n\s+pkey: (\w+)(?:\n\s+ipoib: \{(.*)\})?", self.fabric):
            pkey = int(number, 16)
            host = next((port["description"] for port in self.ports if port["type"] == "CA" and port["port"] == 1 and
                         pkey in {key & 0x7FFF for key in self.tables[port["guid"], port["port"]]}), None)
            if host is None:
                continue    # nobody can ask
            self.counts["broadcast groups"] += 1
            theirs = self.opensm.broadcast_group(pkey, host)
            ours = None
            if broadcast:
                words = dict(item.split(": ") for item in broadcast.split(", "))
                gbps = float(words["rate"].removesuffix("Gbps"))
                ours = (int(words["mtu"]), int(gbps * 1_000_000), int(words["sl"]))
            if ours != theirs:
                self.differs(f"broadcast group of {name}, {pkey:#x}", theirs, ours)

    def compare_sls(self):
        """A path in each SL, or none."""
        a, b = [port for port in self.ports if port["type"] == "CA"][:2]
        lids = (a["lid"], b["lid"])
        for sl in range(16):
            with open(self.file("sl.conf"), "w", encoding="utf-8") as file:
                file.write(f"qos-levels\nqos-level\nname: DEFAULT\nsl: {sl}\nend-qos-level\nend-qos-levels\n")
            ours = our_answer(self.file("sl.conf"), ["--source", f"lid:{lids[0]}", "--destination", f"lid:{lids[1]}"])
            self.counts["SLs"] += 1
            if (not ours) != (sl in self.dropped) and not (not ours and not self.shares(a, b)):
                self.differs(f"SL {sl}", "VL15" if sl in self.dropped else "a VL", ours or "none")

    def shares(self, a, b):
        tables = [self.tables[port["guid"], port["port"]] for port in (a, b)]
        return any(x & 0x7FFF == y & 0x7FFF and (x | y) & 0x8000 for x in tables[0] for y in tables[1])


def main():
    seed, queries, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = random.Random(seed)
    counts = {}
    differences = 0
    worlds = len(fabrics.SHAPES) * POLICIES_PER_SHAPE
    for number, (shape, make, lmc) in enumerate(fabrics.SHAPES):
        mtus = {}
        simulator = live.Simulator(os.path.join(directory, f"fabric-{number}"), make(rng))
        try:
            for policy in range(POLICIES_PER_SHAPE):
                world = World(simulator, os.path.join(directory, f"fabric-{number}-policy-{policy}"), rng, lmc,
                              mtus)
                try:
                    world.compare_tables()
                    world.compare_sls()
                    index = number * POLICIES_PER_SHAPE + policy
                    world.compare_paths(queries * (index + 1) // worlds - queries * index // worlds)
                finally:
                    world.opensm.end()
                for what, count in world.counts.items():
                    counts[what] = counts.get(what, 0) + count
                if world.found:
                    print(f"{len(world.found)} differences with seed {seed}, {shape}, policy {policy}")
                differences += len(world.found)
        finally:
            simulator.end()
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f": {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (live.Failure, OSError) as failure:
        print(f"compare.py: {failure}", file=sys.stderr)
        sys.exit(2)
