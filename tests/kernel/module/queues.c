// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queue pairs, send and receive queues that no process answers for: their contexts, and the states that the driver moves
 * them through. Nothing is checked; that is the firmware's in the process. Send queues of the driver's network device are worked off
 * in transmit.c.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fake_mlx5.h"

enum { RESET, INIT, RTR, RTS, ERR = 6 };

/* Where things are in the commands, in bytes; and the state of a send or receive queue in its context, in bits. */
#define PAIR_CONTEXT		24
#define QUEUE_CONTEXT		32
#define QUEUE_STATE		8, 4
#define FIRST_NUMBER		0x40	/* those before are the driver's own */
#define PAIR_CONTEXT_BYTES	MLX5_ST_SZ_BYTES(qpc)
#define QUEUE_CONTEXT_BYTES	MLX5_ST_SZ_BYTES(sqc)

struct queue {
	struct list_head list;
	u32 number;
	u8 context[256];
};

static LIST_HEAD(queues);

/* All kinds share the numbers. */
static struct queue *queue_of(struct fm5_command *c)
{
	const u32 number = fm5_in(c, rts2rts_qp_in, qpn);
	struct queue *q;

	fm5_note(c, "number=%#x", number);
	list_for_each_entry(q, &queues, list)
		if (q->number == number)
			return q;
	fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_QUEUE);
	return NULL;
}

void fm5_create_queue(struct fm5_command *c, u32 id)
{
	const bool is_pair = c->op == MLX5_CMD_OP_CREATE_QP;
	struct queue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	q->number = FIRST_NUMBER + id;
	MLX5_SET(create_qp_out, c->out, qpn, q->number);
	fm5_note(c, "number=%#x", q->number);
	if (is_pair) {
		memcpy(q->context, c->in + PAIR_CONTEXT, PAIR_CONTEXT_BYTES);
		MLX5_SET(qpc, q->context, state, RESET);
	} else {
		memcpy(q->context, c->in + QUEUE_CONTEXT, QUEUE_CONTEXT_BYTES);
		fm5_bits_set(q->context, QUEUE_STATE, RESET);
	}
	list_add_tail(&q->list, &queues);
	if (c->op == MLX5_CMD_OP_CREATE_SQ)
		fm5_follow_send_queue(c, q->number);
}

void fm5_modify_queue_pair(struct fm5_command *c)
{
	struct queue *q = queue_of(c);
	u8 state = RTS;

	if (!q)
		return;
	switch (c->op) {
	case MLX5_CMD_OP_RST2INIT_QP:
	case MLX5_CMD_OP_INIT2INIT_QP:
		state = INIT;
		break;
	case MLX5_CMD_OP_INIT2RTR_QP:
		state = RTR;
		break;
	case MLX5_CMD_OP_2ERR_QP:
		state = ERR;
		break;
	case MLX5_CMD_OP_2RST_QP:
		state = RESET;
		break;
	}
	MLX5_SET(qpc, q->context, state, state);
}

void fm5_query_queue_pair(struct fm5_command *c)
{
	struct queue *q = queue_of(c);

	if (q && c->outlen >= PAIR_CONTEXT + PAIR_CONTEXT_BYTES)
		memcpy(c->out + PAIR_CONTEXT, q->context, PAIR_CONTEXT_BYTES);
}

void fm5_modify_queue(struct fm5_command *c)
{
	struct queue *q = queue_of(c);
	const u8 state = fm5_bits_get(c->in + QUEUE_CONTEXT, QUEUE_STATE);

	if (!q)
		return;
	fm5_bits_set(q->context, QUEUE_STATE, state);
	if (c->op == MLX5_CMD_OP_MODIFY_SQ)
		fm5_send_queue_state(q->number, state);
}

void fm5_query_queue(struct fm5_command *c)
{
	struct queue *q = queue_of(c);

	if (q && c->outlen >= QUEUE_CONTEXT + QUEUE_CONTEXT_BYTES)
		memcpy(c->out + QUEUE_CONTEXT, q->context, QUEUE_CONTEXT_BYTES);
}

static void forget(struct queue *q)
{
	list_del(&q->list);
	kfree(q);
}

void fm5_destroy_queue(struct fm5_command *c)
{
	struct queue *q = queue_of(c);

	if (!q)
		return;
	if (c->op == MLX5_CMD_OP_DESTROY_SQ)
		fm5_leave_send_queue(q->number);
	forget(q);
}

void fm5_forget_queues(void)
{
	struct queue *q, *next;

	list_for_each_entry_safe(q, next, &queues, list)
		forget(q);
}
