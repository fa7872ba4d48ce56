// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The thread that plays the firmware. It takes commands from the queue in the driver's memory, has them executed, and
 * puts the answers back.
 *
 * BAR0 is memory, so the device does not see writes as they happen, and a doorbell would overwrite another one before
 * the thread looks. So the doorbells are heard where the driver rings them, in iowrite32be(). The state of an entry is no
 * substitute: the driver hands it over some time before it rings, and a command that is answered before that has freed
 * what the driver is still using.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/set_memory.h>
#include <linux/string.h>

#include "fake_mlx5.h"
#include "fake_mlx5_abi.h"

#define HEALTH_NS	(100 * NSEC_PER_MSEC)
#define EAGER_NS	(20 * NSEC_PER_MSEC)	/* after a command: another one may follow */

/* What the device says of the delivery of a command, apart from its status. */
enum delivery { DELIVERED = 0, BAD_TOKEN = 2, INTERNAL = 6, BAD_INPUT_LENGTH = 7, BAD_OUTPUT_LENGTH = 8 };

#define OWNED_BY_DEVICE 1
#define INTERFACE_DISABLED 1
#define BLOCK_BYTES 512

struct entry {
	u8 type, reserved[3];
	__be32 inlen;
	__be64 in_blocks;
	__be32 in[4], out[4];	/* the first 16 bytes of either mailbox */
	__be64 out_blocks;
	__be32 outlen;
	u8 token, signature, reserved_2, status_own;
} __packed;

struct block {
	u8 data[BLOCK_BYTES], reserved[48];
	__be64 next;
	__be32 number;
	u8 reserved_2, token, control_signature, signature;
} __packed;


static struct task_struct *thread;
static void *queue;	/* of commands, in the driver's memory; NULL: it has not said where */
static u64 queue_dma;
static atomic_t rung;			/* doorbells that the thread has not looked at */
static u64 due[FM5_COMMANDS];		/* when a delayed command is executed; 0: none waits */

#define segment(field) (fm5_bar + offsetof(struct mlx5_init_seg, field))

static u32 read_segment(void __iomem *at)
{
	return be32_to_cpu((__force __be32)__raw_readl(at));
}

static void write_segment(u32 value, void __iomem *at)
{
	__raw_writel((__force u32)cpu_to_be32(value), at);
}

static struct entry *entry_of(unsigned int slot)
{
	return queue + (slot << FM5_LOG_STRIDE);
}

/* Everything is forgotten: after DISABLE_HCA, a failure, or while nothing is plugged. */
static void reset(void)
{
	fm5_forget_queues();
	fm5_forget_transmission();
	fm5_forget_elements();
	fm5_forget_eqs();
	fm5_forget_ids();
	fm5_forget_asked();
	fm5_capabilities_reset();
	atomic_set(&rung, 0);
	memset(due, 0, sizeof(due));
	queue = NULL;
}

static void write_state(u8 state)
{
	write_segment((u32)queue_dma | state << 8 | FM5_LOG_COMMANDS << 4 | FM5_LOG_STRIDE, segment(cmdq_addr_l_sz));
}

/* The bytes behind the first 16 of a mailbox, in a chain of blocks. */
static bool copy_blocks(u64 dma, u8 *data, u32 length, bool to_driver, u8 token)
{
	while (length) {
		const u32 part = min_t(u32, length, BLOCK_BYTES);
		struct block *block;

		if (!dma)
			return false;
		block = phys_to_virt(dma);
		if (block->token != token)
			return false;
		if (to_driver)
			memcpy(block->data, data, part);
		else
			memcpy(data, block->data, part);
		data += part;
		length -= part;
		dma = be64_to_cpu(block->next);
	}
	return true;
}

static void free_mailboxes(struct fm5_command *c)
{
	kvfree(c->in);
	kvfree(c->out);
	c->in = NULL;
	c->out = NULL;
}

