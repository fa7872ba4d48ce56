/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * /dev/fake_mlx5: a process that has it open answers the commands whose opcodes are delegated ("delegate OPCODE 1" to
 * /proc/fake_mlx5). One process at a time; open() gives EBUSY to others.
 *
 * read() gives one command: struct fake_mlx5_ask and then `inlen` bytes, the command's input mailbox as the driver
 * wrote it, with its opcode in bits 0..15 and the uid of the caller in bits 16..31. A buffer that is too small for it:
 * EMSGSIZE; the command stays. write() answers it: the same struct fake_mlx5_ask and then at most `outlen` bytes, the
 * output mailbox, whose first byte is the status and whose bits 32..63 are the syndrome; what is missing is zeros.
 * Without a byte of it, the module executes the command itself. Commands may be answered in any order. An answer to a
 * command that nobody waits for any more: EINVAL. poll() says when there is one to read.
 *
 * When the process closes the file or ends, its unanswered commands end with status 01 (internal error), and the module
 * answers itself from then on.
 */
#ifndef FAKE_MLX5_ABI_H
#define FAKE_MLX5_ABI_H

#include <linux/types.h>

#define FAKE_MLX5_DEVICE	"/dev/fake_mlx5"
#define FAKE_MLX5_CONTROL	"/proc/fake_mlx5"

/* The longest mailbox that the module accepts, either way. */
#define FAKE_MLX5_MAX_MAILBOX	(1 << 20)

struct fake_mlx5_ask {
	__u32 idx;	/* its entry of the command queue */
	__u32 seq;	/* which of the entry's commands it is */
	__u32 inlen;	/* bytes of the mailboxes */
	__u32 outlen;
};

#endif
