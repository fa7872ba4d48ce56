// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Scheduling elements: general objects of type 26h. */
#include <linux/list.h>
#include <linux/slab.h>

#include "fake_mlx5.h"

enum { TSAR = 0, QUEUE_GROUP = 4, HIERARCHY_NIC = 3 };
enum { SELECT_SHARE = 1, SELECT_CAP = 2 };

/* The object, behind the 16 bytes of the command's header; newer than the kernel's headers. */
#define OBJECT			16
#define OBJECT_SELECT		0, 64	/* modify_field_select */
#define OBJECT_HIERARCHY	64, 8
#define OBJECT_ELEMENT_TYPE	256, 8
#define OBJECT_TSAR_TYPE	296, 8
#define OBJECT_PARENT		320, 32
#define OBJECT_SHARE		416, 32
#define OBJECT_CAP		448, 32
#define OBJECT_END		(OBJECT + 64)

struct element {
	struct list_head list;
	u32 id;
	u16 uid;
	u8 type, tsar;
	u32 parent, share, cap;
	u32 children, users;
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

static bool is_foreign(const struct fm5_command *c, const struct element *e)
{
	return fm5_isolate && e->uid != c->uid;
}

bool fm5_leaf_allowed(struct fm5_command *c, u32 leaf)
{
	const struct element *e = element_of(leaf);

	if (!leaf)
		return true;
	if (!e || e->type != QUEUE_GROUP)
		fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_LEAF);
	else if (is_foreign(c, e))
		fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_FOREIGN_LEAF);
	else
		return true;
	return false;
}

/* A queue leaves its leaf for another one, or for none. */
void fm5_move(u32 *leaf, u32 to)
{
	struct element *from = element_of(*leaf), *next = element_of(to);

	if (from)
		from->users--;
	if (next)
		next->users++;
	*leaf = to;
}

static void create(struct fm5_command *c)
{
	const u8 *object = c->in + OBJECT;
	const u32 parent_id = fm5_bits_get(object, OBJECT_PARENT);
	struct element *parent = element_of(parent_id), *e;
	const u8 type = fm5_bits_get(object, OBJECT_ELEMENT_TYPE);

	if (fm5_bits_get(object, OBJECT_HIERARCHY) != HIERARCHY_NIC)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_PARAM_ERR, FM5_HIERARCHY);
	if (type != TSAR && type != QUEUE_GROUP)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_PARAM_ERR, FM5_ELEMENT_TYPE);
	if (parent_id && (!parent || parent->type != TSAR || is_foreign(c, parent)))
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_PARENT);
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return fm5_refuse(c, MLX5_CMD_STAT_NO_RES_ERR, FM5_NO_MEMORY);
	e->id = ++last_id;
	e->uid = c->uid;
	e->type = type;
	e->tsar = fm5_bits_get(object, OBJECT_TSAR_TYPE);
	e->parent = parent_id;
	e->share = fm5_bits_get(object, OBJECT_SHARE);
	e->cap = fm5_bits_get(object, OBJECT_CAP);
	if (parent)
		parent->children++;
	list_add_tail(&e->list, &elements);
	MLX5_SET(general_obj_out_cmd_hdr, c->out, obj_id, e->id);
	fm5_note(c, "element=%u type=%u parent=%u share=%u cap=%u", e->id, e->type, e->parent, e->share, e->cap);
}

static void modify(struct fm5_command *c, struct element *e)
{
	const u8 *object = c->in + OBJECT;
	const u64 select = fm5_bits_get(object, OBJECT_SELECT);

	if (select & SELECT_SHARE)
		e->share = fm5_bits_get(object, OBJECT_SHARE);
	if (select & SELECT_CAP)
		e->cap = fm5_bits_get(object, OBJECT_CAP);
	fm5_note(c, "element=%u select=%llu share=%u cap=%u", e->id, select, e->share, e->cap);
}

static void query(struct fm5_command *c, const struct element *e)
{
	u8 *object = c->out + OBJECT;

	if (c->outlen < OBJECT_END)
		return;
	fm5_bits_set(object, OBJECT_HIERARCHY, HIERARCHY_NIC);
	fm5_bits_set(object, OBJECT_ELEMENT_TYPE, e->type);
	fm5_bits_set(object, OBJECT_TSAR_TYPE, e->tsar);
	fm5_bits_set(object, OBJECT_PARENT, e->parent);
	fm5_bits_set(object, OBJECT_SHARE, e->share);
	fm5_bits_set(object, OBJECT_CAP, e->cap);
}

static void forget(struct element *e)
{
	struct element *parent = element_of(e->parent);

	if (parent)
		parent->children--;
	list_del(&e->list);
	kfree(e);
}

static void destroy(struct fm5_command *c, struct element *e)
{
	fm5_note(c, "element=%u children=%u users=%u", e->id, e->children, e->users);
	if (e->children || e->users)
		return fm5_refuse(c, MLX5_CMD_STAT_RES_BUSY, FM5_ELEMENT_IN_USE);
	forget(e);
}

void fm5_general_object(struct fm5_command *c)
{
	const u16 type = fm5_in(c, general_obj_in_cmd_hdr, obj_type);
	const u32 id = fm5_in(c, general_obj_in_cmd_hdr, obj_id);
	struct element *e;

	fm5_note(c, "object-type=%#x element=%u", type, id);
	if (type != FM5_OBJECT_SCHEDULING_ELEMENT)
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_PARAM_ERR, FM5_OBJECT_TYPE);
	if (c->op == MLX5_CMD_OP_CREATE_GENERAL_OBJECT)
		return create(c);
	e = element_of(id);
	if (!e || is_foreign(c, e))
		return fm5_refuse(c, MLX5_CMD_STAT_BAD_RES_ERR, FM5_NO_ELEMENT);
	switch (c->op) {
	case MLX5_CMD_OP_MODIFY_GENERAL_OBJECT:
		return modify(c, e);
	case MLX5_CMD_OP_QUERY_GENERAL_OBJECT:
		return query(c, e);
	case MLX5_CMD_OP_DESTROY_GENERAL_OBJECT:
		return destroy(c, e);
	}
}

void fm5_forget_elements(void)
{
	struct element *e, *next;

	list_for_each_entry_safe(e, next, &elements, list)
		forget(e);
}

void fm5_log_elements(void)
{
	struct element *e;

	list_for_each_entry(e, &elements, list)
		fm5_log("element id=%u owner=%u type=%u parent=%u share=%u cap=%u children=%u users=%u", e->id, e->uid,
			e->type, e->parent, e->share, e->cap, e->children, e->users);
}
