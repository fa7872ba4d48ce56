// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The registers of an Ethernet port that the driver's own network device (mlx5e) reads and writes: traffic classes, trust, priorities
 * of DSCPs, PFC, buffers, MTU, whether the port is up. A write is kept as the firmware keeps it, and is in the log with what it wrote.
 * All of it is lost when the device fails, or is plugged.
 */
#include <linux/string.h>

#include "fake_mlx5.h"

#define CLASSES		8
#define PRIORITIES	8
#define DSCPS		64
#define BUFFERS		8
#define CELLS		2047	/* of 128 bytes: the receive buffer */

enum { TRUST_PRIORITY = 1, TRUST_DSCP = 2 };
enum { IS_UP = 1, IS_DOWN = 2 };
enum { MTU = 1522, LARGEST_MTU = 10222 };

static struct {
	u8 classes[MLX5_ST_SZ_BYTES(qetc_reg)], pause[MLX5_ST_SZ_BYTES(pfcc_reg)], buffers[MLX5_ST_SZ_BYTES(pbmc_reg)];
	u8 class_of_priority[PRIORITIES], priority_of_dscp[DSCPS];
	u32 buffer_of_priority;
	u8 trust, admin;
	u16 mtu;
} port;

static u8 *class_of(void *reg, unsigned int number)
{
	return MLX5_ADDR_OF(qetc_reg, reg, tc_configuration[number]);
}

void fm5_port_reset(void)
{
	void *first = MLX5_ADDR_OF(pbmc_reg, port.buffers, buffer[0]);
	int i;

	memset(&port, 0, sizeof(port));
	for (i = 0; i < CLASSES; i++) {
		MLX5_SET(ets_tcn_config_reg, class_of(port.classes, i), group, CLASSES - 1);
		MLX5_SET(ets_tcn_config_reg, class_of(port.classes, i), bw_allocation, 100);
		port.class_of_priority[i] = i;
	}
	for (i = 0; i < DSCPS; i++)
		port.priority_of_dscp[i] = i / (DSCPS / PRIORITIES);
	MLX5_SET(pbmc_reg, port.buffers, port_buffer_size, CELLS);
	MLX5_SET(bufferx_reg, first, lossy, 1);
	MLX5_SET(bufferx_reg, first, size, CELLS);
	port.trust = TRUST_PRIORITY;
	port.admin = IS_UP;
	port.mtu = MTU;
}

bool fm5_port_is_up(void)
{
	return port.admin == IS_UP;
}

u16 fm5_port_mtu(void)
{
	return port.mtu;
}

/* Of each class what its bits select: its group (strict among groups), its weight, its maximum rate. */
static void write_classes(struct fm5_command *c, void *in)
{
	int i;

	for (i = 0; i < CLASSES; i++) {
		u8 *from = class_of(in, i), *to = class_of(port.classes, i);

		if (MLX5_GET(ets_tcn_config_reg, from, g)) {
			MLX5_SET(ets_tcn_config_reg, to, group, MLX5_GET(ets_tcn_config_reg, from, group));
			fm5_note_more(c, " group%d=%u", i, (u32)MLX5_GET(ets_tcn_config_reg, to, group));
		}
		if (MLX5_GET(ets_tcn_config_reg, from, b)) {
			MLX5_SET(ets_tcn_config_reg, to, bw_allocation, MLX5_GET(ets_tcn_config_reg, from, bw_allocation));
			fm5_note_more(c, " weight%d=%u", i, (u32)MLX5_GET(ets_tcn_config_reg, to, bw_allocation));
		}
		if (MLX5_GET(ets_tcn_config_reg, from, r)) {
			MLX5_SET(ets_tcn_config_reg, to, max_bw_units, MLX5_GET(ets_tcn_config_reg, from, max_bw_units));
			MLX5_SET(ets_tcn_config_reg, to, max_bw_value, MLX5_GET(ets_tcn_config_reg, from, max_bw_value));
			fm5_note_more(c, " rate%d=%ux%u", i, (u32)MLX5_GET(ets_tcn_config_reg, to, max_bw_value),
				      (u32)MLX5_GET(ets_tcn_config_reg, to, max_bw_units));
		}
	}
}

static void class_of_priority(struct fm5_command *c, void *in, void *out, bool write)
{
	const u8 priority = MLX5_GET(qtct_reg, in, prio);

	if (write) {
		port.class_of_priority[priority] = MLX5_GET(qtct_reg, in, tclass);
		fm5_note_more(c, " priority=%u class=%u", priority, port.class_of_priority[priority]);
	}
	MLX5_SET(qtct_reg, out, prio, priority);
	MLX5_SET(qtct_reg, out, tclass, port.class_of_priority[priority]);
}

static void trust(struct fm5_command *c, void *in, void *out, bool write)
{
	if (write) {
		port.trust = MLX5_GET(qpts_reg, in, trust_state);
		fm5_note_more(c, " trust=%s", port.trust == TRUST_DSCP ? "dscp" : "priority");
	}
	MLX5_SET(qpts_reg, out, trust_state, port.trust);
}