static void finish(unsigned int slot, struct fm5_command *c, enum delivery delivery, bool notify)
{
	struct entry *entry = entry_of(slot);
	const u16 op = c->op;

	if (delivery == DELIVERED) {
		memcpy(entry->out, c->out, sizeof(entry->out));
		if (c->outlen > 16 &&
		    !copy_blocks(be64_to_cpu(entry->out_blocks), c->out + 16, c->outlen - 16, true, entry->token))
			delivery = BAD_TOKEN;
	}
	if (delivery == DELIVERED)
		fm5_log("[%2u] %s %03x.%x uid=%u in=%u out=%u -> %02x/%06x %s", slot, fm5_op_name(op), op, c->op_mod,
			c->uid, c->inlen, c->outlen, c->status, c->syndrome, c->note);
	else
		fm5_log("[%2u] is not delivered: %d, in=%u out=%u", slot, delivery, c->inlen, c->outlen);
	free_mailboxes(c);
	wmb(); /* the answer before the entry is the driver's again */
	WRITE_ONCE(entry->status_own, delivery << 1);
	wmb(); /* and that before the event */
	if (notify)
		fm5_event(MLX5_EVENT_TYPE_CMD, 0, 1u << slot);
	if (op == MLX5_CMD_OP_DISABLE_HCA) {
		fm5_log("disabled");
		reset();
	}
}

static enum delivery take(const struct entry *entry, struct fm5_command *c)
{
	c->inlen = be32_to_cpu(entry->inlen);
	c->outlen = be32_to_cpu(entry->outlen);
	if (c->inlen < 8 || c->inlen > FAKE_MLX5_MAX_MAILBOX)
		return BAD_INPUT_LENGTH;
	if (c->outlen < 8 || c->outlen > FAKE_MLX5_MAX_MAILBOX)
		return BAD_OUTPUT_LENGTH;
	c->in = kvzalloc(max_t(u32, c->inlen, FM5_MIN_MAILBOX), GFP_KERNEL);
	c->out = kvzalloc(max_t(u32, c->outlen, FM5_MIN_MAILBOX), GFP_KERNEL);
	if (!c->in || !c->out)
		return INTERNAL;
	memcpy(c->in, entry->in, min_t(u32, c->inlen, sizeof(entry->in)));
	if (c->inlen > 16 &&
	    !copy_blocks(be64_to_cpu(entry->in_blocks), c->in + 16, c->inlen - 16, false, entry->token))
		return BAD_TOKEN;
	c->op = fm5_bits_get(c->in, 0, 16);
	c->uid = fm5_bits_get(c->in, 16, 16);
	c->op_mod = fm5_bits_get(c->in, 48, 16);
	return DELIVERED;
}

static void put_status(struct fm5_command *c)
{
	memset(c->out, 0, c->outlen);
	fm5_bits_set(c->out, 0, 8, c->status);
	fm5_bits_set(c->out, 32, 32, c->syndrome);
}

static void serve(unsigned int slot)
{
	/* The command that makes the queue for such events is polled for. */
	const bool notify = fm5_has_eq(MLX5_EVENT_TYPE_CMD);
	struct fm5_command command = {}, *c = &command;
	const bool delayed = due[slot];
	struct fm5_fault fault;
	enum delivery delivery;

	rmb(); /* the entry after its doorbell */
	delivery = take(entry_of(slot), c);
	if (delivery != DELIVERED)
		return finish(slot, c, delivery, notify);
	fault = fm5_take_fault(c->op, delayed);
	if (fault.delay_ms && !delayed) {
		due[slot] = ktime_get_ns() + fault.delay_ms * NSEC_PER_MSEC;
		return free_mailboxes(c);
	}
	due[slot] = 0;
	if (fault.fails) {
		c->status = fault.status;
		c->syndrome = fault.syndrome;
		fm5_note(c, "fails=by-request");
	} else if (fm5_is_delegated(c->op)) {
		return fm5_ask(slot, c);
	} else {
		fm5_execute(c);
	}
	if (c->status)
		put_status(c);
	finish(slot, c, DELIVERED, notify);
}

/* Whether there was something to do. */
static bool look_at(unsigned int slot, u32 bells, u64 now)
{
	struct fm5_command answered;

	if (fm5_is_asked(slot)) {
		if (!fm5_answered(slot, &answered))
			return true;
		if (answered.status)
			put_status(&answered);
		finish(slot, &answered, DELIVERED, true);
	} else if (due[slot]) {
		if (now >= due[slot])
			serve(slot);
	} else if ((bells >> slot & 1) && (READ_ONCE(entry_of(slot)->status_own) & OWNED_BY_DEVICE)) {
		serve(slot);
	} else {
		return false;
	}
	return true;
}

