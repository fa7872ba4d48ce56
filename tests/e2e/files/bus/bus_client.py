#!/usr/bin/python3
"""A client of rdma-qosd's D-Bus API by one of the libraries or commands that Debian has.

    bus_client.py CLIENT TRANSPORT read             prints each property of each object as JSON, read in three ways
    bus_client.py CLIENT TRANSPORT glance           the same without a call for each property
    bus_client.py CLIENT TRANSPORT hold LEVEL       registers and attaches queue pairs with the descriptor of their device, prints
                                                    what it was granted as JSON, and waits to be killed
    bus_client.py CLIENT TRANSPORT watch            prints "watching", then a line for each signal, until it is killed
    bus_client.py CLIENT TRANSPORT check FILE       calls Check with the descriptor of a policy, prints the report
    bus_client.py CLIENT version

TRANSPORT is `system` or `socket`, the daemon's own; `socket-hello` is the socket for libraries that begin with Hello.
Status 3: this client has no way to do that, and says why.
"""

import array
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import xml.etree.ElementTree

SOCKET = "unix:path=/run/rdma-qos/bus"
NAME = "org.rdmaqos1"
ROOT = "/org/rdmaqos1"
MANAGER = "org.rdmaqos1.Manager"
SESSION = "org.rdmaqos1.Session"
PROPERTIES = "org.freedesktop.DBus.Properties"
DEVICE = "mlx5_0"


def unable(why):
    print(why)
    sys.exit(3)


# ---- libraries: call() takes a signature and arguments in which a variant is (signature, value), and returns plain values ----


class Jeepney:
    def __init__(self, transport):
        import jeepney.io.blocking as blocking

        if transport == "socket":
            unable("begins with Hello on every connection")
        self.connection = blocking.open_dbus_connection("SYSTEM" if transport == "system" else SOCKET, enable_fds=transport != "system")

    @staticmethod
    def version():
        import jeepney

        return jeepney.__version__

    def plain(self, value):
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
            return self.plain(value[1])
        if isinstance(value, (tuple, list)):
            return [self.plain(each) for each in value]
        if isinstance(value, dict):
            return {key: self.plain(each) for key, each in value.items()}
        return value

    def call(self, path, interface, method, signature="", *arguments):
        from jeepney import DBusAddress, MessageType, new_method_call

        address = DBusAddress(path, NAME, interface)
        answer = self.connection.send_and_get_reply(new_method_call(address, method, signature or None, arguments))
        if answer.header.message_type == MessageType.error:
            raise RuntimeError(f"{method}: {answer.body}")
        return [self.plain(each) for each in answer.body]

    def watch(self, report):
        from jeepney import HeaderFields, MessageType, message_bus

        matches = message_bus.AddMatch(f"type='signal',path_namespace='{ROOT}'")
        self.connection.send_and_get_reply(matches)
        self.call(ROOT, MANAGER, "Subscribe")
        print("watching", flush=True)
        while True:
            message = self.connection.receive()
            if message.header.message_type == MessageType.signal:
                fields = message.header.fields
                report(fields[HeaderFields.path], fields[HeaderFields.member], self.plain(list(message.body)))


def typed(value, variant, index_of):
    """An argument with its variants, which are tuples of a signature and a value. `index_of` takes a descriptor along."""
    if isinstance(value, tuple):
        kind, content = value
        return variant(kind, typed(index_of(content) if kind == "h" else content, variant, index_of))
    if isinstance(value, list):
        return [typed(each, variant, index_of) for each in value]
    if isinstance(value, dict):
        return {key: typed(each, variant, index_of) for key, each in value.items()}
    return value


