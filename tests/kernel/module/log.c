// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The log: the last lines, each with the time by CLOCK_MONOTONIC, in seconds. Every command is one when it has ended:
 *
 *	12.345678 [ 3] RTS2RTS_QP 505.0 uid=7 in=464 out=16 -> 00/000000 qpn=0x41 owner=7 state=3 requester=2 responder=2
 *
 * the entry of the queue, the opcode and its modifier, the user context, bytes of the mailboxes, status and syndrome,
 * and what the command was about.
 */
#include <linux/ktime.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "fake_mlx5.h"

#define LINES 16384

struct line {
	u64 time;
	char text[320];
};

static struct line *lines;
static u64 count;
static DEFINE_SPINLOCK(lock);

void fm5_log(const char *format, ...)
{
	struct line *line;
	va_list arguments;

	spin_lock(&lock);
	line = &lines[count++ % LINES];
	line->time = ktime_get_ns();
	va_start(arguments, format);
	vsnprintf(line->text, sizeof(line->text), format, arguments);
	va_end(arguments);
	spin_unlock(&lock);
}

void fm5_log_clear(void)
{
	spin_lock(&lock);
	count = 0;
	spin_unlock(&lock);
}

static void *start(struct seq_file *file, loff_t *at)
{
	spin_lock(&lock);
	if (count > LINES && *at < count - LINES)
		*at = count - LINES;
	return *at < count ? at : NULL;
}

static void *next(struct seq_file *file, void *value, loff_t *at)
{
	++*at;
	return *at < count ? at : NULL;
}

static void stop(struct seq_file *file, void *value)
{
	spin_unlock(&lock);
}

static int show(struct seq_file *file, void *value)
{
	const struct line *line = &lines[*(loff_t *)value % LINES];

	seq_printf(file, "%llu.%06llu %s\n", line->time / NSEC_PER_SEC, line->time / 1000 % 1000000, line->text);
	return 0;
}

const struct seq_operations fm5_log_operations = { .start = start, .next = next, .stop = stop, .show = show };

int fm5_log_start(void)
{
	lines = vzalloc(array_size(LINES, sizeof(*lines)));
	return lines ? 0 : -ENOMEM;
}

void fm5_log_stop(void)
{
	vfree(lines);
}
