// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Queue pairs, and the send and receive queues of raw packet ones: their states, and the leaf of each. */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fake_mlx5.h"

enum { RESET, INIT, RTR, RTS, ERR = 6, ANY = -1 };

/* The extension of a modify command, qpc_ext; newer than the kernel's headers. */
#define EXTENSION_VALID		64, 1		/* qpc_ext */
#define EXTENSION_MASK		2112, 64	/* opt_param_mask_95_32 */
#define EXTENSION_REQUESTER	2208, 32	/* qos_queue_group_id_requester */
#define EXTENSION_RESPONDER	2240, 32
#define EXTENSION_END		(2272 / 8)
#define MASK_QUEUE_GROUP	2

/* qos_queue_group_id of a send queue's context */
#define SEND_QUEUE_LEAF		272, 16

#define CONTEXT			24	/* where the context is in the commands, bytes */
#define QUEUE_PAIR_NUMBERS	0x40	/* those before are the driver's own */
#define SEND_QUEUE_NUMBERS	0x1000
#define RECEIVE_QUEUE_NUMBERS	0x2000

struct queue_pair {
	struct list_head list;
	u32 number;
	u16 uid;
	u8 state;
	u32 requester, responder;	/* leaves */
	u8 context[MLX5_ST_SZ_BYTES(qpc)];
};

struct send_queue {
	struct list_head list;
	u32 number;
	u16 uid;
	u8 state;
	u32 leaf;
};

struct receive_queue {
	struct list_head list;
	u32 number;
	u8 state;
};

static LIST_HEAD(queue_pairs);
static LIST_HEAD(send_queues);
static LIST_HEAD(receive_queues);

static struct queue_pair *queue_pair_of(struct fm5_command *c)
{
	const u32 number = fm5_in(c, rts2rts_qp_in, qpn);
	struct queue_pair *q;

	list_for_each_entry(q, &queue_pairs, list)
		if (q->number == number)
			return q;
	fm5_note(c, "qpn=%#x", number);
	fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_QUEUE_PAIR);
	return NULL;
}

static bool is_foreign(const struct fm5_command *c, u16 uid)
{
	return fm5_isolate && c->uid && uid && uid != 0xffff && c->uid != uid;
}

void fm5_create_qp(struct fm5_command *c, u32 id)
{
	struct queue_pair *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	q->number = QUEUE_PAIR_NUMBERS + id;
	q->uid = c->uid;
	memcpy(q->context, c->in + CONTEXT, sizeof(q->context));
	MLX5_SET(qpc, q->context, state, RESET);
	list_add_tail(&q->list, &queue_pairs);
	MLX5_SET(create_qp_out, c->out, qpn, q->number);
	fm5_note(c, "qpn=%#x type=%u", q->number, MLX5_GET(qpc, q->context, st));
}

static bool move(struct fm5_command *c, struct queue_pair *q)
{
	const u32 requester = fm5_bits_get(c->in, EXTENSION_REQUESTER);
	const u32 responder = fm5_bits_get(c->in, EXTENSION_RESPONDER);

	fm5_note(c, "qpn=%#x owner=%u state=%u requester=%u responder=%u", q->number, q->uid, q->state, requester,
		 responder);
	if (!fm5_leaf_allowed(c, requester) || !fm5_leaf_allowed(c, responder))
		return false;
	fm5_move(&q->requester, requester);
	fm5_move(&q->responder, responder);
	return true;
}

