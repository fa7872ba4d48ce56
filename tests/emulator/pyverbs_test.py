"""Debian's pyverbs: device, PD, CQ, queue pairs, and the mlx5 classes for scheduling elements."""
import errno
import os
import socket
import struct
import unittest

import pyverbs.device as device
import pyverbs.enums as enums
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.providers.mlx5.mlx5dv import Mlx5Context, Mlx5DVContextAttr, Mlx5QP
from pyverbs.providers.mlx5.mlx5dv_sched import Mlx5dvSchedAttr, Mlx5dvSchedLeaf, Mlx5dvSchedNode
from pyverbs.providers.mlx5 import mlx5_enums
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

SHARE = mlx5_enums.MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE
RATE = mlx5_enums.MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW
ACCESS = enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_READ | enums.IBV_ACCESS_REMOTE_WRITE


def attributes(parent=None, share=0, rate=0):
    flags = (SHARE if share else 0) | (RATE if rate else 0)
    return Mlx5dvSchedAttr(parent, flags=flags, bw_share=share, max_avg_bw=rate)


class DeviceTest(unittest.TestCase):
    def test_list(self):
        names = sorted(each.name.decode() for each in device.get_device_list())
        self.assertEqual(names, ['mlx5_0', 'mlx5_1'])

    def test_query(self):
        with device.Context(name='mlx5_0') as context:
            attr = context.query_device()
            self.assertGreater(attr.max_qp, 0)
            self.assertEqual(attr.phys_port_cnt, 1)
            extended = context.query_device_ex()
            self.assertEqual(extended.packet_pacing_caps.supported_qpts, 1 << enums.IBV_QPT_RAW_PACKET)
            port = context.query_port(1)
            self.assertEqual(port.state, enums.IBV_PORT_ACTIVE)
            self.assertNotEqual(str(context.query_gid(1, 0)), '::')
            self.assertGreater(len(context.query_gid_table(16)), 0)
            self.assertEqual(context.query_pkey(1, 0), 0xffff)

    def test_objects(self):
        with device.Context(name='mlx5_0') as context, PD(context) as pd, CQ(context, 100) as cq:
            self.assertGreaterEqual(cq.cqe, 100)
            with MR(pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE) as mr:
                mr.write('abc', 3)
                self.assertEqual(mr.read(3, 0), b'abc')


    def test_advice(self):
        with device.Context(name='mlx5_0') as context, PD(context) as pd, PD(context) as other:
            demand = MR(pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_ON_DEMAND)
            usual = MR(pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE)
            fetch = enums._IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
            pd.advise_mr(fetch, enums._IBV_ADVISE_MR_FLAG_FLUSH, [SGE(demand.buf, 4096, demand.lkey)])
            wrong = [(pd, fetch, usual.lkey, errno.ENOENT), (other, fetch, demand.lkey, errno.EPERM),
                     (pd, 17, demand.lkey, errno.EOPNOTSUPP)]
            for domain, advice, key, error in wrong:
                with self.assertRaises(PyverbsRDMAError) as caught:
                    domain.advise_mr(advice, 0, [SGE(demand.buf, 4096, key)])
                self.assertEqual(caught.exception.error_code, error)

    def test_registration_changes(self):
        with device.Context(name='mlx5_0') as context, PD(context) as first, PD(context) as second:
            region = MR(first, 4096, enums.IBV_ACCESS_LOCAL_WRITE)
            region.rereg(enums.IBV_REREG_MR_CHANGE_PD, second)
            first.close()    # nothing uses it any more
            with self.assertRaises(PyverbsRDMAError):
                region.rereg(enums.IBV_REREG_MR_CHANGE_ACCESS, second, access=enums.IBV_ACCESS_REMOTE_WRITE)


def netlink_owners(index):
    """The numbers and owners of a device's queue pairs, as the kernel's RDMA netlink tells them."""
    nldev, res_qp_get, dump = 5 << 10, 10, 0x301
    dev_index, res_qp, entry, number, pid = 1, 19, 20, 21, 28
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20) as link:
        link.send(struct.pack('=IHHIIHHI', 24, nldev | res_qp_get, dump, 1, 0, 8, dev_index, index))
        owners = {}
        while True:
            message = link.recv(65536)
            kind = struct.unpack_from('=H', message, 4)[0]
            if kind == 3:    # done
                return owners
            if kind == 2:
                raise OSError(-struct.unpack_from('=i', message, 16)[0], 'netlink')
            for table in attributes_in(message[16:]).get(res_qp, []):
                for each in attributes_in(table).get(entry, []):
                    found = attributes_in(each)
                    owners[struct.unpack('=I', found[number][0])[0]] = struct.unpack('=I', found[pid][0])[0]


