// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What the device says it can do, modelled on a ConnectX-6 Dx as far as the driver asks. */
#include <linux/minmax.h>
#include <linux/string.h>

#include "fake_mlx5.h"

static u8 capabilities[MLX5_CAP_NUM][4096];

void *fm5_capability(unsigned int type)
{
	return capabilities[type];
}

static void general(void *g)
{
	/* Numbers of objects, and their sizes. */
	MLX5_SET(cmd_hca_cap, g, log_max_qp, 17);
	MLX5_SET(cmd_hca_cap, g, log_max_qp_sz, 15);
	MLX5_SET(cmd_hca_cap, g, log_max_srq, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_srq_sz, 15);
	MLX5_SET(cmd_hca_cap, g, log_max_cq, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_cq_sz, 22);
	MLX5_SET(cmd_hca_cap, g, log_max_eq, 6);
	MLX5_SET(cmd_hca_cap, g, log_max_eq_sz, 16);
	MLX5_SET(cmd_hca_cap, g, max_num_eqs, 32);
	MLX5_SET(cmd_hca_cap, g, log_max_mkey, 24);
	MLX5_SET(cmd_hca_cap, g, log_max_mrw_sz, 63);
	MLX5_SET(cmd_hca_cap, g, log_max_bsf_list_size, 3);
	MLX5_SET(cmd_hca_cap, g, log_max_klm_list_size, 16);
	MLX5_SET(cmd_hca_cap, g, max_indirection, 4);
	MLX5_SET(cmd_hca_cap, g, log_max_ra_req_qp, 4);
	MLX5_SET(cmd_hca_cap, g, log_max_ra_res_qp, 4);
	MLX5_SET(cmd_hca_cap, g, log_max_pd, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_transport_domain, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_xrcd, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_mcg, 21);
	MLX5_SET(cmd_hca_cap, g, max_qp_mcg, 240);
	MLX5_SET(cmd_hca_cap, g, max_qp_cnt, 64);
	MLX5_SET(cmd_hca_cap, g, log_max_rq, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_sq, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_tir, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_tis, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_rmp, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_rqt, 16);
	MLX5_SET(cmd_hca_cap, g, log_max_wq_sz, 16);
	MLX5_SET(cmd_hca_cap, g, basic_cyclic_rcv_wqe, 1);
	MLX5_SET(cmd_hca_cap, g, log_max_stride_sz_rq, 13);
	MLX5_SET(cmd_hca_cap, g, log_min_stride_sz_rq, 4);
	MLX5_SET(cmd_hca_cap, g, log_max_stride_sz_sq, 13);
	MLX5_SET(cmd_hca_cap, g, log_min_stride_sz_sq, 6);
	MLX5_SET(cmd_hca_cap, g, max_wqe_sz_sq, 512);
	MLX5_SET(cmd_hca_cap, g, max_wqe_sz_rq, 512);
	MLX5_SET(cmd_hca_cap, g, max_wqe_sz_sq_dc, 256);
	MLX5_SET(cmd_hca_cap, g, max_sgl_for_optimized_performance, 3);
	MLX5_SET(cmd_hca_cap, g, log_max_uctx, 20);
	MLX5_SET(cmd_hca_cap, g, log_max_umem, 20);
	MLX5_SET(cmd_hca_cap, g, log_max_msg, 30);
	MLX5_SET(cmd_hca_cap, g, max_tc, 8);

	/* Transports and features. The driver demands XRC. */
	MLX5_SET(cmd_hca_cap, g, rc, 1);
	MLX5_SET(cmd_hca_cap, g, uc, 1);
	MLX5_SET(cmd_hca_cap, g, ud, 1);
	MLX5_SET(cmd_hca_cap, g, xrc, 1);
	MLX5_SET(cmd_hca_cap, g, atomic, 1);
	MLX5_SET(cmd_hca_cap, g, ece_support, 1);
	MLX5_SET(cmd_hca_cap, g, fixed_buffer_size, 1);
	MLX5_SET(cmd_hca_cap, g, null_mkey, 1);
	MLX5_SET(cmd_hca_cap, g, end_pad, 1);
	MLX5_SET(cmd_hca_cap, g, cqe_version, 1);
	MLX5_SET(cmd_hca_cap, g, drain_sigerr, 1);
	MLX5_SET(cmd_hca_cap, g, sigerr_cqe, 1);
	MLX5_SET(cmd_hca_cap, g, compact_address_vector, 1);
	MLX5_SET(cmd_hca_cap, g, cq_oi, 1);
	MLX5_SET(cmd_hca_cap, g, cq_resize, 1);
	MLX5_SET(cmd_hca_cap, g, cq_moderation, 1);
	MLX5_SET(cmd_hca_cap, g, imaicl, 1);
	MLX5_SET(cmd_hca_cap, g, qkv, 1);
	MLX5_SET(cmd_hca_cap, g, pkv, 1);
	MLX5_SET(cmd_hca_cap, g, stat_rate_support, 0xffff);
	MLX5_SET(cmd_hca_cap, g, local_ca_ack_delay, 16);
	MLX5_SET(cmd_hca_cap, g, device_frequency_khz, 156250);
	MLX5_SET(cmd_hca_cap, g, device_frequency_mhz, 156);
	/* There is no data path: memory regions are made by commands, not by work requests. */
	MLX5_SET(cmd_hca_cap, g, umr_extended_translation_offset, 1);
	MLX5_SET(cmd_hca_cap, g, umr_modify_entity_size_disabled, 1);
	MLX5_SET(cmd_hca_cap, g, umr_modify_atomic_disabled, 1);
	/* Without `bf` mlx5_ib does not try write combining, for which it would wait for a completion. */
	MLX5_SET(cmd_hca_cap, g, log_bf_reg_size, 9);
	MLX5_SET(cmd_hca_cap, g, uar_4k, 1);
	MLX5_SET(cmd_hca_cap, g, uar_sz, 6);
	MLX5_SET(cmd_hca_cap, g, num_of_uars_per_page, 1);
	MLX5_SET(cmd_hca_cap, g, log_pg_sz, 12);

	MLX5_SET(cmd_hca_cap, g, vhca_id, 1 + FM5_NUMBER);
	MLX5_SET(cmd_hca_cap, g, port_type, MLX5_CAP_PORT_TYPE_IB);
	MLX5_SET(cmd_hca_cap, g, num_ports, 1);
	MLX5_SET(cmd_hca_cap, g, ib_virt, 1);	/* the port's facts by commands, not by MADs */

	MLX5_SET(cmd_hca_cap, g, uctx_cap, MLX5_UCTX_CAP_RAW_TX | MLX5_UCTX_CAP_INTERNAL_DEV_RES);
	MLX5_SET(cmd_hca_cap, g, qos, 1);
	fm5_bits_set(g, 290, 1, 1);						/* qpc_extension */
	fm5_bits_set(g, 1024, 64, 1ull << FM5_OBJECT_SCHEDULING_ELEMENT);	/* general_obj_types */
}

