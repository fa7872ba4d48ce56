"""A connection to the direct socket of rdma-qosd, for the examples in this folder.

Needs jeepney (Debian: python3-jeepney). jeepney's own connections work at this socket, too (open_dbus_connection with its address and
enable_fds=True). This class needs no Hello, and keeps the signals that come while a call waits for its answer. It does the reading and
writing with jeepney's parser, passes descriptors, and blocks: there is no event loop.
"""

import array
import socket

from jeepney import DBusAddress, HeaderFields, MessageType, Parser, new_method_call
from jeepney.auth import BEGIN, Authenticator

SOCKET = "/run/rdma-qos/bus"
NAME = "org.rdmaqos1"  # jeepney wants one; the direct socket ignores it
ROOT = "/org/rdmaqos1"
MANAGER = DBusAddress(ROOT, NAME, "org.rdmaqos1.Manager")


class CallFailed(Exception):
    pass


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        authenticator = Authenticator(enable_fds=True)
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

    def send(self, message):
        descriptors = array.array("i")
        data = message.serialise(self.serial, descriptors)
        sent = 0
        if descriptors:
            # They go with the first byte. The daemon gets copies: the program's own stay as they are.
            sent = self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        self.socket.sendall(data[sent:])

    def receive(self):
        message = self.parser.get_next_message()
        while message is None:
            self.parser.add_data(self.read())
            message = self.parser.get_next_message()
        return message

    def call(self, address, method, signature=None, body=()):
        self.serial += 1
        self.send(new_method_call(address, method, signature, body))
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