def attributes_in(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from('=HH', data)
        found.setdefault(kind & 0x3fff, []).append(data[4:length])
        data = data[(length + 3) & ~3:]
    return found


class QueuePairTest(unittest.TestCase):
    def setUp(self):
        self.context = device.Context(name='mlx5_0')
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)

    def tearDown(self):
        self.context.close()

    def test_owner(self):
        mine = QP(self.pd, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=QPCap()))
        owners = netlink_owners(0)
        self.assertEqual(owners[mine.qp_num], os.getpid())
        self.assertEqual(netlink_owners(1), {})
        with self.assertRaises(OSError):
            netlink_owners(7)

    def create(self, qp_type):
        cap = QPCap(max_send_wr=8, max_recv_wr=8, max_send_sge=1, max_recv_sge=1)
        return QP(self.pd, QPInitAttr(qp_type=qp_type, scq=self.cq, rcq=self.cq, cap=cap))

    def attributes(self, qp):
        route = GlobalRoute(dgid=self.context.query_gid(1, 0), sgid_index=0)
        attr = QPAttr(port_num=1)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.path_mtu = enums.IBV_MTU_1024
        attr.dest_qp_num = qp.qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout = 14
        attr.retry_cnt = attr.rnr_retry = 7
        attr.rq_psn = attr.sq_psn = 100
        attr.qkey = 0x11111111
        return attr

    def test_the_receive_queue_is_rounded_up(self):
        cap = QPCap(max_send_wr=8, max_recv_wr=5, max_send_sge=1, max_recv_sge=3)
        qp = QP(self.pd, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap))
        attr, _ = qp.query(enums.IBV_QP_CAP)
        self.assertEqual((attr.cap.max_recv_wr, attr.cap.max_recv_sge), (8, 4))

    def test_states(self):
        for qp_type in (enums.IBV_QPT_RC, enums.IBV_QPT_UC, enums.IBV_QPT_UD):
            qp = self.create(qp_type)
            self.assertEqual(qp.qp_state, enums.IBV_QPS_RESET)
            qp.to_rts(self.attributes(qp))
            attr, _ = qp.query(enums.IBV_QP_STATE)
            self.assertEqual(attr.qp_state, enums.IBV_QPS_RTS)
            qp.close()

    def test_missing_attributes(self):
        qp = self.create(enums.IBV_QPT_RC)
        with self.assertRaises(PyverbsRDMAError) as caught:
            qp.modify(QPAttr(qp_state=enums.IBV_QPS_INIT), enums.IBV_QP_STATE)
        self.assertEqual(caught.exception.error_code, errno.EINVAL)


class LostMemoryTest(QueuePairTest):
    """What is posted to the memory of a process that has ended."""
    def tearDown(self):
        try:
            super().tearDown()
        except PyverbsRDMAError as error:
            self.assertEqual(error.error_code, errno.EBUSY)    # of the domain: nobody can destroy that registration

    def registered_by_another(self):
        """The key and the address of memory of a child that has ended."""
        ends = os.pipe()
        child = os.fork()
        if child == 0:
            region = MR(self.pd, 4096, ACCESS)
            os.write(ends[1], struct.pack('=LQ', region.rkey, region.buf))
            os._exit(0)
        os.waitpid(child, 0)
        said = struct.unpack('=LQ', os.read(ends[0], 12))
        for end in ends:
            os.close(end)
        return said

    def test_it_does_not_answer(self):
        with MR(self.pd, 4096, ACCESS) as own:
            key, address = self.registered_by_another()
            for operation in (enums.IBV_WR_RDMA_READ, enums.IBV_WR_RDMA_WRITE):
                qp = self.create(enums.IBV_QPT_RC)
                values = self.attributes(qp)
                values.qp_access_flags = ACCESS
                values.timeout = 1    # 8 us
                qp.to_rts(values)
                request = SendWR(num_sge=1, sg=[SGE(own.buf, 64, own.lkey)], opcode=operation,
                                 send_flags=enums.IBV_SEND_SIGNALED)
                request.set_wr_rdma(key, address)
                qp.post_send(request)
                count = 0
                while count == 0:    # for ever: the test has a time
                    count, completions = self.cq.poll()
                self.assertEqual(completions[0].status, enums.IBV_WC_RETRY_EXC_ERR)
                qp.close()


class SchedulingTest(QueuePairTest):
    def setUp(self):
        self.context = Mlx5Context(Mlx5DVContextAttr(mlx5_enums.MLX5DV_CONTEXT_FLAGS_DEVX), name='mlx5_0')
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)

    def test_tree(self):
        root = Mlx5dvSchedNode(self.context, attributes())
        node = Mlx5dvSchedNode(self.context, attributes(root, share=10, rate=10000))
        leaf = Mlx5dvSchedLeaf(self.context, attributes(node, share=2))
        node.modify(attributes(root, share=20))
        leaf.modify(attributes(node, share=3, rate=4096))
        with self.assertRaises(PyverbsRDMAError) as caught:
            Mlx5dvSchedLeaf(self.context, attributes(node, share=101))
        self.assertEqual(caught.exception.error_code, errno.EINVAL)
        for element in (leaf, node, root):
            element.close()

    def test_attach(self):
        root = Mlx5dvSchedNode(self.context, attributes())
        leaf = Mlx5dvSchedLeaf(self.context, attributes(root, share=5))
        qp = self.create(enums.IBV_QPT_RC)
        qp.to_rts(self.attributes(qp))
        Mlx5QP.modify_qp_sched_elem(qp, req_sched_leaf=leaf, resp_sched_leaf=leaf)
        with self.assertRaises(PyverbsRDMAError):
            leaf.close()
        qp.close()
        leaf.close()
        root.close()

    def test_root_takes_no_share(self):
        with self.assertRaises(PyverbsRDMAError) as caught:
            Mlx5dvSchedNode(self.context, attributes(share=5))
        self.assertEqual(caught.exception.error_code, errno.EINVAL)


if __name__ == '__main__':
    unittest.main()
