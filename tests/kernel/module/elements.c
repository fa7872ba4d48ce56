// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The scheduling elements that the driver makes for itself: for the send queues of offloaded htb, and of mqprio with rates. Programs
 * make theirs by other commands, which are the process's (delegate.c); whether real firmware takes both from one store is not known.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "fake_mlx5.h"

#define CONTEXT		32	/* in the commands, in bytes */
#define TSAR		0
#define SELECTS_SHARE	1
#define SELECTS_RATE	2

struct element {
	struct list_head list;
	u32 id, parent, children;
	u8 type;
};

static LIST_HEAD(elements);
static u32 last_id;

static struct element *element_of(u32 id)
{
	struct element *e;

	list_for_each_entry(e, &elements, list)
		if (e->id == id)
			return e;
	return NULL;
}

static void note_context(struct fm5_command *c, u32 selected)
{
	if (selected & SELECTS_SHARE)
		fm5_note_more(c, " share=%u", (u32)MLX5_GET(scheduling_context, c->in + CONTEXT, bw_share));
	if (selected & SELECTS_RATE)
		fm5_note_more(c, " rate=%u", (u32)MLX5_GET(scheduling_context, c->in + CONTEXT, max_average_bw));
}

void fm5_create_element(struct fm5_command *c)
{
	const u32 parent = MLX5_GET(scheduling_context, c->in + CONTEXT, parent_element_id);
	struct element *above = parent ? element_of(parent) : NULL, *e;

	fm5_note(c, "hierarchy=%u parent=%u", (u32)fm5_in(c, create_scheduling_element_in, scheduling_hierarchy), parent);
	if (parent && (!above || above->type != TSAR))
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_ELEMENT);
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	e->id = ++last_id;
	e->parent = parent;
	e->type = MLX5_GET(scheduling_context, c->in + CONTEXT, element_type);
	if (above)
		above->children++;
	list_add_tail(&e->list, &elements);
	MLX5_SET(create_scheduling_element_out, c->out, scheduling_element_id, e->id);
	fm5_note_more(c, " id=%u type=%u", e->id, e->type);
	note_context(c, SELECTS_SHARE | SELECTS_RATE);
}

static struct element *element_in(struct fm5_command *c)
{
	const u32 id = fm5_in(c, modify_scheduling_element_in, scheduling_element_id);
	struct element *e = element_of(id);

	fm5_note(c, "id=%u", id);
	if (!e)
		fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_ELEMENT);
	return e;
}

void fm5_modify_element(struct fm5_command *c)
{
	if (element_in(c))
		note_context(c, fm5_in(c, modify_scheduling_element_in, modify_bitmask));
}

static void forget(struct element *e)
{
	list_del(&e->list);
	kfree(e);
}

void fm5_destroy_element(struct fm5_command *c)
{
	struct element *e = element_in(c), *above;

	if (!e)
		return;
	if (e->children)
		return fm5_refuse(c, MLX5_CMD_STAT_RES_BUSY, FM5_ELEMENT_IN_USE);
	above = e->parent ? element_of(e->parent) : NULL;
	if (above)
		above->children--;
	forget(e);
}

void fm5_forget_elements(void)
{
	struct element *e, *next;

	list_for_each_entry_safe(e, next, &elements, list)
		forget(e);
}
