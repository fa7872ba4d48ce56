#!/usr/bin/python3
"""A queue pair that is ready to send, of a program that does not register. Lives until it is killed."""

import signal

import pyverbs.enums as enums
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

context = Context(name="mlx5_0")
domain = PD(context)
queue = CQ(context, 16)
cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
pair = QP(domain, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=queue, rcq=queue, cap=cap))
attributes = QPAttr(port_num=1)
attributes.ah_attr = AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, 0), sgid_index=0), is_global=1, port_num=1)
attributes.path_mtu = enums.IBV_MTU_1024
attributes.dest_qp_num = pair.qp_num
attributes.timeout = 14
pair.to_rts(attributes)
print("ready", flush=True)
signal.pause()
