// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Event queues, in the driver's memory. */
#include <linux/slab.h>
#include <linux/string.h>

#include "fake_mlx5.h"

#define EVENT_SIZE	64
#define QUEUE_PAGE	4096

struct queue {
	bool used;
	u8 log_size, vector;
	u32 produced;
	u64 mask[4];	/* types of events */
	u64 *pages;	/* physical addresses */
};
static struct queue queues[64];

void fm5_create_eq(struct fm5_command *c)
{
	void *context = MLX5_ADDR_OF(create_eq_in, c->in, eq_context_entry);
	const __be64 *pages = (const __be64 *)(c->in + MLX5_ST_SZ_BYTES(create_eq_in));
	const u32 log_size = MLX5_GET(eqc, context, log_eq_size);
	struct queue *queue;
	u32 count, i;
	int number;

	for (number = 1; number < ARRAY_SIZE(queues) && queues[number].used; number++)
		;
	if (number == ARRAY_SIZE(queues))
		return fm5_refuse(c, MLX5_CMD_STAT_LIM_ERR, FM5_EVENT_QUEUE);
	if (c->inlen < MLX5_ST_SZ_BYTES(create_eq_in))
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_INP_LEN_ERR, FM5_EVENT_QUEUE);
	count = (c->inlen - MLX5_ST_SZ_BYTES(create_eq_in)) / sizeof(*pages);
	if (log_size > 16 || (u64)count * QUEUE_PAGE < (u64)EVENT_SIZE << log_size)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_PARAM_ERR, FM5_EVENT_QUEUE);
	queue = &queues[number];
	memset(queue, 0, sizeof(*queue));
	queue->pages = kcalloc(count, sizeof(*queue->pages), GFP_KERNEL);
	if (!queue->pages)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	for (i = 0; i < count; i++)
		queue->pages[i] = be64_to_cpu(pages[i]);
	for (i = 0; i < ARRAY_SIZE(queue->mask); i++)
		queue->mask[i] = MLX5_GET64(create_eq_in, c->in, event_bitmask[i]);
	queue->log_size = log_size;
	queue->vector = MLX5_GET(eqc, context, intr);
	queue->used = true;
	MLX5_SET(create_eq_out, c->out, eq_number, number);
	fm5_note(c, "eqn=%d events=%u vector=%u mask=%#llx", number, 1u << log_size, queue->vector, queue->mask[0]);
}

static void forget(struct queue *queue)
{
	kfree(queue->pages);
	memset(queue, 0, sizeof(*queue));
}

void fm5_destroy_eq(struct fm5_command *c)
{
	const u32 number = fm5_in(c, destroy_eq_in, eq_number);

	fm5_note(c, "eqn=%u", number);
	if (number >= ARRAY_SIZE(queues) || !queues[number].used)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_EVENT_QUEUE);
	forget(&queues[number]);
}

void fm5_forget_eqs(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		forget(&queues[i]);
}

static struct queue *queue_for(u8 type)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		if (queues[i].used && (queues[i].mask[type / 64] >> (type % 64) & 1))
			return &queues[i];
	return NULL;
}

bool fm5_has_eq(u8 type)
{
	return queue_for(type);
}

/* `event` without its last byte, which is written last: it makes the event the driver's. */
static void push(struct queue *queue, const u8 *event)
{
	const u32 offset = (queue->produced & ((1u << queue->log_size) - 1)) * EVENT_SIZE;
	u8 *entry = phys_to_virt(queue->pages[offset / QUEUE_PAGE]) + offset % QUEUE_PAGE;

	memcpy(entry, event, EVENT_SIZE - 1);
	wmb(); /* the event before its owner */
	WRITE_ONCE(entry[EVENT_SIZE - 1], queue->produced >> queue->log_size & 1);
	wmb(); /* and its owner before the interrupt */
	queue->produced++;
	fm5_interrupt(queue->vector);
}

static void send(const u8 *event)
{
	struct queue *queue = queue_for(event[1]);

	if (queue)
		push(queue, event);
}

void fm5_event(u8 type, u8 subtype, u32 data)
{
	u8 event[EVENT_SIZE] = { [1] = type, [3] = subtype };

	*(__be32 *)(event + 32) = cpu_to_be32(data);
	send(event);
}

void fm5_completion_event(u32 event_queue, u32 completion_queue)
{
	u8 event[EVENT_SIZE] = {};

	if (event_queue >= ARRAY_SIZE(queues) || !queues[event_queue].used)
		return;
	*(__be32 *)(event + 56) = cpu_to_be32(completion_queue);
	push(&queues[event_queue], event);
}

void fm5_port_event(u8 subtype, u8 port)
{
	u8 event[EVENT_SIZE] = { [1] = MLX5_EVENT_TYPE_PORT_CHANGE, [3] = subtype, [40] = port << 4 };

	fm5_log("event type=%#x subtype=%u port=%u", MLX5_EVENT_TYPE_PORT_CHANGE, subtype, port);
	send(event);
}
