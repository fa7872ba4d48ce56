#!/usr/bin/env python3
"""Gives a living OpenSM on ibsim what `rdma-qosctl export opensm` prints, and reads the tables of all ports; then asks
`rdma-qosctl export opensm --compare` on each host, for this policy and for another one.

    virtual_lanes.py DIRECTORY

Prints each difference, then a line `N arbitration tables, N SL tables, N comparisons: N differences`. Exit status: 0 no difference, 1
some, 2 the comparison could not be made.
"""

import json
import os
import random
import re
import sys

import fabrics
import live

# What is between ibsim and a program that uses the kernel's umad itself (umad_port.cpp).
BETWEEN = "/usr/lib/rdma-qos-e2e/libe2e_umad_port.so"
POLICY = """version: 1
scheduling-nodes:
  - {name: tenants, share: 70}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, schedule: {parent: tenants, share: 1}}
  - {name: kv, sl: 4, schedule: {parent: tenants, share: 1}}
  - {name: bulk, sl: 5, schedule: {share: 30}}
  - {name: control, sl: 6, schedule: {strict: true, max-rate: 2Gbps}}
"""
# Of what control leaves: VL 0 has a tenth of the smallest share.
PARTS = {"": 3 / 1.03, "tenants": 70 / 1.03, "bulk": 30 / 1.03}
NEAR_ENOUGH = 3  # percent of the link


def arbitration(said):
    """{"Low": [(vl, weight)], "High": ...} of smpquery VLArbitration, in their order, without entries of no weight."""
    tables = {}
    for name, vls, weights in re.findall(r"^# (Low|High) priority[^\n]*\n(VL\s*:[^\n]*)\n(WEIGHT\s*:[^\n]*)", said, re.MULTILINE):
        entries = tables.setdefault(name, [])
        for vl, weight in zip(re.findall(r"0x(\w+)", vls), re.findall(r"0x(\w+)", weights)):
            if int(weight, 16):
                entries.append((int(vl, 16), int(weight, 16)))
    return tables


def parts(entries, packet):
    """Percent of a link by VL, while all are busy: in its turn a VL sends whole packets until its weight is used up."""
    sent = {}
    for vl, weight in entries:
        sent[vl] = sent.get(vl, 0) + -(-weight * 64 // packet) * packet
    return {vl: 100 * each / sum(sent.values()) for vl, each in sent.items()}


def wrong_parts(entries, lanes):
    """How a table divides a link otherwise than the policy, in words."""
    wanted = {lane["vl"]: PARTS[lane.get("child", "")] for lane in lanes if not lane["goes-first"]}
    for packet in (256, 1024, 2048, 4096):
        has = parts(entries, packet)
        if set(has) != set(wanted) or any(abs(has[vl] - wanted[vl]) > NEAR_ENOUGH for vl in wanted):
            return f"with packets of {packet} bytes: {has}, the policy has {wanted}"
    return ""


def compared(simulator, host, port, path):
    """(does the port divide its link by this policy, what was said)."""
    environment = dict(simulator.environment, SIM_HOST=host,
                       LD_PRELOAD=f"{BETWEEN} {simulator.environment['LD_PRELOAD']}")
    done = live.run("rdma-qosctl", "export", "opensm", "--compare", f"ibsim0/{port}", path, environment=environment,
                    check=False)
    if done.stderr or done.returncode not in (0, 3) or ("differs:" in done.stdout) != (done.returncode == 3):
        raise live.Failure(f"rdma-qosctl on {host}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done.returncode == 0, done.stdout


def main():
    directory = sys.argv[1]
    simulator = live.Simulator(os.path.join(directory, "fabric"), fabrics.ring(random.Random(1)))
    path = os.path.join(directory, "policy.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(POLICY)
    other_path = os.path.join(directory, "other.yaml")
    with open(other_path, "w", encoding="utf-8") as file:
        file.write(POLICY.replace("share: 30", "share: 50"))
    exported = json.loads(live.run("rdma-qosctl", "--json", "export", "opensm", path).stdout)
    low, high = ([(turn["vl"], turn["weight"]) for turn in exported[table]] for table in ("low", "high"))
    opensm = live.OpenSM(simulator, os.path.join(directory, "opensm"), "", "Default=0x7fff, ipoib: ALL=full;\n",
                         options=exported["conf"])
    differences = 0
    counts = {"arbitration": 0, "sl": 0, "compared": 0}
    try:
        if len({vl for vl, _ in low}) != len(PARTS) or len(low) == len(PARTS) or not high:
            raise live.Failure(f"the policy has no lane with several entries, or none that goes first: {low}, {high}")
        for port in simulator.ports():
            if port["type"] != "CA":
                continue
            tables = arbitration(simulator.diags("smpquery", "VLArb", port["lid"], port["port"]).stdout)
            counts["arbitration"] += 1
            if tables.get("Low") != low or tables.get("High") != high:
                differences += 1
                print(f"{port['description']} port {port['port']}: has {tables}, exported was low {low}, high {high}")
            wrong = wrong_parts(tables.get("Low", []), exported["lanes"])
            if wrong:
                differences += 1
                print(f"{port['description']} port {port['port']} divides its link {wrong}")
            said = simulator.diags("smpquery", "SL2VL", port["lid"]).stdout
            for row in re.findall(r"out\s+\d+: \|(.*)\|", said):
                counts["sl"] += 1
                if [int(vl) for vl in row.split("|")] != exported["sl2vl"]:
                    differences += 1
                    print(f"{port['description']}: has {row}, exported was {exported['sl2vl']}")
            if port["port"] == 1:    # ibsim gives a host its first port alone
                for policy, expected in ((path, True), (other_path, False)):
                    counts["compared"] += 1
                    alike, said = compared(simulator, port["description"], 1, policy)
                    if alike != expected:
                        differences += 1
                        print(f"{port['description']} by {policy}: {said}")
        if not all(counts.values()):
            raise live.Failure(f"nothing was compared: {counts}")
    finally:
        opensm.end()
        simulator.end()
    print(f"{counts['arbitration']} arbitration tables, {counts['sl']} SL tables, {counts['compared']} comparisons: "
          f"{differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (live.Failure, OSError) as failure:
        print(f"virtual_lanes.py: {failure}", file=sys.stderr)
        sys.exit(2)
