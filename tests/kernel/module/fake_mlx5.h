/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the parts of the module share.
 *
 *	main.c		plug and unplug, start and end
 *	pci.c		a PCI host bridge with one function, whose configuration space is an array
 *	interrupts.c	an interrupt domain: the messages of the function's MSI-X table
 *	command.c	the thread that plays the firmware: initialisation segment, command queue, mailboxes
 *	execute.c	one command: which part answers it
 *	capabilities.c, ethernet.c, events.c, queues.c		those parts
 *	netdev.c	with eth=1, the network device of an Ethernet port, instead of the driver's own
 *	port.c, transmit.c, elements.c	with eth=2, what the driver's own needs: the port's registers, send queues, scheduling elements
 *	delegate.c	/dev/fake_mlx5: a process that answers instead (fake_mlx5_abi.h)
 *	control.c	writing to /proc/fake_mlx5: faults and events on request
 *	log.c		reading it: every command
 *
 * Programs' queues, user contexts and scheduling elements are left to such a process: the module refuses elements, and
 * takes care of the driver's own queues and elements alone.
 *
 * The firmware's state (queues, event queues, capabilities) belongs to its thread; nothing else touches it while the
 * thread runs.
 */
#ifndef FAKE_MLX5_H
#define FAKE_MLX5_H

#include <linux/io.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/mlx5_ifc.h>
#include <linux/types.h>

#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/* Where things are in BAR0. */
#define FM5_BAR_SIZE		(64ul << 20)
#define FM5_MSIX_TABLE		(60ul << 20)
#define FM5_MSIX_PENDING	(61ul << 20)
#define FM5_VECTORS		8
#define FM5_FIRST_UAR		64	/* pages of user access regions that are handed out */
#define FM5_LAST_UAR		8191

#define FM5_LOG_COMMANDS	5	/* entries of the command queue */
#define FM5_LOG_STRIDE		6	/* bytes of each */
#define FM5_COMMANDS		(1 << FM5_LOG_COMMANDS)

/* One command while it is executed. The mailboxes have at least FM5_MIN_MAILBOX bytes, zeros behind their lengths. */
#define FM5_MIN_MAILBOX		1024
struct fm5_command {
	u16 op, uid, op_mod;
	u8 *in, *out;
	u32 inlen, outlen;
	u8 status;
	u32 syndrome;
	char note[208];		/* for the log: "key=value ..." */
};

/* Why the firmware refused; what the driver logs and a client reads in its output mailbox. */
enum fm5_syndrome {
	FM5_NO_QUEUE		= 0xbad001,
	FM5_NO_PROCESS		= 0xbad010,
	FM5_EVENT_QUEUE		= 0xbad020,
	FM5_CAPABILITY_TYPE	= 0xbad030,
	FM5_NO_UAR		= 0xbad031,
	FM5_NO_ELEMENT		= 0xbad050,
	FM5_ELEMENT_IN_USE	= 0xbad051,
	FM5_NO_MEMORY		= 0xbad0ff,
};

static inline void fm5_refuse(struct fm5_command *c, u8 status, enum fm5_syndrome why)
{
	c->status = status;
	c->syndrome = why;
}

#define fm5_note(c, ...) snprintf((c)->note, sizeof((c)->note), __VA_ARGS__)
/* Behind what is noted already. */
__printf(2, 3) void fm5_note_more(struct fm5_command *c, const char *format, ...);
#define fm5_in(c, type, field) MLX5_GET(type, (c)->in, field)

/* Bits from `at` on, as the programmer's reference counts them: for fields newer than the headers. */
void fm5_bits_set(void *mailbox, unsigned int at, unsigned int width, u64 value);
u64 fm5_bits_get(const void *mailbox, unsigned int at, unsigned int width);

#define FM5_OBJECT_SCHEDULING_ELEMENT	0x26
#define FM5_GUID	(0x0c42a10300fa0001ull + FM5_NUMBER)
#define FM5_MAC		(0x0c42a1fa0001ull + FM5_NUMBER)

/* Parameters. */
extern ulong fm5_base;		/* physical address of BAR0 */
extern bool fm5_vf;		/* a virtual function */
enum { FM5_INFINIBAND, FM5_ETHERNET, FM5_MLX5E };
extern uint fm5_eth;		/* one of these; the last two are Ethernet with RoCE */

extern uint fm5_classes;	/* traffic classes of the port */

extern void __iomem *fm5_bar;	/* BAR0 as the device itself sees it */

/* main.c */
enum fm5_plug { FM5_PLUG, FM5_UNPLUG };
int fm5_plug_later(enum fm5_plug what);

/* pci.c */
void fm5_pci_reset(void);
u16 fm5_msix_flags(void);
int fm5_pci_add(void);
void fm5_pci_remove(void);