class DBusNext:
    """dbus-fast is made from it, and has the same interface."""

    name = "dbus_next"

    def __init__(self, transport):
        import asyncio
        import importlib

        self.library = importlib.import_module(self.name)
        if transport == "socket":
            unable("begins with Hello on every connection")
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        aio = importlib.import_module(self.name + ".aio")
        where = {"bus_type": self.library.BusType.SYSTEM} if transport == "system" else {"bus_address": SOCKET}

        async def connect():
            return await aio.MessageBus(negotiate_unix_fd=transport != "system", **where).connect()

        self.bus = self.loop.run_until_complete(connect())

    @classmethod
    def version(cls):
        import importlib.metadata

        return importlib.metadata.version(cls.name)

    def plain(self, value):
        if isinstance(value, self.library.Variant):
            return self.plain(value.value)
        if isinstance(value, (tuple, list)):
            return [self.plain(each) for each in value]
        if isinstance(value, dict):
            return {key: self.plain(each) for key, each in value.items()}
        return value

    def call(self, path, interface, method, signature="", *arguments):
        descriptors = []

        def index_of(descriptor):
            descriptors.append(descriptor)
            return len(descriptors) - 1

        body = [typed(each, self.library.Variant, index_of) for each in arguments]
        if signature == "h":
            descriptors, body = body, [0]
        message = self.library.Message(destination=NAME, path=path, interface=interface, member=method, signature=signature,
                                       body=body, unix_fds=descriptors)
        answer = self.loop.run_until_complete(self.bus.call(message))
        if answer.message_type == self.library.MessageType.ERROR:
            raise RuntimeError(f"{method}: {answer.body}")
        return [self.plain(each) for each in answer.body]

    def watch(self, report):
        """By the proxy of a device: it asks the bus for its signals, and takes those of their sender alone."""

        def changes_of(path):
            return lambda interface, changed, gone: report(path, "PropertiesChanged", self.plain([interface, changed, gone]))

        async def follow():
            objects = await self.bus.introspect(NAME, ROOT + "/device")
            for node in objects.nodes:
                path = f"{ROOT}/device/{node.name.split('/')[-1]}"
                proxy = self.bus.get_proxy_object(NAME, path, await self.bus.introspect(NAME, path))
                proxy.get_interface(PROPERTIES).on_properties_changed(changes_of(path))
            manager = self.bus.get_proxy_object(NAME, ROOT, await self.bus.introspect(NAME, ROOT)).get_interface(MANAGER)
            manager.on_policy_changed(lambda revision: report(ROOT, "PolicyChanged", [revision]))
            await manager.call_subscribe()
            print("watching", flush=True)
            await self.bus.wait_for_disconnect()

        self.loop.run_until_complete(follow())


class DBusFast(DBusNext):
    name = "dbus_fast"


class GLibProxies:
    def __init__(self, transport):
        from gi.repository import Gio, GLib

        self.gio, self.glib = Gio, GLib
        # At the system bus proxies know their peer by its name, at the socket there is one peer.
        self.name = NAME
        if transport == "system":
            self.connection = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
        else:
            flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
            if transport == "socket-hello":
                flags |= Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
            else:
                self.name = None
            self.connection = Gio.DBusConnection.new_for_address_sync(SOCKET, flags, None, None)

    @staticmethod
    def version():
        from gi.repository import GLib

        return f"{GLib.MAJOR_VERSION}.{GLib.MINOR_VERSION}.{GLib.MICRO_VERSION}"

    def call(self, path, interface, method, signature="", *arguments):
        descriptors = self.gio.UnixFDList.new()
        if signature == "h":
            arguments = [descriptors.append(arguments[0])]
        body = self.glib.Variant(f"({signature})", tuple(typed(each, self.glib.Variant, descriptors.append) for each in arguments))
        answer, _ = self.connection.call_with_unix_fd_list_sync(self.name, path, interface, method, body, None,
                                                                self.gio.DBusCallFlags.NONE, -1, descriptors, None)
        return unpacked(answer)

    def proxy(self, path, interface):
        """Made from the introspection, by which it checks what it reads."""
        (text,) = self.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")
        info = self.gio.DBusNodeInfo.new_for_xml(text).lookup_interface(interface)
        return self.gio.DBusProxy.new_sync(self.connection, self.gio.DBusProxyFlags.NONE, info, self.name, path, interface, None)

    def cached(self, path, interface):
        proxy = self.proxy(path, interface)
        return {name: unpacked(proxy.get_cached_property(name)) for name in proxy.get_cached_property_names() or []}

    def watch(self, report):
        proxies = []
        for path, interface in [(ROOT, MANAGER)] + [
                (path, each) for path, interfaces in self.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0].items()
                for each in interfaces if each.startswith(NAME)]:
            proxy = self.proxy(path, interface)
            proxy.connect("g-properties-changed", lambda _, changed, gone, path=path, interface=interface: report(
                path, "PropertiesChanged", [interface, changed.unpack(), list(gone)]))
            proxy.connect("g-signal", lambda _, sender, member, body, path=path: report(path, member, body.unpack()))
            proxies.append(proxy)
        self.call(ROOT, MANAGER, "Subscribe")
        print("watching", flush=True)
        self.glib.MainLoop().run()


