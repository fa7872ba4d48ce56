"""ibsim, OpenSM on it, and what the programs of infiniband-diags say of the two."""

import glob
import os
import re
import secrets
import subprocess
import time

MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
# kbit/s of the rates of a PathRecord.
RATE_KBPS = {number: int(gbps * 1_000_000) for number, gbps in {
    2: 2.5, 3: 10, 4: 30, 5: 5, 6: 20, 7: 40, 8: 60, 9: 80, 10: 120, 11: 14, 12: 56, 13: 112, 14: 168, 15: 25,
    16: 100, 17: 200, 18: 300, 19: 28, 20: 50, 21: 400, 22: 600}.items()}
SECONDS_TO_START = 60


class Failure(Exception):
    """What makes a comparison impossible."""


def run(*command, environment=None, check=True):
    done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr.strip()}")
    return done


class Simulator:
    """ibsim with a net file; the host whose name sorts first has the subnet manager."""

    def __init__(self, directory, net):
        self.directory = directory
        os.makedirs(directory)
        path = os.path.join(directory, "net")
        with open(path, "w", encoding="utf-8") as file:
            file.write(net)
        host = re.search(r'^Hca \d+ "([^"]*)"', net, re.MULTILINE).group(1)
        self.environment = dict(os.environ, IBSIM_SOCKNAME=f"rdma-qos-{secrets.token_hex(4)}", SIM_HOST=host, OSM_TMP_DIR=directory,
                                OSM_CACHE_DIR=directory,
                                LD_PRELOAD=glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0])
        plain = {key: value for key, value in self.environment.items() if key != "LD_PRELOAD"}
        with open(os.path.join(directory, "ibsim.log"), "w", encoding="utf-8") as log:
            # It ends with its input.
            self.process = subprocess.Popen(["ibsim", "-s", path], env=plain, stdin=subprocess.PIPE, stdout=log,
                                            stderr=log)
        self.wait_for("ibsim answers", lambda: run("ibnetdiscover", environment=self.environment, check=False)
                      .returncode == 0)

    def wait_for(self, what, condition):
        end = time.monotonic() + SECONDS_TO_START
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failure(f"not within {SECONDS_TO_START} s: {what}")
            time.sleep(0.1)

    def diags(self, *command, check=True):
        return run(*command, environment=self.environment, check=check)

    def discovery(self):
        return self.diags("ibnetdiscover").stdout

    def ports(self):
        """Of CAs those with a link, of switches port 0."""
        ports = []
        node = None
        for line in self.discovery().splitlines():
            if match := re.match(r'(Switch|Ca)\s+\d+ "([^"]*)"\s+# "([^"]*)"(?: base port 0 lid (\d+))?', line):
                node = match
                if match.group(1) == "Switch":
                    ports.append({"guid": int(match.group(2)[2:], 16), "type": "SWITCH", "port": 0,
                                  "description": match.group(3), "lid": int(match.group(4))})
            elif node and node.group(1) == "Ca" and (match := re.match(r"\[(\d+)\]\((\w+)\)\s.*# lid (\d+) ", line)):
                ports.append({"guid": int(match.group(2), 16), "type": "CA", "port": int(match.group(1)),
                              "description": node.group(3), "lid": int(match.group(3))})
        return sorted(ports, key=lambda port: port["guid"])

    def mtu(self, port):
        """Bytes, of the port's link; the port 0 of a switch has none, and OpenSM takes what it can."""
        info = self.diags("smpquery", "PortInfo", port["lid"], port["port"]).stdout
        return int(re.search(("NeighborMTU" if port["port"] else "MtuCap") + r":\.+(\d+)", info).group(1))

    def end(self):
        self.process.kill()
        self.process.wait()


