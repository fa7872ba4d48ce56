#!/usr/bin/python3
"""dcb_stand_in.py EMULATOR STATE ARGUMENTS OF dcb...: sets the traffic classes of the emulated mlx5_0 as dcb(8) would
those of a network interface: iproute2 sends its messages in a way that the emulator does not see."""
import json
import os
import subprocess
import sys

EVERY = range(8)


def pairs(words):
    """["0:ets", "all:strict"] as a list of (number, value)."""
    for word in words:
        key, value = word.split(":")
        for number in EVERY if key == "all" else [int(key)]:
            yield number, value


def sections(arguments):
    """{"tc-bw": ["0:5", ...]} of ["tc-bw", "0:5", ...]."""
    found, key = {}, None
    for word in arguments:
        if word[0].isdigit() or word.startswith("all:"):
            found[key].append(word)
        else:
            key = word
            found[key] = []
    return found


def set_ets(state, given):
    state["tsa"].update((str(number), value) for number, value in pairs(given.get("tc-tsa", [])))
    state["bw"].update((str(number), value) for number, value in pairs(given.get("tc-bw", [])))
    state["prio"].update((str(number), value) for number, value in pairs(given.get("prio-tc", [])))


def words_of(state):
    words = []
    for number, kind in sorted(state["tsa"].items()):
        value = "strict" if kind == "strict" else state["bw"].get(number, "0")
        rate = state["rate"].get(number)
        words.append(f"tc{number}={value}" + (f",{rate}" if rate else ""))
    words += [f"prio{number}={value}" for number, value in sorted(state["prio"].items())]
    words += [f"dscp{number}={value}" for number, value in sorted(state["dscp"].items(), key=lambda each: int(each[0]))]
    return words or ["none"]


def main():
    emulator, file, what, verb, dev, _, *rest = sys.argv[1:]
    state = {"tsa": {}, "bw": {}, "prio": {}, "rate": {}, "dscp": {}}
    if os.path.exists(file):
        with open(file, encoding="utf-8") as saved:
            state = json.load(saved)
    given = sections(rest)
    if dev != "dev":
        sys.exit(f"dcb: {dev}?")
    if (what, verb) == ("ets", "set"):
        set_ets(state, given)
    elif what == "app" and verb in ("add", "replace"):
        for word in given["dscp-prio"]:
            key, value = word.split(":")
            state["dscp"][key] = value
    elif what == "app" and verb == "flush":
        state["dscp"] = {}
    elif (what, verb) == ("maxrate", "set"):
        state["rate"].update((str(number), value.replace("kbit", "kbps")) for number, value in
                             pairs(given["tc-maxrate"]))
    else:
        sys.exit(f"dcb: {what} {verb} is not what a stand-in knows")
    with open(file, "w", encoding="utf-8") as saved:
        json.dump(state, saved)
    subprocess.run([emulator, "ctl", "port-classes", "mlx5_0", *words_of(state)], check=True)


main()
