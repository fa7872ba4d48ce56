// SPDX-License-Identifier: GPL-2.0 OR MIT
/* /dev/fake_mlx5 (fake_mlx5_abi.h): delegated commands wait here for the process that answers them. */
#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "fake_mlx5.h"
#include "fake_mlx5_abi.h"

static struct asked {
	bool waiting, read, answered;
	bool returned;	/* for the module to execute */
	u32 sequence;
	struct fm5_command command;
} asked[FM5_COMMANDS];

static DECLARE_BITMAP(delegated, 0x1000);
static bool is_open;
static u32 last_sequence;
static DEFINE_MUTEX(lock);
static DECLARE_WAIT_QUEUE_HEAD(readers);

void fm5_delegate(u16 op, bool on)
{
	if (on)
		set_bit(op & 0xfff, delegated);
	else
		clear_bit(op & 0xfff, delegated);
}

bool fm5_is_delegated(u16 op)
{
	return READ_ONCE(is_open) && op < 0x1000 && test_bit(op, delegated);
}

void fm5_ask(unsigned int slot, const struct fm5_command *c)
{
	mutex_lock(&lock);
	asked[slot] = (struct asked){ .waiting = true, .sequence = ++last_sequence, .command = *c };
	mutex_unlock(&lock);
	wake_up_interruptible(&readers);
}

bool fm5_is_asked(unsigned int slot)
{
	return READ_ONCE(asked[slot].waiting);
}

bool fm5_answered(unsigned int slot, struct fm5_command *c)
{
	bool ended, returned = false;

	mutex_lock(&lock);
	ended = asked[slot].answered || !is_open;
	if (ended) {
		*c = asked[slot].command;
		returned = asked[slot].returned;
		fm5_note(c, "%s", asked[slot].answered ? "by=process" : "by=nobody");
		if (!asked[slot].answered)
			c->out[0] = MLX5_CMD_STAT_INT_ERR;
		c->status = c->out[0];
		c->syndrome = fm5_bits_get(c->out, 32, 32);
		asked[slot] = (struct asked){};
	}
	mutex_unlock(&lock);
	if (returned)
		fm5_execute(c);
	return ended;
}

void fm5_forget_asked(void)
{
	int i;

	mutex_lock(&lock);
	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		kvfree(asked[i].command.in);
		kvfree(asked[i].command.out);
		asked[i] = (struct asked){};
	}
	mutex_unlock(&lock);
}

static struct asked *next(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(asked); i++)
		if (asked[i].waiting && !asked[i].read)
			return &asked[i];
	return NULL;
}

static int fm5_open(struct inode *inode, struct file *file)
{
	int err = 0;

	mutex_lock(&lock);
	if (is_open)
		err = -EBUSY;
	else
		is_open = true;
	mutex_unlock(&lock);
	return err;
}

static int fm5_release(struct inode *inode, struct file *file)
{
	mutex_lock(&lock);
	is_open = false;
	mutex_unlock(&lock);
	return 0;
}

static __poll_t fm5_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &readers, table);
	return next() ? EPOLLIN | EPOLLRDNORM : 0;
}

static ssize_t give(struct asked *one, char __user *to, size_t room)
{
	const struct fm5_command *c = &one->command;
	const struct fake_mlx5_ask head = {
		.idx = one - asked, .seq = one->sequence, .inlen = c->inlen, .outlen = c->outlen,
	};

	if (room < sizeof(head) + c->inlen)
		return -EMSGSIZE;
	if (copy_to_user(to, &head, sizeof(head)) || copy_to_user(to + sizeof(head), c->in, c->inlen))
		return -EFAULT;
	one->read = true;
	return sizeof(head) + c->inlen;
}

static ssize_t fm5_read(struct file *file, char __user *to, size_t room, loff_t *at)
{
	struct asked *one;
	ssize_t result;

	for (;;) {
		mutex_lock(&lock);
		one = next();
		result = one ? give(one, to, room) : -EAGAIN;
		mutex_unlock(&lock);
		if (result != -EAGAIN || (file->f_flags & O_NONBLOCK))
			return result;
		if (wait_event_interruptible(readers, next()))
			return -ERESTARTSYS;
	}
}

static ssize_t fm5_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	struct fake_mlx5_ask head;
	struct asked *one;
	ssize_t result = -EINVAL;

	if (length < sizeof(head))
		return -EINVAL;
	if (copy_from_user(&head, from, sizeof(head)))
		return -EFAULT;
	if (head.idx >= ARRAY_SIZE(asked))
		return -EINVAL;
	length -= sizeof(head);
	mutex_lock(&lock);
	one = &asked[head.idx];
	if (one->waiting && one->read && !one->answered && one->sequence == head.seq && length <= one->command.outlen) {
		if (copy_from_user(one->command.out, from + sizeof(head), length)) {
			memset(one->command.out, 0, one->command.outlen);
			result = -EFAULT;
		} else {
			one->answered = true;
			one->returned = !length;
			result = sizeof(head) + length;
		}
	}
	mutex_unlock(&lock);
	return result;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = fm5_open,
	.release = fm5_release,
	.read = fm5_read,
	.write = fm5_write,
	.poll = fm5_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &operations,
	.mode = 0600,
};

int fm5_delegate_start(void)
{
	return misc_register(&device);
}

void fm5_delegate_stop(void)
{
	misc_deregister(&device);
	fm5_forget_asked();
}
