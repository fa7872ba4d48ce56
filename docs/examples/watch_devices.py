#!/usr/bin/python3
"""Prints the devices and levels of rdma-qosd, then every change of a property.

It shows how to use the D-Bus API (docs/dbus.md) over the direct socket from Python: connect, Subscribe, read what there is, follow
PropertiesChanged. Everything is done with blocking reads, without an event loop.

Needs jeepney (Debian: python3-jeepney). jeepney's own connections begin with Hello, which is a bus daemon's method; the direct socket has
none, so the class below does the reading and writing with jeepney's parser.

    ./watch_devices.py [--changes N] [SOCKET]

It ends when it is interrupted, after N changed properties, or when the daemon goes away.
"""

import argparse
import socket
import sys

from jeepney import DBusAddress, HeaderFields, MessageType, Parser, new_method_call
from jeepney.auth import BEGIN, Authenticator

NAME = "org.rdmaqos1"  # jeepney wants one; the direct socket ignores it
ROOT = "/org/rdmaqos1"
MANAGER = DBusAddress(ROOT, NAME, "org.rdmaqos1.Manager")
OBJECTS = DBusAddress(ROOT, NAME, "org.freedesktop.DBus.ObjectManager")
DEVICE = "org.rdmaqos1.Device"


class CallFailed(Exception):
    pass


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        authenticator = Authenticator()
        for line in authenticator:
            self.socket.sendall(line)
            authenticator.feed(self.read())
        self.socket.sendall(BEGIN)
        self.parser = Parser()
        self.serial = 0
        self.signals = []

    def read(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the daemon closed the connection")
        return data

    def receive(self):
        message = self.parser.get_next_message()
        while message is None:
            self.parser.add_data(self.read())
            message = self.parser.get_next_message()
        return message

    def call(self, address, method):
        self.serial += 1
        self.socket.sendall(new_method_call(address, method).serialise(self.serial))
        while True:
            message = self.receive()
            fields = message.header.fields
            if message.header.message_type == MessageType.signal:
                self.signals.append(message)
            elif fields.get(HeaderFields.reply_serial) != self.serial:
                continue
            elif message.header.message_type == MessageType.error:
                raise CallFailed(f"{fields[HeaderFields.error_name]}: {message.body[0] if message.body else ''}")
            else:
                return message.body

    def next_signal(self):
        """The oldest signal that was not handed out yet; some come while call() waits for its answer."""
        while not self.signals:
            message = self.receive()
            if message.header.message_type == MessageType.signal:
                self.signals.append(message)
        return self.signals.pop(0)


def plain(dictionary):
    """jeepney gives a variant as (signature, value)."""
    return {key: value for key, (_, value) in dictionary.items()}


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
    arguments.add_argument("socket", nargs="?", default="/run/rdma-qos/bus")
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
