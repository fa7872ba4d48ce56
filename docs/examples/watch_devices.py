#!/usr/bin/python3
"""Prints the devices and levels of rdma-qosd, then every change of a property.

It shows how to use the D-Bus API (docs/dbus.md) over the direct socket from Python: connect, Subscribe, read what there is, follow
PropertiesChanged. Everything is done with blocking reads, without an event loop.

Needs jeepney (Debian: python3-jeepney), and peer.py next to it.

    ./watch_devices.py [--changes N] [SOCKET]

It ends when it is interrupted, after N changed properties, or when the daemon goes away.
"""

import argparse
import sys

from jeepney import DBusAddress, HeaderFields
from peer import MANAGER, NAME, ROOT, SOCKET, CallFailed, Connection, plain

OBJECTS = DBusAddress(ROOT, NAME, "org.freedesktop.DBus.ObjectManager")
DEVICE = "org.rdmaqos1.Device"


def say(line):
    print(line, flush=True)


def device_line(device):
    findings = [plain(finding)["kind"] for finding in device["Findings"]]
    return (f"device {device['Name']}/{device['Port']}: {device['State']}, "
            f"leaves {device['LeavesUsed']} used {device['LeavesFree']} free, findings: {', '.join(findings) or 'none'}")


def level_line(level):
    return f"level {level['name']}: share {level.get('share', 'none')}, sessions {level['sessions']}"


def watch(connection, changes):
    connection.call(MANAGER, "Subscribe")

    names = {}

    def add(path, interfaces):
        if DEVICE in interfaces:
            device = plain(interfaces[DEVICE])
            names[path] = f"{device['Name']}/{device['Port']}"
            say(device_line(device))

    for path, interfaces in connection.call(OBJECTS, "GetManagedObjects")[0].items():
        add(path, interfaces)
    for level in connection.call(MANAGER, "ListLevels")[0]:
        say(level_line(plain(level)))

    while changes is None or changes > 0:
        signal = connection.next_signal()
        member = signal.header.fields[HeaderFields.member]
        if member == "InterfacesAdded":
            add(*signal.body)
        elif member == "InterfacesRemoved" and signal.body[0] in names:
            say(f"gone {names.pop(signal.body[0])}")
        elif member == "PropertiesChanged":
            path = signal.header.fields[HeaderFields.path]
            _, changed, invalidated = signal.body
            lines = [f"{name} = {value}" for name, value in plain(changed).items()]
            lines += [f"{name} changed" for name in invalidated]
            for line in lines[:changes]:
                say(f"change {names.get(path, path)}: {line}")
            if changes is not None:
                changes -= len(lines)


def main():
    arguments = argparse.ArgumentParser(description="Prints the devices and levels of rdma-qosd, then every change.")
    arguments.add_argument("socket", nargs="?", default=SOCKET)
    arguments.add_argument("--changes", type=int, metavar="N", help="end after N changed properties")
    options = arguments.parse_args()
    try:
        watch(Connection(options.socket), options.changes)
    except (CallFailed, OSError) as error:
        sys.exit(f"watch_devices.py: {error}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
