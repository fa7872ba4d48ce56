// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The send queues of mlx5e. Each of its work requests ends well at once, and its packet vanishes. Nothing is received. Without this the
 * network device would not come up: it posts its receive buffers when a work request of its own has ended.
 *
 * The driver says in a record in its memory how far it has written a queue; its doorbells are not heard.
 */
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fake_mlx5.h"

#define BLOCK_SHIFT	6	/* a work request is of blocks of 64 bytes, and says its length in 16 bytes */
#define CONTEXT_SQ	32	/* where the contexts and the lists of pages are in the commands, in bytes */
#define PAGES		272
#define READY		1
#define WANTS_COMPLETION	8

struct pages {
	u32 count;
	u8 shift;
	u64 *at;
};

struct completion_queue {
	struct list_head list;
	u32 number, event_queue, produced;
	u8 log_size, entry_shift;
	struct pages pages;
};

struct send_queue {
	struct list_head list;
	u32 number, completion_queue;
	u64 record;
	u8 log_size, state;
	u16 done;
	struct pages pages;
};

static LIST_HEAD(completion_queues);
static LIST_HEAD(send_queues);

static bool take_pages(struct fm5_command *c, u8 log_page_size, struct pages *pages)
{
	const __be64 *from = (const __be64 *)(c->in + PAGES);
	u32 i;

	pages->count = c->inlen > PAGES ? (c->inlen - PAGES) / sizeof(*from) : 0;
	pages->shift = PAGE_SHIFT + log_page_size;
	pages->at = kcalloc(max(pages->count, 1u), sizeof(*pages->at), GFP_KERNEL);
	if (!pages->at)
		return false;
	for (i = 0; i < pages->count; i++)
		pages->at[i] = be64_to_cpu(from[i]) & PAGE_MASK;
	return true;
}

static void *in_pages(const struct pages *pages, u64 offset)
{
	const u64 page = offset >> pages->shift;

	return page < pages->count ? phys_to_virt(pages->at[page]) + (offset & ((1ull << pages->shift) - 1)) : NULL;
}

/* Those of programs are of other users' memory. */
static bool is_of_driver(const struct fm5_command *c)
{
	return fm5_eth == FM5_MLX5E && !c->uid;
}

void fm5_follow_completion_queue(struct fm5_command *c, u32 number)
{
	void *context = MLX5_ADDR_OF(create_cq_in, c->in, cq_context);
	struct completion_queue *queue;

	if (!is_of_driver(c) || MLX5_GET(create_cq_in, c->in, cq_umem_valid))
		return;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue || !take_pages(c, MLX5_GET(cqc, context, log_page_size), &queue->pages)) {
		kfree(queue);
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	}
	queue->number = number;
	queue->event_queue = MLX5_GET(cqc, context, c_eqn_or_apu_element);
	queue->log_size = MLX5_GET(cqc, context, log_cq_size);
	queue->entry_shift = MLX5_GET(cqc, context, cqe_sz) ? 7 : 6;
	list_add_tail(&queue->list, &completion_queues);
}

static void drop_completion_queue(struct completion_queue *queue)
{
	list_del(&queue->list);
	kfree(queue->pages.at);
	kfree(queue);
}

static struct completion_queue *completion_queue_of(u32 number)
{
	struct completion_queue *queue;

	list_for_each_entry(queue, &completion_queues, list)
		if (queue->number == number)
			return queue;
	return NULL;
}

void fm5_leave_completion_queue(u32 number)
{
	struct completion_queue *queue = completion_queue_of(number);

	if (queue)
		drop_completion_queue(queue);
}

void fm5_follow_send_queue(struct fm5_command *c, u32 number)
{
	void *context = c->in + CONTEXT_SQ, *ring = MLX5_ADDR_OF(sqc, context, wq);
	struct send_queue *queue;

	fm5_note_more(c, " group=%u", (u32)MLX5_GET(sqc, context, qos_queue_group_id));
	if (!is_of_driver(c) || MLX5_GET(wq, ring, wq_umem_valid))
		return;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue || !take_pages(c, MLX5_GET(wq, ring, log_wq_pg_sz), &queue->pages)) {
		kfree(queue);
		return;
	}
	queue->number = number;
	queue->completion_queue = MLX5_GET(sqc, context, cqn);
	queue->record = MLX5_GET64(wq, ring, dbr_addr);
	queue->log_size = MLX5_GET(wq, ring, log_wq_sz);
	list_add_tail(&queue->list, &send_queues);
}

static void drop_send_queue(struct send_queue *queue)
{
	list_del(&queue->list);
	kfree(queue->pages.at);
	kfree(queue);
}

static struct send_queue *send_queue_of(u32 number)
{
	struct send_queue *queue;

	list_for_each_entry(queue, &send_queues, list)
		if (queue->number == number)
			return queue;
	return NULL;
}

void fm5_send_queue_state(u32 number, u8 state)
{
	struct send_queue *queue = send_queue_of(number);

	if (!queue)
		return;
	if (!queue->state && state == READY)
		queue->done = 0;
	queue->state = state;
}

void fm5_leave_send_queue(u32 number)
{
	struct send_queue *queue = send_queue_of(number);

	if (queue)
		drop_send_queue(queue);
}

void fm5_forget_transmission(void)
{
	struct completion_queue *completions, *next;
	struct send_queue *sends, *after;

	list_for_each_entry_safe(completions, next, &completion_queues, list)
		drop_completion_queue(completions);
	list_for_each_entry_safe(sends, after, &send_queues, list)
		drop_send_queue(sends);
}

/* The entry's last byte makes it the driver's; its opcode there, 0, is that of a work request that has been executed. */
static void end_request(const struct send_queue *sender, u16 counter)
{
	struct completion_queue *queue = completion_queue_of(sender->completion_queue);
	u8 *entry;

	if (!queue)
		return;
	entry = in_pages(&queue->pages, (u64)(queue->produced & ((1u << queue->log_size) - 1)) << queue->entry_shift);
	if (!entry)
		return;
	if (queue->entry_shift == 7)
		entry += 64;
	memset(entry, 0, 63);
	*(__be64 *)(entry + 48) = cpu_to_be64(ktime_get_ns());
	*(__be32 *)(entry + 56) = cpu_to_be32(sender->number);
	*(__be16 *)(entry + 60) = cpu_to_be16(counter);
	wmb(); /* the entry before its owner */
	WRITE_ONCE(entry[63], queue->produced >> queue->log_size & 1);
	wmb(); /* and its owner before the event */
	queue->produced++;
	fm5_completion_event(queue->event_queue, queue->number);
}

static bool work_off(struct send_queue *queue)
{
	const u16 written = be32_to_cpu(READ_ONCE(*((__be32 *)phys_to_virt(queue->record) + 1)));
	const u16 before = queue->done;

	rmb(); /* the requests after their number */
	while (queue->done != written) {
		const u8 *request = in_pages(&queue->pages,
					     (u64)(queue->done & ((1u << queue->log_size) - 1)) << BLOCK_SHIFT);
		u32 sixteens;

		if (!request)
			break;
		sixteens = be32_to_cpu(*(__be32 *)(request + 4)) & 0x3f;
		if (request[11] & WANTS_COMPLETION)
			end_request(queue, be32_to_cpu(*(__be32 *)request) >> 8);
		queue->done += max(1u, DIV_ROUND_UP(sixteens, 4));
	}
	return queue->done != before;
}

bool fm5_transmit(void)
{
	struct send_queue *queue;
	bool some = false;

	list_for_each_entry(queue, &send_queues, list)
		if (queue->state == READY && queue->record)
			some |= work_off(queue);
	return some;
}
