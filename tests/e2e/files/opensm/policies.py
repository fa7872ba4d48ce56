"""Random partitions.conf and policies that OpenSM accepts, from its grammar."""

DEFAULT_PKEY = 0x7FFF


def pick(rng, chance):
    return rng.random() < chance


def case_of(rng, word):
    return "".join(rng.choice([c.upper(), c.lower()]) for c in word)


class Partitions:
    """`text`: partitions.conf; `pkeys`: of 15 bits; `names`; `open`: those of which all ports are full members."""

    def __init__(self, rng, ports):
        self.rng = rng
        self.guids = [port["guid"] for port in ports]
        self.pkeys = [DEFAULT_PKEY]
        self.names = ["Default"]
        self.open = []
        lines = ["# partitions of a test"]
        default = rng.randrange(5)
        if default == 1:
            lines.append("Default=0x7fff, ipoib : ALL=full ;")
            self.open.append(DEFAULT_PKEY)
        elif default == 2:
            lines.append(f"Default=0x7fff, ipoib, sl={rng.randrange(8)}, defmember=full : ALL, SELF=full ;")
            self.open.append(DEFAULT_PKEY)
        elif default == 3:
            lines.append(f"Default=0x7fff,ipoib:ALL=limited,SELF=full,{self.members(6)};")
        elif default == 4:
            lines.append("Default=0xffff, ipoib, mtu=4: ALL_CAS=full, ALL_SWITCHES=limited;")
        self.add(lines, "open", ["ALL=full"])
        self.open.append(self.pkeys[-1])
        for i in range(rng.randint(1, 4)):
            members = [rng.choice(["ALL", "ALL_CAS", "ALL_SWITCHES", "SELF", "ALL_C", "ALL=limited", "ALL_CAS=full"])
                       for _ in range(rng.choice([0, 0, 1]))]
            self.add(lines, rng.choice([f"part{i}", f"a b {i}".replace(" ", "_"), ""]),
                     members + self.members(rng.randint(2, 12)).split(","))
        if pick(rng, 0.3):    # more of a partition that is there
            lines.append(f"{self.names[-1]}={self.pkeys[-1]:#x} : {self.members(3)};")
        self.text = "\n".join(lines) + "\n"

    def members(self, count):
        words = []
        for guid in self.rng.sample(self.guids, min(count, len(self.guids))):
            words.append(f"{guid:#x}" + self.rng.choice(["", "=full", "=full", "=limited", "=lim", "=f"]))
        return ",".join(words)

    def add(self, lines, name, members):
        rng = self.rng
        pkey = rng.choice([rng.randrange(1, 0x20), rng.randrange(1, DEFAULT_PKEY)])
        if pkey in self.pkeys:
            pkey = max(set(range(1, 0x100)) - set(self.pkeys))
        flags = []
        if pick(rng, 0.5):
            flags.append("ipoib")
            flags += [f for f in (f"sl={rng.randrange(16)}", f"mtu={rng.randint(1, 5)}", f"rate={rng.randint(2, 18)}",
                                  "scope=2", "Q_Key=0x1234") if pick(rng, 0.4)]
        elif pick(rng, 0.3):
            flags.append(f"sl={rng.randrange(16)}")
        if pick(rng, 0.3):
            flags.append("defmember=" + rng.choice(["full", "limited", "fu"]))
        number = f"{pkey | rng.choice([0, 0x8000]):#06x}"
        head = ", ".join([f"{name}={number}" if name else number, *flags])
        separator = rng.choice([", ", ",", ",\n    "])
        lines.append(f"{head} : {separator.join(members)} ;")
        self.pkeys.append(pkey)
        self.names.append(name or f"{pkey:04x}")