class DBusPython:
    def __init__(self, transport):
        import dbus
        import dbus.bus
        import dbus.connection
        import dbus.mainloop.glib

        self.dbus = dbus
        loop = dbus.mainloop.glib.DBusGMainLoop()
        self.name = NAME
        if transport == "system":
            self.connection = dbus.SystemBus(mainloop=loop)
        elif transport == "socket":
            self.connection = dbus.connection.Connection(SOCKET, mainloop=loop)
            self.name = None
            # It authenticates with the first call, and before that it does not know that it may pass descriptors.
            self.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")
        else:
            self.connection = dbus.bus.BusConnection(SOCKET, mainloop=loop)

    @staticmethod
    def version():
        import dbus

        return dbus.__version__

    def plain(self, value):
        if isinstance(value, self.dbus.Boolean):
            return bool(value)
        if isinstance(value, (str, self.dbus.ObjectPath)):
            return str(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, dict):
            return {str(key): self.plain(each) for key, each in value.items()}
        return [self.plain(each) for each in value]

    def typed(self, value):
        dbus = self.dbus
        if isinstance(value, dict):
            return dbus.Dictionary({key: self.typed(each) for key, each in value.items()}, signature="sv")
        kind, content = value
        if kind == "aa{sv}":
            return dbus.Array([self.typed(each) for each in content], signature="a{sv}", variant_level=1)
        return {"s": dbus.String, "u": dbus.UInt32, "h": dbus.types.UnixFd}[kind](content, variant_level=1)

    def call(self, path, interface, method, signature="", *arguments):
        if signature == "h":
            arguments = [self.dbus.types.UnixFd(arguments[0])]
        elif signature == "a{sv}":
            arguments = [self.typed(arguments[0])]
        elif signature == "aa{sv}":
            arguments = [self.dbus.Array([self.typed(each) for each in arguments[0]], signature="a{sv}")]
        answer = self.connection.call_blocking(self.name, path, interface, method, signature, arguments)
        if answer is None:
            return []
        return [self.plain(each) for each in (answer if isinstance(answer, tuple) else [answer])]

    def watch(self, report):
        from gi.repository import GLib

        self.connection.add_signal_receiver(
            lambda *body, path, member: report(path, member, self.plain(body)), path_keyword="path", member_keyword="member")
        self.call(ROOT, MANAGER, "Subscribe")
        print("watching", flush=True)
        GLib.MainLoop().run()


# ---- commands: a process for each call; a call with variants only where the command can write them ----


def unpacked(variant):
    """Structures become lists, as in JSON."""
    value = variant.unpack()
    return json.loads(json.dumps(value))


