"""Two connected queue pairs of Debian's pyverbs, on two devices, exchange data; every byte of their memory is compared.

    pyverbs_exchange.py DEVICE DEVICE

The memory around the data must stay as it was, so all of a buffer is compared with what it should contain. InfiniBand
devices find each other by LID, others by GID.
"""
import random
import sys
import time

import pyverbs.device as device
import pyverbs.enums as enums
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

BUFFER = 1 << 20
ACCESS = (enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_WRITE | enums.IBV_ACCESS_REMOTE_READ |
          enums.IBV_ACCESS_REMOTE_ATOMIC)
# Begin and length of pieces: single bytes, across pages, longer than what the emulator moves in one go.
PIECES = [[(0, 1)], [(4095, 2)], [(1, 65537)], [(7, 3), (5000, 4096), (100001, 30001)], [(0, BUFFER)]]


def is_ethernet(context):
    return context.query_port(1).link_layer == enums.IBV_LINK_LAYER_ETHERNET


def address_of(context):
    if is_ethernet(context):
        return AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, 0), sgid_index=0), is_global=1, port_num=1)
    return AHAttr(dlid=context.query_port(1).lid, is_global=0, port_num=1)


class End:
    """A queue pair with a buffer, and what that should contain."""

    def __init__(self, name):
        self.context = device.Context(name=name)
        self.domain = PD(self.context)
        self.queue = CQ(self.context, 64)
        self.region = MR(self.domain, BUFFER, ACCESS)
        cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=4, max_recv_sge=4)
        self.pair = QP(self.domain, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.queue, rcq=self.queue, cap=cap))
        self.content = bytearray(BUFFER)

    def connect(self, other):
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = ACCESS
        attr.ah_attr = address_of(other.context)
        attr.path_mtu = enums.IBV_MTU_1024
        attr.dest_qp_num = other.pair.qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
        self.pair.to_rts(attr)

    def fill(self):
        self.content = bytearray(random.randbytes(BUFFER))
        self.region.write(bytes(self.content), BUFFER)

    def elements(self, pieces):
        return [SGE(self.region.buf + begin, length, self.region.lkey) for begin, length in pieces]

    def taken(self, pieces):
        return b''.join(bytes(self.content[begin:begin + length]) for begin, length in pieces)

    def put(self, pieces, data):
        for begin, length in pieces:
            self.content[begin:begin + length] = data[:length]
            data = data[length:]

    def check(self, what):
        found = self.region.read(BUFFER, 0)
        if found != self.content:
            at = next(place for place in range(BUFFER) if found[place] != self.content[place])
            raise AssertionError(f'{what}: byte {at} is {found[at]}, not {self.content[at]}')

    def completion(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            count, completions = self.queue.poll()
            if count > 0:
                return completions[0]
        raise AssertionError('no completion')

    def post(self, opcode, pieces, remote=None, key=None, immediate=0, atomic=None):
        request = SendWR(opcode=opcode, num_sge=len(pieces), sg=self.elements(pieces), imm_data=immediate)
        if atomic:
            request.set_wr_atomic(*atomic)
        elif remote is not None:
            request.set_wr_rdma(key, remote)
        self.pair.post_send(request)

    def finish(self, what):
        completion = self.completion()
        assert completion.status == enums.IBV_WC_SUCCESS, f'{what}: status {completion.status}'
        return completion


def length_of(pieces):
    return sum(length for _, length in pieces)


def exchange(here, there, name, opcode, pieces):
    """Sends, writes or reads, and compares both memories."""
    here.fill()
    there.fill()
    length = length_of(pieces)
    is_received = opcode in (enums.IBV_WR_SEND, enums.IBV_WR_SEND_WITH_IMM, enums.IBV_WR_RDMA_WRITE_WITH_IMM)
    is_send = opcode in (enums.IBV_WR_SEND, enums.IBV_WR_SEND_WITH_IMM)
    there_at = [(min(3, BUFFER - length), length)]
    if is_received:
        there.pair.post_recv(RecvWR(num_sge=1, sg=there.elements(there_at)))
    here.post(opcode, pieces, None if is_send else there.region.buf + there_at[0][0], there.region.rkey, 0x1234)
    here.finish(name)
    if is_received:
        received = there.finish(name + ', received')
        assert received.byte_len == length, f'{name}: {received.byte_len} bytes received'
        assert opcode == enums.IBV_WR_SEND or received.imm_data == 0x1234, f'{name}: immediate {received.imm_data:#x}'
    if opcode == enums.IBV_WR_RDMA_READ:
        here.put(pieces, there.taken(there_at))
    else:
        there.put(there_at, here.taken(pieces))
    here.check(name)
    there.check(name)


def atomics(here, there):
    """In the memory of the other end; what was there before comes back."""
    here.fill()
    there.fill()
    place = there.region.buf + 64
    before = int.from_bytes(there.content[64:72], 'little')
    steps = [('a fetch-and-add', enums.IBV_WR_ATOMIC_FETCH_AND_ADD, (7, 0), before + 7),
             ('a compare-and-swap', enums.IBV_WR_ATOMIC_CMP_AND_SWP, (before + 7, 99), 99),
             ('a compare-and-swap that does not', enums.IBV_WR_ATOMIC_CMP_AND_SWP, (98, 1), 99)]
    for name, opcode, (first, second), after in steps:
        here.put([(8, 8)], there.taken([(64, 8)]))
        there.put([(64, 8)], (after % (1 << 64)).to_bytes(8, 'little'))
        here.post(opcode, [(8, 8)], atomic=(there.region.rkey, place, first % (1 << 64), second))
        here.finish(name)
        here.check(name)
        there.check(name)


def datagram(here, there):
    """Between queue pairs for datagrams; a routing header comes with it on Ethernet."""
    key, length, route = 0x22222222, 1000, 40
    pairs = []
    for end in (here, there):
        end.fill()
        attr = QPAttr(port_num=1)
        attr.qkey = key
        cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
        init = QPInitAttr(qp_type=enums.IBV_QPT_UD, scq=end.queue, rcq=end.queue, cap=cap)
        pairs.append(QP(end.domain, init, attr))    # and is ready to send, of this type
    sender, receiver = pairs
    address = AH(here.domain, attr=address_of(there.context))
    receiver.post_recv(RecvWR(num_sge=1, sg=there.elements([(0, route + length)])))
    for sent in (length + 1, length):    # the first one does not fit: it is dropped, and leaves its place to the second
        request = SendWR(num_sge=1, sg=here.elements([(5, sent)]))
        request.set_wr_ud(address, receiver.qp_num, key)
        sender.post_send(request)
        here.finish('a datagram')
    received = there.finish('a datagram, received')
    assert (received.byte_len, received.src_qp) == (route + length, sender.qp_num), 'a datagram: its completion'
    assert bool(received.wc_flags & enums.IBV_WC_GRH) == is_ethernet(there.context), 'a datagram: its routing header'
    there.put([(0, route)], there.region.read(route, 0))
    there.put([(route, length)], here.taken([(5, length)]))
    there.check('a datagram')

    receiver.post_recv(RecvWR(num_sge=1, sg=[SGE(there.region.buf, route + length, there.region.lkey ^ 0x5500)]))
    sender.post_send(request)
    here.finish('a datagram to memory that must not be written')
    status = there.completion().status
    assert status == enums.IBV_WC_LOC_PROT_ERR, f'memory of a receive request that must not be written: status {status}'
    there.check('a datagram to memory that must not be written')


def refused(what, change):
    """A write that the other end does not allow: an error for its owner, and nothing is written."""
    here, there = connected()
    here.fill()
    there.fill()
    key = change(there)
    here.post(enums.IBV_WR_RDMA_WRITE, [(0, 64)], there.region.buf, key)
    status = here.completion().status
    assert status == enums.IBV_WC_REM_ACCESS_ERR, f'{what}: status {status}'
    there.check(what)


def without_access(end):
    end.region.rereg(enums.IBV_REREG_MR_CHANGE_ACCESS, end.domain, access=enums.IBV_ACCESS_LOCAL_WRITE)
    return end.region.rkey


def in_another_domain(end):
    end.other_domain = PD(end.context)
    end.region.rereg(enums.IBV_REREG_MR_CHANGE_PD, end.other_domain)
    return end.region.rkey


def moved(here, there):
    """A region that is registered anew, for other memory: what comes goes there."""
    here.fill()
    there.fill()
    memory = MR(there.domain, BUFFER, ACCESS)
    there.region.rereg(enums.IBV_REREG_MR_CHANGE_TRANSLATION, there.domain, memory.buf, BUFFER)
    here.post(enums.IBV_WR_RDMA_WRITE, [(0, BUFFER)], memory.buf, there.region.rkey)
    here.finish('a write to memory that was registered anew')
    assert memory.read(BUFFER, 0) == here.content, 'memory that was registered anew'


def registered_twice(here, there):
    """Memory that is registered twice, and loses one of its regions while data moves by the other."""
    here.fill()
    there.fill()
    for _ in range(5):
        other = MR(here.domain, BUFFER, ACCESS, address=here.region.buf)
        for _ in range(8):
            here.post(enums.IBV_WR_RDMA_WRITE, [(0, BUFFER)], there.region.buf, there.region.rkey)
        other.close()
        for _ in range(8):
            here.finish('a write while another region of its memory goes')
    there.put([(0, BUFFER)], here.content)
    there.check('memory that is registered twice')


def connected():
    here, there = End(sys.argv[1]), End(sys.argv[2])
    here.connect(there)
    there.connect(here)
    return here, there


def main():
    random.seed(1)
    here, there = connected()
    for name in ('SEND', 'SEND_WITH_IMM', 'RDMA_WRITE', 'RDMA_WRITE_WITH_IMM', 'RDMA_READ'):
        for pieces in PIECES:
            for one, other in ((here, there), (there, here)):
                what = f'{name} of {length_of(pieces)} bytes in {len(pieces)} pieces'
                exchange(one, other, what, getattr(enums, 'IBV_WR_' + name), pieces)
    atomics(here, there)
    registered_twice(here, there)
    datagram(here, there)
    moved(here, there)
    refused('a write with a wrong key', lambda end: end.region.rkey ^ 0x5500)
    refused('a write to memory that allows none any more', without_access)
    refused('a write to memory of another domain', in_another_domain)


main()
