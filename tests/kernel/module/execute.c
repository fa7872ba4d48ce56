// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Which part answers a command. What no part knows is answered with zeros, or a new number if it creates something. */
#include <linux/bitmap.h>
#include <linux/string.h>

#include "fake_mlx5.h"

static u32 last_ids[0x1000];	/* of each opcode that creates something */
static DECLARE_BITMAP(uars, FM5_LAST_UAR + 1);

void fm5_bits_set(void *mailbox, unsigned int at, unsigned int width, u64 value)
{
	u8 *bytes = mailbox;
	unsigned int i;

	for (i = 0; i < width; i++) {
		const unsigned int bit = at + width - 1 - i;
		const u8 mask = 0x80 >> (bit % 8);

		bytes[bit / 8] = (bytes[bit / 8] & ~mask) | (value >> i & 1 ? mask : 0);
	}
}

u64 fm5_bits_get(const void *mailbox, unsigned int at, unsigned int width)
{
	const u8 *bytes = mailbox;
	u64 value = 0;
	unsigned int bit;

	for (bit = at; bit < at + width; bit++)
		value = value << 1 | (bytes[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

void fm5_note_more(struct fm5_command *c, const char *format, ...)
{
	const size_t length = strlen(c->note);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->note + length, sizeof(c->note) - length, format, arguments);
	va_end(arguments);
}

void fm5_forget_ids(void)
{
	bitmap_zero(uars, FM5_LAST_UAR + 1);
}

const char *fm5_op_name(u16 op)
{
#define NAME(x) case MLX5_CMD_OP_##x: return #x
	switch (op) {
	NAME(QUERY_HCA_CAP); NAME(QUERY_ADAPTER); NAME(INIT_HCA); NAME(TEARDOWN_HCA); NAME(ENABLE_HCA);
	NAME(DISABLE_HCA); NAME(QUERY_PAGES); NAME(MANAGE_PAGES); NAME(SET_HCA_CAP); NAME(QUERY_ISSI); NAME(SET_ISSI);
	NAME(SET_DRIVER_VERSION); NAME(CREATE_MKEY); NAME(QUERY_MKEY); NAME(DESTROY_MKEY); NAME(QUERY_SPECIAL_CONTEXTS);
	NAME(CREATE_EQ); NAME(DESTROY_EQ); NAME(QUERY_EQ); NAME(CREATE_CQ); NAME(DESTROY_CQ); NAME(QUERY_CQ);
	NAME(MODIFY_CQ); NAME(CREATE_QP); NAME(DESTROY_QP); NAME(RST2INIT_QP); NAME(INIT2RTR_QP); NAME(RTR2RTS_QP);
	NAME(RTS2RTS_QP); NAME(SQERR2RTS_QP); NAME(2ERR_QP); NAME(2RST_QP); NAME(QUERY_QP); NAME(INIT2INIT_QP);
	NAME(CREATE_SRQ); NAME(CREATE_XRC_SRQ); NAME(DESTROY_XRC_SRQ); NAME(CREATE_DCT); NAME(CREATE_XRQ);
	NAME(QUERY_VPORT_STATE); NAME(MODIFY_VPORT_STATE); NAME(QUERY_ESW_VPORT_CONTEXT); NAME(QUERY_NIC_VPORT_CONTEXT);
	NAME(MODIFY_NIC_VPORT_CONTEXT); NAME(QUERY_HCA_VPORT_CONTEXT); NAME(MODIFY_HCA_VPORT_CONTEXT);
	NAME(QUERY_HCA_VPORT_GID); NAME(QUERY_HCA_VPORT_PKEY); NAME(QUERY_VPORT_COUNTER); NAME(ALLOC_Q_COUNTER);
	NAME(DEALLOC_Q_COUNTER); NAME(QUERY_Q_COUNTER); NAME(SET_PP_RATE_LIMIT); NAME(QUERY_RATE_LIMIT); NAME(ALLOC_PD);
	NAME(DEALLOC_PD); NAME(ALLOC_UAR); NAME(DEALLOC_UAR); NAME(ACCESS_REG); NAME(MAD_IFC); NAME(ATTACH_TO_MCG);
	NAME(DETACH_FROM_MCG); NAME(ALLOC_XRCD); NAME(DEALLOC_XRCD); NAME(ALLOC_TRANSPORT_DOMAIN);
	NAME(DEALLOC_TRANSPORT_DOMAIN); NAME(CREATE_TIR); NAME(DESTROY_TIR); NAME(CREATE_SQ); NAME(MODIFY_SQ);
	NAME(QUERY_SQ); NAME(DESTROY_SQ); NAME(CREATE_RQ); NAME(MODIFY_RQ); NAME(QUERY_RQ); NAME(DESTROY_RQ);
	NAME(CREATE_RMP); NAME(MODIFY_RMP); NAME(DESTROY_RMP); NAME(CREATE_TIS); NAME(DESTROY_TIS); NAME(CREATE_RQT);
	NAME(DESTROY_RQT); NAME(QUERY_ROCE_ADDRESS); NAME(SET_ROCE_ADDRESS); NAME(CREATE_UMEM); NAME(DESTROY_UMEM);
	NAME(CREATE_GENERAL_OBJECT); NAME(MODIFY_GENERAL_OBJECT); NAME(QUERY_GENERAL_OBJECT);
	NAME(DESTROY_GENERAL_OBJECT); NAME(CREATE_UCTX); NAME(DESTROY_UCTX); NAME(MODIFY_TIS); NAME(MODIFY_TIR);
	NAME(MODIFY_RQT); NAME(CREATE_FLOW_TABLE); NAME(DESTROY_FLOW_TABLE); NAME(MODIFY_FLOW_TABLE);
	NAME(SET_FLOW_TABLE_ROOT); NAME(CREATE_FLOW_GROUP); NAME(DESTROY_FLOW_GROUP); NAME(SET_FLOW_TABLE_ENTRY);
	NAME(DELETE_FLOW_TABLE_ENTRY); NAME(ALLOC_FLOW_COUNTER); NAME(DEALLOC_FLOW_COUNTER);
	NAME(CREATE_SCHEDULING_ELEMENT); NAME(MODIFY_SCHEDULING_ELEMENT); NAME(QUERY_SCHEDULING_ELEMENT);
	NAME(DESTROY_SCHEDULING_ELEMENT);
	}
#undef NAME
	return "UNKNOWN";
}

static bool creates(u16 op)
{
	switch (op) {
	case MLX5_CMD_OP_CREATE_MKEY:
	case MLX5_CMD_OP_CREATE_CQ:
	case MLX5_CMD_OP_CREATE_QP:
	case MLX5_CMD_OP_CREATE_SRQ:
	case MLX5_CMD_OP_CREATE_XRC_SRQ:
	case MLX5_CMD_OP_CREATE_DCT:
	case MLX5_CMD_OP_CREATE_XRQ:
	case MLX5_CMD_OP_CREATE_RMP:
	case MLX5_CMD_OP_CREATE_TIR:
	case MLX5_CMD_OP_CREATE_TIS:
	case MLX5_CMD_OP_CREATE_SQ:
	case MLX5_CMD_OP_CREATE_RQ:
	case MLX5_CMD_OP_CREATE_RQT:
	case MLX5_CMD_OP_CREATE_UCTX:
	case MLX5_CMD_OP_CREATE_UMEM:
	case MLX5_CMD_OP_ALLOC_Q_COUNTER:
	case MLX5_CMD_OP_ALLOC_PD:
	case MLX5_CMD_OP_ALLOC_XRCD:
	case MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN:
	case MLX5_CMD_OP_CREATE_FLOW_TABLE:
	case MLX5_CMD_OP_CREATE_FLOW_GROUP:
	case MLX5_CMD_OP_ALLOC_FLOW_COUNTER:
	case MLX5_CMD_OP_ALLOC_PACKET_REFORMAT_CONTEXT:
	case MLX5_CMD_OP_ALLOC_MODIFY_HEADER_CONTEXT:
		return true;
	}
	return false;
}

/* A number for what the command creates, in bits 64..95 of its answer, where most commands have it; 0: it does not. */
static u32 new_id(struct fm5_command *c)
{
	u16 space = c->op;
	u32 id;

	if (!creates(c->op))
		return 0;
	/* The driver keeps shared receive queues of all kinds in one table, and so do we with queues. */
	if (space == MLX5_CMD_OP_CREATE_XRC_SRQ || space == MLX5_CMD_OP_CREATE_RMP || space == MLX5_CMD_OP_CREATE_XRQ)
		space = MLX5_CMD_OP_CREATE_SRQ;
	if (space == MLX5_CMD_OP_CREATE_SQ || space == MLX5_CMD_OP_CREATE_RQ)
		space = MLX5_CMD_OP_CREATE_QP;
	id = ++last_ids[space & 0xfff];
	fm5_bits_set(c->out, 64, 32, id);
	fm5_note(c, "id=%#x", id);
	return id;
}

static void allocate_uar(struct fm5_command *c)
{
	const unsigned long page = find_next_zero_bit(uars, FM5_LAST_UAR + 1, FM5_FIRST_UAR);

	if (page > FM5_LAST_UAR)
		return fm5_refuse(c, MLX5_CMD_STAT_LIM_ERR, FM5_NO_UAR);
	set_bit(page, uars);
	MLX5_SET(alloc_uar_out, c->out, uar, page);
	fm5_note(c, "uar=%lu", page);
}

static void free_uar(struct fm5_command *c)
{
	const u32 page = fm5_in(c, dealloc_uar_in, uar);

	fm5_note(c, "uar=%u", page);
	if (page > FM5_LAST_UAR || !test_and_clear_bit(page, uars))
		fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_UAR);
}

static void query_adapter(struct fm5_command *c)
{
	MLX5_SET(query_adapter_out, c->out, query_adapter_struct.ieee_vendor_id, 0x2c9);
	strscpy(MLX5_ADDR_OF(query_adapter_out, c->out, query_adapter_struct.vsd_contd_psid), "FAK0000000001", 16);
}

static void query_pkey(struct fm5_command *c)
{
	const u64 index = fm5_bits_get(c->in, 112, 16);

	if (index == 0 || index == 0xffff)
		fm5_bits_set(c->out + 16, 16, 16, 0xffff);
}

void fm5_execute(struct fm5_command *c)
{
	const u32 id = new_id(c);

	switch (c->op) {
	case MLX5_CMD_OP_QUERY_HCA_CAP:
		return fm5_query_capability(c);
	case MLX5_CMD_OP_SET_HCA_CAP:
		return fm5_set_capability(c);
	case MLX5_CMD_OP_QUERY_ISSI:
		MLX5_SET(query_issi_out, c->out, supported_issi_dw0, 3);	/* 0 and 1 */
		return;
	case MLX5_CMD_OP_QUERY_ADAPTER:
		return query_adapter(c);
	case MLX5_CMD_OP_ACCESS_REG:
		return fm5_access_register(c);
	case MLX5_CMD_OP_CREATE_EQ:
		return fm5_create_eq(c);
	case MLX5_CMD_OP_DESTROY_EQ:
		return fm5_destroy_eq(c);
	case MLX5_CMD_OP_ALLOC_UAR:
		return allocate_uar(c);
	case MLX5_CMD_OP_DEALLOC_UAR:
		return free_uar(c);
	case MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS:
		MLX5_SET(query_special_contexts_out, c->out, dump_fill_mkey, 0x200);
		MLX5_SET(query_special_contexts_out, c->out, resd_lkey, 0x300);
		MLX5_SET(query_special_contexts_out, c->out, null_mkey, 0x400);
		return;
	case MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT:
		return fm5_query_hca_vport(c);
	case MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT:
		return fm5_query_nic_vport(c);
	case MLX5_CMD_OP_QUERY_VPORT_STATE:
		MLX5_SET(query_vport_state_out, c->out, admin_state, 1);
		MLX5_SET(query_vport_state_out, c->out, state, fm5_eth != FM5_MLX5E || fm5_link_is_up());
		return;
	case MLX5_CMD_OP_QUERY_HCA_VPORT_GID:
		return fm5_query_gid(c);
	case MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY:
		return query_pkey(c);
	case MLX5_CMD_OP_CREATE_CQ:
		return fm5_follow_completion_queue(c, id);
	case MLX5_CMD_OP_DESTROY_CQ:
		return fm5_leave_completion_queue(fm5_in(c, destroy_cq_in, cqn));
	case MLX5_CMD_OP_CREATE_QP:
	case MLX5_CMD_OP_CREATE_SQ:
	case MLX5_CMD_OP_CREATE_RQ:
		return fm5_create_queue(c, id);
	case MLX5_CMD_OP_RST2INIT_QP:
	case MLX5_CMD_OP_INIT2INIT_QP:
	case MLX5_CMD_OP_INIT2RTR_QP:
	case MLX5_CMD_OP_RTR2RTS_QP:
	case MLX5_CMD_OP_RTS2RTS_QP:
	case MLX5_CMD_OP_SQERR2RTS_QP:
	case MLX5_CMD_OP_2ERR_QP:
	case MLX5_CMD_OP_2RST_QP:
		return fm5_modify_queue_pair(c);
	case MLX5_CMD_OP_QUERY_QP:
		return fm5_query_queue_pair(c);
	case MLX5_CMD_OP_MODIFY_SQ:
	case MLX5_CMD_OP_MODIFY_RQ:
		return fm5_modify_queue(c);
	case MLX5_CMD_OP_QUERY_SQ:
	case MLX5_CMD_OP_QUERY_RQ:
		return fm5_query_queue(c);
	case MLX5_CMD_OP_DESTROY_QP:
	case MLX5_CMD_OP_DESTROY_SQ:
	case MLX5_CMD_OP_DESTROY_RQ:
		return fm5_destroy_queue(c);
	case MLX5_CMD_OP_CREATE_SCHEDULING_ELEMENT:
		return fm5_create_element(c);
	case MLX5_CMD_OP_MODIFY_SCHEDULING_ELEMENT:
		return fm5_modify_element(c);
	case MLX5_CMD_OP_DESTROY_SCHEDULING_ELEMENT:
		return fm5_destroy_element(c);
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
	case MLX5_CMD_OP_MODIFY_GENERAL_OBJECT:
	case MLX5_CMD_OP_QUERY_GENERAL_OBJECT:
	case MLX5_CMD_OP_DESTROY_GENERAL_OBJECT:
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_OP_ERR, FM5_NO_PROCESS);
	case MLX5_CMD_OP_DESTROY_UCTX:
		fm5_note(c, "id=%#x", fm5_in(c, destroy_uctx_in, uid));
		return;
	}
}
