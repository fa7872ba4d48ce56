"""Queue pairs of Debian's pyverbs that are ready to send, as many as the first argument says, until it is killed."""
import signal
import sys

import pyverbs.device as device
import pyverbs.enums as enums
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

context = device.Context(name='mlx5_0')
domain = PD(context)
queue = CQ(context, 64)
made = []
for _ in range(int(sys.argv[1])):
    cap = QPCap(max_send_wr=8, max_recv_wr=8, max_send_sge=1, max_recv_sge=1)
    qp = QP(domain, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=queue, rcq=queue, cap=cap))
    attr = QPAttr(port_num=1)
    attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, 0), sgid_index=0), is_global=1, port_num=1)
    attr.path_mtu = enums.IBV_MTU_1024
    attr.dest_qp_num = qp.qp_num
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.timeout = 14
    qp.to_rts(attr)
    made.append(qp)
print('ready', flush=True)
signal.pause()