def run(*words, descriptor=None):
    done = subprocess.run(words, capture_output=True, text=True, pass_fds=[] if descriptor is None else [descriptor], check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


class Busctl:
    def __init__(self, transport):
        if transport == "socket":
            unable("begins with Hello on every connection")
        self.options = ["--system"] if transport == "system" else ["--address=" + SOCKET]

    @staticmethod
    def version():
        return run("busctl", "--version").split()[1]

    def plain(self, value):
        if isinstance(value, dict) and set(value) == {"type", "data"}:
            return self.plain(value["data"])
        if isinstance(value, list):
            return [self.plain(each) for each in value]
        if isinstance(value, dict):
            return {key: self.plain(each) for key, each in value.items()}
        return value

    def call(self, path, interface, method, signature="", *arguments):
        if set(signature) - {"s"}:
            unable("has no descriptors among its types")
        said = run("busctl", *self.options, "--json=short", "call", NAME, path, interface, method, *([signature] if signature else []),
                   *arguments)
        return self.plain(json.loads(said)["data"]) if said.strip() else []

    def watch(self, report):
        if self.options != ["--system"]:
            unable("monitors a bus, not a socket")
        monitor = subprocess.Popen(["busctl", "--json=short", "monitor", NAME], stdout=subprocess.PIPE, text=True)
        print("watching", flush=True)
        for line in monitor.stdout:
            message = json.loads(line)
            if message["type"] == "signal":
                report(message["path"], message["member"], self.plain(message["payload"]["data"]))


class SdbusCpp:
    """A program in C++, which is given the action; it has none of its own for single calls."""

    program = "/tmp/rdma-qos-e2e/sdbus_client"

    def __init__(self, transport):
        self.transport = transport

    @staticmethod
    def version():
        return run("dpkg-query", "-W", "-f", "${Version}", "libsdbus-c++-dev").split("-")[0]

    def act(self, *words):
        sys.stdout.flush()
        os.execv(self.program, [self.program, self.transport, *words])


class GDBus:
    def __init__(self, transport):
        if transport == "socket":
            unable("begins with Hello on every connection")
        self.options = ["--system" if transport == "system" else "--address=" + SOCKET, "--dest", NAME]

    @staticmethod
    def version():
        return GLibProxies.version()

    def call(self, path, interface, method, signature="", *arguments):
        from gi.repository import GLib

        words = [f"handle {arguments[0]}"] if signature == "h" else [json.dumps(each) for each in arguments]
        if signature not in ("", "s", "ss", "h"):
            unable("passes a descriptor as an argument of its own, not one in a dictionary")
        said = run("gdbus", "call", *self.options, "--object-path", path, "--method", f"{interface}.{method}", *words,
                   descriptor=arguments[0] if signature == "h" else None)
        return json.loads(json.dumps(list(GLib.Variant.parse(None, said.strip(), None, None).unpack())))

    def watch(self, report):
        if "--system" not in self.options:
            unable("monitors a bus, not a socket: it has no connection on which to subscribe")
        monitor = subprocess.Popen(["gdbus", "monitor", *self.options], stdout=subprocess.PIPE, text=True)
        for line in monitor.stdout:
            found = re.match(r"(/[^:]*): ([\w.]*)\.(\w+) \((.*)\)", line)
            if found:
                report(found[1], found[3], [found[4]])
            elif "is owned by" in line:
                print("watching", flush=True)


class DBusSend:
    def __init__(self, transport):
        self.options = {
            "system": ["--system", "--dest=" + NAME],
            "socket": ["--peer=" + SOCKET],
            "socket-hello": ["--bus=" + SOCKET, "--dest=" + NAME],
        }[transport]

    @staticmethod
    def version():
        return run("dbus-daemon", "--version").split()[4].strip()

    def call(self, path, interface, method, signature="", *arguments):
        if set(signature) - {"s"}:
            unable("has neither descriptors nor dictionaries with variants")
        said = run("dbus-send", *self.options, "--print-reply", path, f"{interface}.{method}", *[f"string:{each}" for each in arguments])
        self.text, self.at = said.split("\n", 1)[1], 0
        if method == "Introspect":    # quotes in strings are not escaped
            return [self.text[self.text.index('"') + 1:self.text.rindex('"')]]
        values = []
        while self.text[self.at:].strip():
            values.append(self.value())
        return values

    def take(self, pattern):
        found = re.compile(r"\s*" + pattern, re.S).match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def value(self):
        if self.take("variant"):
            return self.value()
        found = self.take(r'(?:string|object path|signature) "(.*?)"(?=\n)')
        if found:
            return found[1]
        found = self.take(r"boolean (\w+)")
        if found:
            return found[1] == "true"
        found = self.take(r"(?:byte|u?int\d+) (\d+)")
        if found:
            return int(found[1])
        if self.take(r"(?:array \[|struct \{)"):
            values, pairs = [], {}
            while not self.take(r"[\]}]"):
                if self.take(r"dict entry\("):
                    key = self.value()
                    pairs[key] = self.value()
                    self.take(r"\)")
                else:
                    values.append(self.value())
            return pairs or values
        raise RuntimeError(f"dbus-send: not understood: {self.text[self.at:self.at + 60]!r}")

    def watch(self, report):
        if "--system" not in self.options:
            unable("dbus-monitor monitors a bus, not a socket: it has no connection on which to subscribe")
        monitor = subprocess.Popen(["dbus-monitor", "--system", f"type='signal',sender='{NAME}'"], stdout=subprocess.PIPE, text=True)
        for line in monitor.stdout:
            found = re.match(r"signal .* path=([^;]*); .*member=(\w+)", line)
            if found and found[1].startswith(ROOT):
                report(found[1], found[2], [])
            elif "NameAcquired" in line:
                print("watching", flush=True)


CLIENTS = {
    "busctl": Busctl,
    "gdbus": GDBus,
    "dbus-send": DBusSend,
    "dbus-python": DBusPython,
    "jeepney": Jeepney,
    "dbus-next": DBusNext,
    "dbus-fast": DBusFast,
    "glib": GLibProxies,
    "sdbus-c++": SdbusCpp,
}

# ---- what is done with them ----


def properties_of(text):
    """By interface: the names in an introspection."""
    found = {}
    for interface in xml.etree.ElementTree.fromstring(text).iter("interface"):
        if interface.get("name").startswith(NAME):
            found[interface.get("name")] = [each.get("name") for each in interface.iter("property")]
    return found


def glance(client):
    read(client, each=False)


def read(client, each=True):
    (managed,) = client.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
    one_by_one, at_once = {}, {}
    for path in [ROOT, *managed]:
        if each:
            (text,) = client.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")
            interfaces = properties_of(text)
        else:
            interfaces = {name: [] for name in managed.get(path, [MANAGER]) if name.startswith(NAME)}
        for interface, names in interfaces.items():
            one_by_one[f"{path} {interface}"] = {name: client.call(path, PROPERTIES, "Get", "ss", interface, name)[0] for name in names}
            at_once[f"{path} {interface}"] = client.call(path, PROPERTIES, "GetAll", "s", interface)[0]
    managed = {f"{path} {interface}": values for path, interfaces in managed.items() for interface, values in interfaces.items()
               if interface.startswith(NAME)}
    result = {"Get": one_by_one, "GetAll": at_once, "GetManagedObjects": managed}
    if isinstance(client, GLibProxies):
        result["proxies"] = {key: client.cached(*key.split()) for key in at_once}
    print(json.dumps(result, sort_keys=True))


def handles_of_queue_pairs(descriptor):
    """Of an open device, as the kernel lists them (rdma/ib_user_ioctl_cmds.h)."""
    total, handles = array.array("I", [0]), array.array("I", bytes(4 * 64))
    attributes = (struct.pack("=HHHHQ", 0, 8, 1, 0, 4) + struct.pack("=HHHHQ", 1, 4, 3, 0, total.buffer_info()[0]) +
                  struct.pack("=HHHHQ", 2, 4 * len(handles), 3, 0, handles.buffer_info()[0]))
    fcntl.ioctl(descriptor, 0xC0181B01, bytearray(struct.pack("=HHHHQII", 24 + len(attributes), 0, 1, 3, 0, 1, 0) + attributes))
    return set(handles[: total[0]])


class QueuePairs:
    """Some in INIT, of a device that is open as long as this is."""

    def __init__(self, count):
        import pyverbs.enums as e
        from pyverbs.cq import CQ
        from pyverbs.device import Context
        from pyverbs.pd import PD
        from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

        self.context = Context(name=DEVICE)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.made = []
        for _ in range(count):
            before = handles_of_queue_pairs(self.context.cmd_fd)
            cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
            qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap))
            qp.to_init(QPAttr(port_num=1))
            (handle,) = handles_of_queue_pairs(self.context.cmd_fd) - before
            self.made.append((qp, handle))

    def request(self, index):
        qp, handle = self.made[index]
        return {"device": ("s", DEVICE), "number": ("u", qp.qp_num), "type": ("s", "rc"), "handle": ("u", handle),
                "uverbs": ("h", self.context.cmd_fd)}


