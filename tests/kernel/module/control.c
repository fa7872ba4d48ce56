// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Writing to /proc/fake_mlx5, one line each; opcodes, statuses and syndromes in hexadecimal:
 *
 *	fail OPCODE STATUS SYNDROME [COUNT]	the next COUNT (1) commands end so, without effect
 *	refuse REGISTER STATUS SYNDROME [COUNT [SKIP]]	of the port: COUNT (1) writes of it, after SKIP (0) others, end so,
 *						without effect; with status 0 the driver does not learn that
 *	delay OPCODE MILLISECONDS		each takes at least so long; 0: no longer
 *	delegate OPCODE 1|0			to the process at /dev/fake_mlx5, or not
 *	plug | unplug				the function appears, or goes in good order; the log says when it has
 *	fatal					the interface fails, and the driver resets the device
 *	link up|down				with the port's event
 *	speed GBPS				100, 40 or 10
 *	event TYPE SUBTYPE PORT			any event
 *	mark TEXT				a line of the log
 *	clear					an empty log
 */
#include <linux/kfifo.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fake_mlx5.h"

struct arranged {
	u16 op;			/* 0: a free place */
	u8 status;
	u32 syndrome;
	unsigned int count;	/* failures to come */
	unsigned int delay_ms;
};

static struct arranged arranged[32];
static struct {
	u16 number;		/* of the register */
	u8 status;
	u32 syndrome;
	unsigned int count, skip;
} refused;
static DEFINE_KFIFO(requests, struct fm5_request, 64);
static DEFINE_SPINLOCK(lock);

static struct arranged *arranged_for(u16 op)
{
	struct arranged *free = NULL;
	int i;

	for (i = 0; i < ARRAY_SIZE(arranged); i++) {
		if (arranged[i].op == op)
			return &arranged[i];
		if (!free && !arranged[i].count && !arranged[i].delay_ms)
			free = &arranged[i];
	}
	if (free)
		*free = (struct arranged){ .op = op };
	return free;
}

struct fm5_fault fm5_take_fault(u16 op, bool delayed)
{
	struct fm5_fault fault = {};
	int i;

	spin_lock(&lock);
	for (i = 0; i < ARRAY_SIZE(arranged); i++) {
		struct arranged *a = &arranged[i];

		if (a->op != op)
			continue;
		fault = (struct fm5_fault){ a->count > 0, a->status, a->syndrome, a->delay_ms };
		if (a->count && (!a->delay_ms || delayed))
			a->count--;
		break;
	}
	spin_unlock(&lock);
	return fault;
}

bool fm5_take_refusal(u16 number, u8 *status, u32 *syndrome)
{
	bool taken = false;

	spin_lock(&lock);
	if (refused.count && refused.number == number) {
		taken = !refused.skip;
		if (taken) {
			refused.count--;
			*status = refused.status;
			*syndrome = refused.syndrome;
		} else {
			refused.skip--;
		}
	}
	spin_unlock(&lock);
	return taken;
}

bool fm5_next_request(struct fm5_request *request)
{
	return kfifo_out(&requests, request, 1);
}

static int ask(struct fm5_request request)
{
	return kfifo_in_spinlocked(&requests, &request, 1, &lock) ? 0 : -EBUSY;
}

static int arrange_failure(u16 op, u8 status, u32 syndrome, unsigned int count)
{
	struct arranged *a;

	spin_lock(&lock);
	a = arranged_for(op);
	if (a) {
		a->status = status;
		a->syndrome = syndrome;
		a->count = count;
	}
	spin_unlock(&lock);
	return a ? 0 : -ENOSPC;
}

static int arrange_refusal(u16 number, u8 status, u32 syndrome, unsigned int count, unsigned int skip)
{
	spin_lock(&lock);
	refused.number = number;
	refused.status = status;
	refused.syndrome = syndrome;
	refused.count = count;
	refused.skip = skip;
	spin_unlock(&lock);
	return 0;
}

static int arrange_delay(u16 op, unsigned int ms)
{
	struct arranged *a;

	spin_lock(&lock);
	a = arranged_for(op);
	if (a)
		a->delay_ms = ms;
	spin_unlock(&lock);
	return a ? 0 : -ENOSPC;
}

static int obey(const char *line)
{
	unsigned int a, b, c, d = 1, e = 0;

	if (sscanf(line, "fail %x %x %x %u", &a, &b, &c, &d) >= 3)
		return a ? arrange_failure(a, b, c, d) : -EINVAL;
	if (sscanf(line, "refuse %x %x %x %u %u", &a, &b, &c, &d, &e) >= 3)
		return arrange_refusal(a, b, c, d, e);
	if (sscanf(line, "delay %x %u", &a, &b) == 2)
		return a ? arrange_delay(a, b) : -EINVAL;
	if (sscanf(line, "delegate %x %u", &a, &b) == 2) {
		fm5_delegate(a, b);
		return a < 0x1000 ? 0 : -EINVAL;
	}
	if (sscanf(line, "event %x %x %x", &a, &b, &c) == 3)
		return ask((struct fm5_request){ FM5_EVENT, a, b, c });
	if (sscanf(line, "speed %u", &a) == 1)
		return fm5_has_speed(a) ? ask((struct fm5_request){ FM5_SPEED, a }) : -EINVAL;
	if (!strcmp(line, "link up") || !strcmp(line, "link down"))
		return ask((struct fm5_request){ FM5_LINK, !strcmp(line, "link up") });
	if (!strcmp(line, "fatal"))
		return ask((struct fm5_request){ FM5_FATAL });
	if (!strcmp(line, "plug"))
		return fm5_plug_later(FM5_PLUG);
	if (!strcmp(line, "unplug"))
		return fm5_plug_later(FM5_UNPLUG);
	if (!strncmp(line, "mark ", 5)) {
		fm5_log("mark %s", line + 5);
		return 0;
	}
	if (!strcmp(line, "clear")) {
		fm5_log_clear();
		return 0;
	}
	return -EINVAL;
}

static ssize_t control(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	char line[128] = {};
	int err;

	if (length >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, length))
		return -EFAULT;
	err = obey(strim(line));
	return err ? err : (ssize_t)length;
}

static int open_log(struct inode *inode, struct file *file)
{
	return seq_open(file, &fm5_log_operations);
}

static const struct proc_ops operations = {
	.proc_open = open_log,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = seq_release,
	.proc_write = control,
};

int fm5_control_start(void)
{
	return proc_create(KBUILD_MODNAME, 0644, NULL, &operations) ? 0 : -ENOMEM;
}

void fm5_control_stop(void)
{
	remove_proc_entry(KBUILD_MODNAME, NULL);
}