/* interrupts.c */
struct irq_domain;
struct irq_domain *fm5_interrupts_start(void);
void fm5_interrupts_stop(void);
void fm5_interrupt(unsigned int vector);

/* command.c */
int fm5_firmware_start(void);
void fm5_firmware_stop(void);
/* As after power on; while the function is unplugged. */
void fm5_firmware_power_on(void);

/* execute.c */
void fm5_execute(struct fm5_command *c);
const char *fm5_op_name(u16 op);
void fm5_forget_ids(void);

/* capabilities.c */
void fm5_capabilities_reset(void);
void fm5_query_capability(struct fm5_command *c);
void fm5_set_capability(struct fm5_command *c);
void *fm5_capability(unsigned int type);

/* ethernet.c */
void fm5_roce_capabilities(void);
void fm5_query_nic_vport(struct fm5_command *c);
void fm5_query_hca_vport(struct fm5_command *c);
void fm5_query_gid(struct fm5_command *c);
void fm5_access_register(struct fm5_command *c);
bool fm5_link_is_up(void);
void fm5_set_link(bool up);
bool fm5_has_speed(unsigned int gbps);
/* One that it has. */
void fm5_set_speed(unsigned int gbps);

/* Down or up, as it is now. */
void fm5_link_event(void);

/* port.c */
void fm5_port_reset(void);
bool fm5_port_is_up(void);
u16 fm5_port_mtu(void);
/* False: it is another register. */
bool fm5_port_register(struct fm5_command *c, u16 number, bool write);

/* transmit.c */
void fm5_follow_completion_queue(struct fm5_command *c, u32 number);
void fm5_leave_completion_queue(u32 number);
void fm5_follow_send_queue(struct fm5_command *c, u32 number);
void fm5_send_queue_state(u32 number, u8 state);
void fm5_leave_send_queue(u32 number);
void fm5_forget_transmission(void);
/* Whether there was something to send. */
bool fm5_transmit(void);

/* elements.c */
void fm5_create_element(struct fm5_command *c);
void fm5_modify_element(struct fm5_command *c);
void fm5_destroy_element(struct fm5_command *c);
void fm5_forget_elements(void);

/* netdev.c */
struct device;
int fm5_netdev_add(struct device *parent, bool link_up);
void fm5_netdev_remove(void);
/* Without effect where there is none. */
void fm5_netdev_link(bool up);

/* events.c */
void fm5_create_eq(struct fm5_command *c);
void fm5_destroy_eq(struct fm5_command *c);
bool fm5_has_eq(u8 type);
void fm5_event(u8 type, u8 subtype, u32 data);
void fm5_port_event(u8 subtype, u8 port);
void fm5_completion_event(u32 event_queue, u32 completion_queue);
void fm5_forget_eqs(void);

/* queues.c */
void fm5_create_queue(struct fm5_command *c, u32 id);
void fm5_modify_queue_pair(struct fm5_command *c);
void fm5_query_queue_pair(struct fm5_command *c);
/* A send or a receive queue. */
void fm5_modify_queue(struct fm5_command *c);
void fm5_query_queue(struct fm5_command *c);
/* Of any kind. */
void fm5_destroy_queue(struct fm5_command *c);
void fm5_forget_queues(void);

/* delegate.c */
int fm5_delegate_start(void);
void fm5_delegate_stop(void);
void fm5_delegate(u16 op, bool on);
bool fm5_is_delegated(u16 op);
/* Takes the mailboxes over. */
void fm5_ask(unsigned int slot, const struct fm5_command *c);
bool fm5_is_asked(unsigned int slot);
/* The command back, once it is answered or nobody is left to answer it. */
bool fm5_answered(unsigned int slot, struct fm5_command *c);
void fm5_forget_asked(void);

/* control.c */
struct fm5_fault {
	bool fails;
	u8 status;
	u32 syndrome;
	unsigned int delay_ms;
};
struct fm5_request {
	enum { FM5_EVENT, FM5_FATAL, FM5_LINK, FM5_SPEED } what;
	u32 a, b, c;
};
int fm5_control_start(void);
void fm5_control_stop(void);
/* What is arranged for the next command of this opcode. `delayed`: it has waited already, and uses up a failure. */
struct fm5_fault fm5_take_fault(u16 op, bool delayed);
/* Whether a write of the register ends with these, as ordered, without effect. */
bool fm5_take_refusal(u16 number, u8 *status, u32 *syndrome);
/* What the firmware is asked to do besides commands. */
bool fm5_next_request(struct fm5_request *request);

/* log.c */
struct seq_operations;
extern const struct seq_operations fm5_log_operations;
int fm5_log_start(void);
void fm5_log_stop(void);
void fm5_log_clear(void);
__printf(1, 2) void fm5_log(const char *format, ...);

#endif