def hold(client, level):
    if isinstance(client, (Busctl, GDBus, DBusSend)):
        client.call(ROOT, MANAGER, "Register", "a{sv}", {})
    queue_pairs = QueuePairs(2)
    if isinstance(client, SdbusCpp):
        descriptor = queue_pairs.context.cmd_fd
        os.set_inheritable(descriptor, True)
        client.act("hold", level, str(descriptor), *[str(number) for qp, handle in queue_pairs.made for number in (qp.qp_num, handle)])
    request = {"level": ("s", level), "queue-pairs": ("aa{sv}", [queue_pairs.request(0)])}
    session, grant = client.call(ROOT, MANAGER, "Register", "a{sv}", request)
    attached = client.call(session, SESSION, "Attach", "aa{sv}", [queue_pairs.request(1)])[0]
    print(json.dumps({"session": session, "grant": grant, "attached": attached}), flush=True)
    signal.pause()


def check(client, path):
    with open(path, "rb") as policy:
        print(json.dumps(client.call(ROOT, MANAGER, "Check", "h", policy.fileno())[0]))


def main():
    kind = CLIENTS[sys.argv[1]]
    if sys.argv[2] == "version":
        print(kind.version())
        return
    client = kind(sys.argv[2])
    action, *rest = sys.argv[3:]
    if isinstance(client, SdbusCpp) and action != "hold":
        client.act(action, *rest)
    if action == "watch":
        client.watch(lambda path, member, body: print(path, member, json.dumps(body, default=str), flush=True))
    else:
        {"read": read, "glance": glance, "hold": hold, "check": check}[action](client, *rest)


if __name__ == "__main__":
    main()