void fm5_modify_qp(struct fm5_command *c)
{
	static const struct step {
		u16 op;
		s8 from, to;
	} steps[] = {
		{ MLX5_CMD_OP_RST2INIT_QP, RESET, INIT }, { MLX5_CMD_OP_INIT2INIT_QP, INIT, INIT },
		{ MLX5_CMD_OP_INIT2RTR_QP, INIT, RTR },	  { MLX5_CMD_OP_RTR2RTS_QP, RTR, RTS },
		{ MLX5_CMD_OP_RTS2RTS_QP, RTS, RTS },	  { MLX5_CMD_OP_SQERR2RTS_QP, ANY, RTS },
		{ MLX5_CMD_OP_2ERR_QP, ANY, ERR },	  { MLX5_CMD_OP_2RST_QP, ANY, RESET },
	};
	struct queue_pair *q = queue_pair_of(c);
	const struct step *step = steps;

	if (!q)
		return;
	while (step->op != c->op)
		step++;
	fm5_note(c, "qpn=%#x owner=%u state=%u", q->number, q->uid, q->state);
	if (step->from != ANY && step->from != q->state)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_QP_STATE_ERR, FM5_QUEUE_PAIR_STATE);
	if (is_foreign(c, q->uid))
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_FOREIGN_QUEUE_PAIR);
	if (step->from == step->to && c->inlen >= EXTENSION_END && fm5_bits_get(c->in, EXTENSION_VALID) &&
	    (fm5_bits_get(c->in, EXTENSION_MASK) & MASK_QUEUE_GROUP) && !move(c, q))
		return;
	q->state = step->to;
	MLX5_SET(qpc, q->context, state, q->state);
	if (q->state == RESET) {
		fm5_move(&q->requester, 0);
		fm5_move(&q->responder, 0);
	}
}

void fm5_query_qp(struct fm5_command *c)
{
	struct queue_pair *q = queue_pair_of(c);

	if (!q)
		return;
	fm5_note(c, "qpn=%#x", q->number);
	if (c->outlen >= CONTEXT + sizeof(q->context))
		memcpy(c->out + CONTEXT, q->context, sizeof(q->context));
}

static void forget_queue_pair(struct queue_pair *q)
{
	fm5_move(&q->requester, 0);
	fm5_move(&q->responder, 0);
	list_del(&q->list);
	kfree(q);
}

void fm5_destroy_qp(struct fm5_command *c)
{
	struct queue_pair *q = queue_pair_of(c);

	if (!q)
		return;
	fm5_note(c, "qpn=%#x owner=%u", q->number, q->uid);
	forget_queue_pair(q);
}

static struct send_queue *send_queue_of(struct fm5_command *c, u32 number)
{
	struct send_queue *q;

	list_for_each_entry(q, &send_queues, list)
		if (q->number == number)
			return q;
	fm5_note(c, "sqn=%#x", number);
	fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_SEND_QUEUE);
	return NULL;
}

void fm5_create_sq(struct fm5_command *c, u32 id)
{
	struct send_queue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	q->number = SEND_QUEUE_NUMBERS + id;
	q->uid = c->uid;
	list_add_tail(&q->list, &send_queues);
	MLX5_SET(create_sq_out, c->out, sqn, q->number);
	fm5_note(c, "sqn=%#x", q->number);
}

void fm5_modify_sq(struct fm5_command *c)
{
	struct send_queue *q = send_queue_of(c, fm5_in(c, modify_sq_in, sqn));
	void *context = MLX5_ADDR_OF(modify_sq_in, c->in, ctx);
	const u8 from = fm5_in(c, modify_sq_in, sq_state);
	const u32 leaf = fm5_bits_get(context, SEND_QUEUE_LEAF);

	if (!q)
		return;
	fm5_note(c, "sqn=%#x owner=%u state=%u leaf=%u", q->number, q->uid, from, leaf);
	if (from != q->state)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_STATE_ERR, FM5_SEND_QUEUE_STATE);
	if (is_foreign(c, q->uid))
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_FOREIGN_SEND_QUEUE);
	if (fm5_bits_get(c->in, 128, 64) & 4) {	/* modify_bitmask: the queue group */
		if (!fm5_leaf_allowed(c, leaf))
			return;
		fm5_move(&q->leaf, leaf);
	}
	q->state = MLX5_GET(sqc, context, state);
}