static void do_request(const struct fm5_request *request)
{
	switch (request->what) {
	case FM5_EVENT:
		if (request->a == MLX5_EVENT_TYPE_PORT_CHANGE)
			fm5_port_event(request->b, request->c);
		else
			fm5_event(request->a, request->b, request->c);
		break;
	case FM5_LINK:
		fm5_set_link(request->a);
		break;
	case FM5_SPEED:
		fm5_set_speed(request->a);
		break;
	case FM5_FATAL:
		/* The driver's health check finds the interface disabled, and resets the device. */
		fm5_log("fatal");
		write_state(INTERFACE_DISABLED);
		reset();
		fm5_port_reset();
		break;
	}
}

/* The driver writes the queue's address over the sizes, and reads these afterwards. */
static void look_for_queue(void)
{
	const u32 low = read_segment(segment(cmdq_addr_l_sz));

	if (low & 0xff)
		return;
	queue_dma = (u64)read_segment(segment(cmdq_addr_h)) << 32 | (low & ~0xfffu);
	queue = queue_dma ? phys_to_virt(queue_dma) : NULL;
	write_segment(low | FM5_LOG_COMMANDS << 4 | FM5_LOG_STRIDE, segment(cmdq_addr_l_sz));
	fm5_log("command queue, interface state %u", low >> 8 & 7);
}

static void beat(u64 now)
{
	static u64 last;
	static u32 counter;

	if (now - last < HEALTH_NS)
		return;
	last = now;
	write_segment(++counter, segment(health_counter));
	write_segment(now >> 32, segment(internal_timer_h));
	write_segment(now, segment(internal_timer_l));
}

static int firmware(void *unused)
{
	u64 last_work = 0;

	while (!kthread_should_stop()) {
		const u64 now = ktime_get_ns();
		struct fm5_request request;
		unsigned int slot;
		u32 bells;

		look_for_queue();
		beat(now);
		bells = queue ? atomic_xchg(&rung, 0) : 0;
		for (slot = 0; slot < FM5_COMMANDS && queue; slot++)
			if (look_at(slot, bells, now))
				last_work = now;
		if (fm5_transmit())
			last_work = now;
		while (fm5_next_request(&request))
			do_request(&request);
		if (now - last_work < EAGER_NS)
			usleep_range(50, 100);
		else
			usleep_range(400, 800);
	}
	return 0;
}

void fm5_firmware_power_on(void)
{
	memset_io(fm5_bar, 0, FM5_FIRST_UAR * PAGE_SIZE);
	fm5_pci_reset();
	fm5_port_reset();
	write_segment(35 << 16 | 22, segment(fw_rev));			/* minor, major */
	write_segment(5 << 16 | 1012, segment(cmdif_rev_fw_sub));
	write_segment(FM5_LOG_COMMANDS << 4 | FM5_LOG_STRIDE, segment(cmdq_addr_l_sz));
	write_segment(0x16231012, segment(health.fw_ver));
	write_segment(0x212, segment(health.hw_id));
	write_segment(0, segment(initializing));
}

/* iowrite32be(value, address) */
static int hear(struct kprobe *probe, struct pt_regs *registers)
{
	void *address = (void *)registers->si;

	if (!is_vmalloc_addr(address) ||
	    slow_virt_to_phys(address) != fm5_base + offsetof(struct mlx5_init_seg, cmd_dbell))
		return 0;
	/* Not for a queue that a failure has ended. A new one has an address without the sizes, until the thread looks. */
	if (READ_ONCE(queue) || !(read_segment(segment(cmdq_addr_l_sz)) & 0xff))
		atomic_or(registers->di, &rung);
	return 0;
}

static struct kprobe doorbell = { .symbol_name = "iowrite32be", .pre_handler = hear };

int fm5_firmware_start(void)
{
	int err;

	reset();
	err = register_kprobe(&doorbell);
	if (err)
		return err;
	thread = kthread_run(firmware, NULL, KBUILD_MODNAME);
	if (IS_ERR(thread)) {
		unregister_kprobe(&doorbell);
		return PTR_ERR(thread);
	}
	sched_set_fifo_low(thread);	/* before a driver that polls for its answer */
	return 0;
}

void fm5_firmware_stop(void)
{
	unregister_kprobe(&doorbell);
	kthread_stop(thread);
	reset();
}