static void priority_of_dscp(struct fm5_command *c, void *in, void *out, bool write)
{
	int i;

	for (i = 0; i < DSCPS; i++) {
		u8 *from = MLX5_ADDR_OF(qpdpm_reg, in, dscp[i]), *to = MLX5_ADDR_OF(qpdpm_reg, out, dscp[i]);

		if (write && MLX5_GET16(qpdpm_dscp_reg, from, e)) {
			port.priority_of_dscp[i] = MLX5_GET16(qpdpm_dscp_reg, from, prio);
			fm5_note_more(c, " dscp=%d priority=%u", i, port.priority_of_dscp[i]);
		}
		MLX5_SET16(qpdpm_dscp_reg, to, prio, port.priority_of_dscp[i]);
	}
}

static void write_pause(struct fm5_command *c, void *in)
{
	const u8 of_tx = MLX5_GET(pfcc_reg, in, prio_mask_tx), of_rx = MLX5_GET(pfcc_reg, in, prio_mask_rx);
	const u8 tx = (MLX5_GET(pfcc_reg, port.pause, pfctx) & ~of_tx) | (MLX5_GET(pfcc_reg, in, pfctx) & of_tx);
	const u8 rx = (MLX5_GET(pfcc_reg, port.pause, pfcrx) & ~of_rx) | (MLX5_GET(pfcc_reg, in, pfcrx) & of_rx);

	MLX5_SET(pfcc_reg, port.pause, pfctx, tx);
	MLX5_SET(pfcc_reg, port.pause, pfcrx, rx);
	if (!MLX5_GET(pfcc_reg, in, pptx_mask_n))
		MLX5_SET(pfcc_reg, port.pause, pptx, MLX5_GET(pfcc_reg, in, pptx));
	if (!MLX5_GET(pfcc_reg, in, pprx_mask_n))
		MLX5_SET(pfcc_reg, port.pause, pprx, MLX5_GET(pfcc_reg, in, pprx));
	fm5_note_more(c, " pfctx=%#x pfcrx=%#x", tx, rx);
}

static void write_buffers(struct fm5_command *c, void *in)
{
	int i;

	for (i = 0; i < BUFFERS; i++) {
		u8 *from = MLX5_ADDR_OF(pbmc_reg, in, buffer[i]);

		memcpy(MLX5_ADDR_OF(pbmc_reg, port.buffers, buffer[i]), from, MLX5_ST_SZ_BYTES(bufferx_reg));
		fm5_note_more(c, " %u%s", (u32)MLX5_GET(bufferx_reg, from, size),
			      MLX5_GET(bufferx_reg, from, lossy) ? "" : "-lossless");
	}
}

/* The link follows it, with the event. */
static void admin(struct fm5_command *c, void *in, void *out, bool write)
{
	const u8 before = port.admin;

	if (write) {
		port.admin = MLX5_GET(paos_reg, in, admin_status);
		fm5_note_more(c, " admin=%u", port.admin);
	}
	MLX5_SET(paos_reg, out, admin_status, port.admin);
	MLX5_SET(paos_reg, out, oper_status, fm5_link_is_up() ? IS_UP : IS_DOWN);
	if (port.admin != before)
		fm5_link_event();
}

bool fm5_port_register(struct fm5_command *c, u16 number, bool write)
{
	void *in = c->in + 16, *out = c->out + 16;

	switch (number) {
	case MLX5_REG_QETCR:
		if (write)
			write_classes(c, in);
		memcpy(out, port.classes, sizeof(port.classes));
		return true;
	case MLX5_REG_QTCT:
		class_of_priority(c, in, out, write);
		return true;
	case MLX5_REG_QPTS:
		trust(c, in, out, write);
		return true;
	case MLX5_REG_QPDPM:
		priority_of_dscp(c, in, out, write);
		return true;
	case MLX5_REG_QCAM:	/* which registers it has */
		MLX5_SET(qcam_reg, out, qos_access_reg_cap_mask.reg_cap.qpdpm, 1);
		MLX5_SET(qcam_reg, out, qos_access_reg_cap_mask.reg_cap.qpts, 1);
		return true;
	case MLX5_REG_PCAM:
		MLX5_SET(pcam_reg, out, port_access_reg_cap_mask.regs_5000_to_507f.pbmc, 1);
		MLX5_SET(pcam_reg, out, port_access_reg_cap_mask.regs_5000_to_507f.pptb, 1);
		MLX5_SET(pcam_reg, out, port_access_reg_cap_mask.regs_5000_to_507f.ppcnt, 1);
		return true;
	case MLX5_REG_PFCC:
		if (write)
			write_pause(c, in);
		memcpy(out, port.pause, sizeof(port.pause));
		return true;
	case MLX5_REG_PBMC:
		if (write)
			write_buffers(c, in);
		memcpy(out, port.buffers, sizeof(port.buffers));
		return true;
	case MLX5_REG_PPTB:
		if (write) {
			port.buffer_of_priority = MLX5_GET(pptb_reg, in, prio_x_buff);
			fm5_note_more(c, " buffers=%08x", port.buffer_of_priority);
		}
		MLX5_SET(pptb_reg, out, prio_x_buff, port.buffer_of_priority);
		return true;
	case MLX5_REG_PAOS:
		admin(c, in, out, write);
		return true;
	case MLX5_REG_PMTU:
		if (write)
			port.mtu = MLX5_GET(pmtu_reg, in, admin_mtu);
		MLX5_SET(pmtu_reg, out, max_mtu, LARGEST_MTU);
		MLX5_SET(pmtu_reg, out, admin_mtu, port.mtu);
		MLX5_SET(pmtu_reg, out, oper_mtu, port.mtu);
		return true;
	}
	/* DCBX_PARAM among them: zeros say that the host negotiates, not the firmware. */
	return false;
}