void fm5_query_sq(struct fm5_command *c)
{
	struct send_queue *q = send_queue_of(c, fm5_in(c, query_sq_in, sqn));
	void *context = MLX5_ADDR_OF(query_sq_out, c->out, sq_context);

	if (!q)
		return;
	fm5_note(c, "sqn=%#x state=%u", q->number, q->state);
	if (c->outlen < MLX5_ST_SZ_BYTES(query_sq_out))
		return;
	MLX5_SET(sqc, context, state, q->state);
	fm5_bits_set(context, SEND_QUEUE_LEAF, q->leaf);
}

static void forget_send_queue(struct send_queue *q)
{
	fm5_move(&q->leaf, 0);
	list_del(&q->list);
	kfree(q);
}

void fm5_destroy_sq(struct fm5_command *c)
{
	struct send_queue *q = send_queue_of(c, fm5_in(c, destroy_sq_in, sqn));

	if (!q)
		return;
	fm5_note(c, "sqn=%#x owner=%u", q->number, q->uid);
	forget_send_queue(q);
}

static struct receive_queue *receive_queue_of(struct fm5_command *c)
{
	const u32 number = fm5_in(c, query_rq_in, rqn);
	struct receive_queue *q;

	fm5_note(c, "rqn=%#x", number);
	list_for_each_entry(q, &receive_queues, list)
		if (q->number == number)
			return q;
	fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_RECEIVE_QUEUE);
	return NULL;
}

void fm5_create_rq(struct fm5_command *c, u32 id)
{
	struct receive_queue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	q->number = RECEIVE_QUEUE_NUMBERS + id;
	list_add_tail(&q->list, &receive_queues);
	MLX5_SET(create_rq_out, c->out, rqn, q->number);
	fm5_note(c, "rqn=%#x", q->number);
}

void fm5_modify_rq(struct fm5_command *c)
{
	struct receive_queue *q = receive_queue_of(c);

	if (!q)
		return;
	if (fm5_in(c, modify_rq_in, rq_state) != q->state)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_STATE_ERR, FM5_RECEIVE_QUEUE_STATE);
	q->state = MLX5_GET(rqc, MLX5_ADDR_OF(modify_rq_in, c->in, ctx), state);
}

void fm5_query_rq(struct fm5_command *c)
{
	struct receive_queue *q = receive_queue_of(c);

	if (q && c->outlen >= MLX5_ST_SZ_BYTES(query_rq_out))
		MLX5_SET(rqc, MLX5_ADDR_OF(query_rq_out, c->out, rq_context), state, q->state);
}

static void forget_receive_queue(struct receive_queue *q)
{
	list_del(&q->list);
	kfree(q);
}

void fm5_destroy_rq(struct fm5_command *c)
{
	struct receive_queue *q = receive_queue_of(c);

	if (q)
		forget_receive_queue(q);
}

void fm5_forget_queue_pairs(void)
{
	struct receive_queue *r, *next_r;
	struct queue_pair *q, *next_q;
	struct send_queue *s, *next_s;

	list_for_each_entry_safe(q, next_q, &queue_pairs, list)
		forget_queue_pair(q);
	list_for_each_entry_safe(s, next_s, &send_queues, list)
		forget_send_queue(s);
	list_for_each_entry_safe(r, next_r, &receive_queues, list)
		forget_receive_queue(r);
}

/* Those of user contexts; the driver's own never have a leaf. */
void fm5_log_queue_pairs(void)
{
	struct queue_pair *q;
	struct send_queue *s;

	list_for_each_entry(q, &queue_pairs, list)
		if (q->uid && q->uid != 0xffff)
			fm5_log("queue-pair qpn=%u owner=%u state=%u requester=%u responder=%u", q->number, q->uid,
				q->state, q->requester, q->responder);
	list_for_each_entry(s, &send_queues, list)
		fm5_log("send-queue sqn=%u owner=%u state=%u leaf=%u", s->number, s->uid, s->state, s->leaf);
}
