#!/usr/bin/python3
"""Sends authentication, BEGIN and a call of Check with a descriptor, before anything is answered.

    pipelined.py separate    the call in a message of its own
    pipelined.py split       the call in two pieces, the descriptor with the first
    pipelined.py together    all with one sendmsg, so that the descriptor comes with the first byte of the authentication
"""

import array
import os
import socket
import sys

from jeepney import DBusAddress, HeaderFields, MessageType, Parser, new_method_call

PATH = "/run/rdma-qos/bus"
POLICY = "/usr/lib/rdma-qos-e2e/files/base.yaml"


def main():
    how = sys.argv[1]
    hexed = str(os.getuid()).encode().hex().encode()
    words = b"\0AUTH EXTERNAL " + hexed + b"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"
    descriptors = array.array("i")
    with open(POLICY, "rb") as policy, socket.socket(socket.AF_UNIX) as peer:
        check = new_method_call(DBusAddress("/org/rdmaqos1", "org.rdmaqos1", "org.rdmaqos1.Manager"), "Check", "h", (policy.fileno(),))
        call = check.serialise(1, descriptors)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        peer.settimeout(60)
        peer.connect(PATH)
        if how == "together":
            peer.sendmsg([words + call], rights)
        else:
            peer.sendall(words)
            size = len(call) if how == "separate" else 20
            peer.sendmsg([call[:size]], rights)
            peer.sendall(call[size:])
        received = b""
        parser, message = None, None
        while message is None:
            try:
                data = peer.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                print("closed")
                return
            if parser is None:
                # OK and AGREE_UNIX_FD come first.
                received += data
                if received.count(b"\r\n") < 2:
                    continue
                _, agreed, data = received.split(b"\r\n", 2)
                if agreed != b"AGREE_UNIX_FD":
                    sys.exit(f"answered with {received}")
                parser = Parser()
            parser.add_data(data)
            message = parser.get_next_message()
        if message.header.message_type == MessageType.error:
            print(message.header.fields[HeaderFields.error_name], message.body)
        else:
            print(f"{message.header.message_type.name.replace('_', ' ')}, accepted {str(message.body[0]['accepted'][1]).lower()}")


if __name__ == "__main__":
    main()