class OpenSM:
    """OpenSM with QoS, a policy and partitions. In `directory`, which is new."""

    def __init__(self, simulator, directory, policy, partitions, lmc=0, options=""):
        self.simulator = simulator
        os.makedirs(directory)
        paths = {}
        for name, text in (("policy.conf", policy), ("partitions.conf", partitions), ("opensm.conf", options)):
            paths[name] = os.path.join(directory, name)
            with open(paths[name], "w", encoding="utf-8") as file:
                file.write(text)
        self.log = os.path.join(directory, "opensm.log")
        # What an earlier one kept of LIDs is not read.
        environment = dict(simulator.environment, OSM_TMP_DIR=directory, OSM_CACHE_DIR=directory)
        with open(os.path.join(directory, "opensm.out"), "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                ["opensm", "-F", paths["opensm.conf"], "-Q", "-Y", paths["policy.conf"], "-P", paths["partitions.conf"],
                 "-l", str(lmc), "-r", "-s", "0", "-d2", "-f", self.log], env=environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=out)
        simulator.wait_for("OpenSM has set up the subnet", self.is_up)

    def said(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def is_up(self):
        if self.process.poll() is not None:
            raise Failure(f"OpenSM ended: {self.said()[-2000:]}")
        return "SUBNET UP" in self.said()

    def has_policy(self):
        return not re.search(r"ERR AC0[1-6]|ERR AC1[0-3]", self.said())

    def port_guid(self):
        return int(re.search(r"guid (0x\w+)", self.simulator.diags("sminfo").stdout).group(1), 16)

    def path_records(self, *options):
        """The set of answers: (MTU, rate, packet life, P_Key, SL)."""
        done = self.simulator.diags("saquery", "PathRecord", *options, check=False)
        fields = {name: [int(value, 0) for value in
                         re.findall(rf"^\s+{name}\.+(\S+)$", done.stdout, re.MULTILINE)]
                  for name in ("mtu", "rate", "pkt_life", "pkey", "sl")}
        records = set(zip((MTU_BYTES.get(mtu & 0x3F, 0) for mtu in fields["mtu"]),
                          (RATE_KBPS.get(rate & 0x3F, 0) for rate in fields["rate"]),
                          (life & 0x3F for life in fields["pkt_life"]), fields["pkey"], fields["sl"]))
        if not records and not re.search("No records|invalid|SA failed|no records", done.stdout + done.stderr, re.I):
            if done.returncode != 0 or done.stdout.strip():
                raise Failure(f"saquery PathRecord {' '.join(options)}: {done.stdout}{done.stderr}")
        return records

    # An answer of several segments does not get through ibsim whole: one record is asked for at a time.

    def pkeys(self, port):
        """What the port's table has, with membership bits."""
        said = self.simulator.diags("smpquery", "PKeys", port["lid"], port["port"]).stdout
        return {int(word, 16) for word in re.findall(r" (0x[0-9a-f]{4})\b", said)} - {0}

    def broadcast_group(self, pkey, host):
        """(MTU, rate, SL) of IPoIB's group, or nothing, as a host that is a member is answered."""
        environment = dict(self.simulator.environment, SIM_HOST=host)
        said = run("saquery", "MCMemberRecord", "--pkey", hex(pkey | 0x8000), environment=environment).stdout
        for record in said.split("MCMember Record dump:")[1:]:
            gid, mtu, rate, sl = (re.search(rf"{name}\.+(\S+)", record).group(1)
                                  for name in ("MGID", "mtu", "rate", "SL"))
            if gid == f"ff12:401b:{pkey | 0x8000:x}::ffff:ffff":
                return (MTU_BYTES[int(mtu, 0) & 0x3F], RATE_KBPS[int(rate, 0) & 0x3F], int(sl, 0))
        return None

    def vl15_sls(self, ports):
        """SLs that one of these maps to VL15."""
        sls = set()
        for port in ports:
            said = self.simulator.diags("smpquery", "SL2VL", port["lid"]).stdout
            for row in re.findall(r"out\s+\d+: \|(.*)\|", said):
                sls |= {sl for sl, vl in enumerate(row.split("|")) if int(vl) == 15}
        return sls

    def end(self):
        self.process.kill()
        self.process.wait()