/* Without these a queue pair that allows remote atomics, as UCX makes them, does not get to RTR. */
static void atomic(void *a)
{
	MLX5_SET(atomic_caps, a, atomic_operations, 3);	/* compare and swap, fetch and add */
	MLX5_SET(atomic_caps, a, atomic_size_qp, 1 << 3);	/* 8 bytes */
}

static void qos(void *q)
{
	MLX5_SET(qos_cap, q, packet_pacing, 1);
	MLX5_SET(qos_cap, q, packet_pacing_burst_bound, 1);
	MLX5_SET(qos_cap, q, packet_pacing_typical_size, 1);
	MLX5_SET(qos_cap, q, packet_pacing_uid, 1);
	MLX5_SET(qos_cap, q, packet_pacing_max_rate, 100000000);	/* kbit/s */
	MLX5_SET(qos_cap, q, packet_pacing_min_rate, 1);
	MLX5_SET(qos_cap, q, packet_pacing_rate_table_size, 128);
	MLX5_SET(qos_cap, q, nic_sq_scheduling, 1);
	MLX5_SET(qos_cap, q, nic_bw_share, 1);
	MLX5_SET(qos_cap, q, nic_rate_limit, 1);
	MLX5_SET(qos_cap, q, max_tsar_bw_share, 100);
	MLX5_SET(qos_cap, q, log_max_qos_nic_queue_group, 8);
	fm5_bits_set(q, 33, 1, 1);	/* nic_qp_scheduling */
	fm5_bits_set(q, 36, 4, 2);	/* log_nic_max_sched_depth */
	fm5_bits_set(q, 256, 16, 0x11);	/* nic_element_type: TSAR, queue group */
	fm5_bits_set(q, 272, 16, 1);	/* nic_tsar_type: DWRR */
	fm5_bits_set(q, 323, 5, 13);	/* log_max_qos_nic_scheduling_element */
}

void fm5_capabilities_reset(void)
{
	memset(capabilities, 0, sizeof(capabilities));
	general(capabilities[MLX5_CAP_GENERAL]);
	qos(capabilities[MLX5_CAP_QOS]);
	atomic(capabilities[MLX5_CAP_ATOMIC]);
	if (fm5_eth)
		fm5_roce_capabilities();
}

/* op_mod: the type, and whether the current values or the possible ones; these are the same here. */
void fm5_query_capability(struct fm5_command *c)
{
	const unsigned int type = c->op_mod >> 1;

	fm5_note(c, "type=%#x", type);
	if (type >= MLX5_CAP_NUM)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_PARAM_ERR, FM5_CAPABILITY_TYPE);
	if (c->outlen > 16)
		memcpy(c->out + 16, capabilities[type], min_t(u32, c->outlen - 16, sizeof(capabilities[type])));
}

void fm5_set_capability(struct fm5_command *c)
{
	const unsigned int type = c->op_mod >> 1;

	fm5_note(c, "type=%#x", type);
	if (type >= MLX5_CAP_NUM)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_PARAM_ERR, FM5_CAPABILITY_TYPE);
	if (c->inlen > 16)
		memcpy(capabilities[type], c->in + 16, min_t(u32, c->inlen - 16, sizeof(capabilities[type])));
}