class Policy:
    """`text`: a native policy; `service_ids`, `classes`: numbers that its rules have, and their neighbours."""

    def __init__(self, rng, ports, partitions):
        self.rng = rng
        self.ports = ports
        self.partitions = partitions
        self.service_ids = {0x10000, 0x1FFFF, 0x20000, 0x1060CBC, 0x10648CA}
        self.classes = {1, 7}
        sections = [self.groups(), self.levels(), self.rules()]
        if pick(rng, 0.7):
            sections.append(self.ulps())
        rng.shuffle(sections)
        self.text = "\n".join(sections)

    # ---- values ----

    def ranges(self, highest, count, known=None):
        """Text of some ranges; adds bounds and their neighbours to `known`."""
        rng = self.rng
        words = []
        for _ in range(rng.randint(1, count)):
            first = rng.randrange(highest + 1)
            last = min(highest, first + rng.choice([0, 0, 1, 5, 300]))
            if known is not None:
                known.update(n for n in (first, last, first - 1, last + 1) if 0 <= n <= highest)
            form = rng.choice(["{:d}", "{:#x}"]).format
            words.append(form(first) if first == last else
                         f"{form(first)}-{form(last)}" if pick(rng, 0.9) else f"{form(last)} - {form(first)}")
        return rng.choice([",", ", "]).join(words)

    def pkeys(self, exist=False):
        rng = self.rng
        words = []
        for _ in range(rng.randint(1, 3)):
            pkey = rng.choice(self.partitions.pkeys)
            if exist or pick(rng, 0.7):
                words.append(f"{pkey | rng.choice([0, 0x8000]):#x}")
            else:
                words.append(f"{pkey:#x}-{min(DEFAULT_PKEY, pkey + rng.randrange(40)):#x}")
        return ", ".join(words)

    def guids(self):
        rng = self.rng
        words = []
        for _ in range(rng.randint(1, 5)):
            guid = rng.choice(self.ports)["guid"]
            words.append(f"{guid:#018x}" if pick(rng, 0.6) else f"{guid:#x}-{guid + rng.randrange(24):#x}")
        return ",".join(words)

    def comment(self):
        return self.rng.choice(["", "", "", "   # sl: 3", "\t# of a test, group: x"])

    def name_of(self, name):
        """As somebody refers to it: case is ignored."""
        return case_of(self.rng, name) if pick(self.rng, 0.2) else name

    # ---- sections ----

    def groups(self):
        rng = self.rng
        lines = ["port-groups"]
        self.group_names = []
        for i in range(rng.randint(3, 7)):
            name = rng.choice([f"g{i}", f'"storage {i}"', f"Virtual Servers {i}"])
            self.group_names.append(name)
            lines.append("port-group" + self.comment())
            entries = []
            for _ in range(rng.randint(1, 2)):
                kind = rng.randrange(6)
                if kind <= 1:
                    entries.append(f"port-guid: {self.guids()}")
                elif kind == 2:
                    chosen = rng.sample([p for p in self.ports if p["type"] == "CA"], 3)
                    entries.append("port-name: " + ", ".join(f'"{p["description"]}/P{p["port"]}"' for p in chosen))
                elif kind == 3:
                    entries.append(f"pkey: {self.pkeys()}")
                elif kind == 4:
                    entries.append(f"partition: {rng.choice(self.partitions.names)}")
                else:
                    types = rng.sample(["CA", "SWITCH", "ROUTER", "SELF", "ALL"], rng.choice([1, 1, 2]))
                    entries.append("node-type: " + ", ".join(case_of(rng, t) for t in types))
            entries.append(f"name: {name}")
            if pick(rng, 0.3):
                entries.append("use: whatever this is, of group 1 and name: x")
            rng.shuffle(entries)
            lines += [f"    {entry}{self.comment()}" for entry in entries]
            lines.append("end-port-group")
        return "\n".join([*lines, "end-port-groups"]) + "\n"

    def levels(self):
        rng = self.rng
        lines = ["qos-levels"]
        self.level_names = ["DEFAULT"] + [f"level_{c}" for c in "abcdefg"[:rng.randint(2, 7)]]
        for name in self.level_names:
            plain = name == "DEFAULT" and pick(rng, 0.7)
            entries = [f"name: {case_of(rng, name)}", f"sl: {rng.randrange(16)}"]
            entries += [entry for entry, chance in ((f"mtu-limit: {rng.randint(1, 5)}", 0.4),
                                                    (f"rate-limit: {rng.randint(2, 22)}", 0.4),
                                                    (f"packet-life: {rng.randrange(64)}", 0.4),
                                                    (f"pkey: {self.pkeys()}", 0.25),
                                                    ("path-bits: 1,2-4", 0.1)) if not plain and pick(rng, chance)]
            # The keyword of a second entry on a line is read; a digit behind a name is text.
            head, rest = entries[0], entries[1:]
            rng.shuffle(rest)
            lines += ["  qos-level", *[f"    {entry}{self.comment()}" for entry in [head, *rest]], "  end-qos-level"]
        return "\n".join([*lines, "end-qos-levels"]) + "\n"

    def rules(self):
        rng = self.rng
        lines = ["qos-match-rules"]
        for _ in range(rng.randint(3, 10)):
            entries = [f"qos-level-name: {self.name_of(rng.choice(self.level_names))}"]
            for _ in range(rng.choice([1, 1, 2, 2, 3])):
                kind = rng.randrange(6)
                if kind in (0, 1):
                    groups = ", ".join(self.name_of(g) for g in rng.sample(self.group_names, rng.choice([1, 1, 2])))
                    entries.append(f"{('source', 'destination')[kind]}: {groups}")
                elif kind == 2:
                    entries.append(f"qos-class: {self.ranges(4095, 4, self.classes)}")
                elif kind == 3:
                    entries.append(f"service-id: {self.ranges(rng.choice([0x20000, 2**63, 0x1070000]), 3, self.service_ids)}")
                elif kind == 4:
                    entries.append(f"pkey: {self.pkeys()}")
            if pick(rng, 0.3):
                entries.append("use: low latency, qos-class: 7")
                # A second `use` is an error.
            rng.shuffle(entries)
            lines += ["qos-match-rule", *[f"    {entry}{self.comment()}" for entry in entries], "end-qos-match-rule"]
        return "\n".join([*lines, "end-qos-match-rules"]) + "\n"

    def ulps(self):
        rng = self.rng
        lines = ["qos-ulps"]
        if pick(rng, 0.6):
            lines.append(f"default : {rng.randrange(16)}")
        for _ in range(rng.randint(1, 6)):
            kind = rng.randrange(9)
            if kind == 0:
                entry = rng.choice(["sdp", "rds", "iser", "SDP", "iSER"])
            elif kind == 1:
                ulp = rng.choice(["sdp", "rds", "iser"])
                ports = set()
                entry = f"{ulp}, port-num {self.ranges(0xFFFF, 2, ports)}"
                base = {"sdp": 0x10000, "rds": 0x1060000, "iser": 0x1060000}[ulp]
                self.service_ids.update(base + port for port in ports)
            elif kind == 2:
                entry = f"srp, target-port-guid {self.guids()}"
            elif kind == 3:
                entry = f"ipoib, pkey {rng.choice(self.partitions.open):#x}"
            elif kind == 4:
                entry = f"any, service-id {self.ranges(2**40, 3, self.service_ids)}"
            elif kind == 5:
                entry = f"any, pkey {self.pkeys()}"
            else:
                entry = f"any, {('target', 'source', 'source-target')[kind - 6]}-port-guid {self.guids()}"
            lines.append(f"  {entry} {rng.choice([': ', ':', '  :'])}{rng.randrange(16)}{self.comment()}")
        return "\n".join([*lines, "end-qos-ulps"]) + "\n"
