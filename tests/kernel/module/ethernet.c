// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The port: its registers, its link, and what makes it one of RoCE. */
#include <linux/string.h>

#include "fake_mlx5.h"

enum { PORT_DOWN = 1, PORT_ACTIVE = 4, PHYSICAL_DISABLED = 3, PHYSICAL_LINK_UP = 5 };
enum { FOUR_LANES = 1 << 2 };
enum { REGISTER_PMTU = 0x5003, REGISTER_PTYS = 0x5004, REGISTER_PVLC = 0x500f };

static bool link_up = true;

/* Speeds of four lanes, and how PTYS says them for either kind of port. */
static const struct speed {
	unsigned int gbps;
	u16 infiniband;
	u32 ethernet;
} speeds[] = {
	{ 100, 1 << 5, 1 << 20 },
	{ 40, 1 << 2, 1 << 6 },
	{ 10, 1 << 0, 1 << 2 },
};
static const struct speed *speed = &speeds[0];

static void steering(void *table)
{
	MLX5_SET(flow_table_prop_layout, table, ft_support, 1);
	MLX5_SET(flow_table_prop_layout, table, flow_counter, 1);
	MLX5_SET(flow_table_prop_layout, table, flow_modify_en, 1);
	MLX5_SET(flow_table_prop_layout, table, modify_root, 1);
	MLX5_SET(flow_table_prop_layout, table, identified_miss_table_mode, 1);
	MLX5_SET(flow_table_prop_layout, table, flow_table_modify, 1);
	MLX5_SET(flow_table_prop_layout, table, max_ft_level, 64);
	MLX5_SET(flow_table_prop_layout, table, log_max_ft_size, 22);
	MLX5_SET(flow_table_prop_layout, table, log_max_ft_num, 16);
	MLX5_SET(flow_table_prop_layout, table, log_max_flow, 22);
	MLX5_SET(flow_table_prop_layout, table, log_max_flow_counter, 15);
	MLX5_SET(flow_table_prop_layout, table, log_max_destination, 8);
}

/* What mlx5e demands to be there, and to be able to set traffic classes (vport_group_manager, ets, and the registers' lists). */
static void mlx5e_capabilities(void)
{
	void *general = fm5_capability(MLX5_CAP_GENERAL);
	void *ethernet = fm5_capability(MLX5_CAP_ETHERNET_OFFLOADS);
	void *tables = fm5_capability(MLX5_CAP_FLOW_TABLE);

	MLX5_SET(cmd_hca_cap, general, nic_flow_table, 1);
	MLX5_SET(cmd_hca_cap, general, vport_group_manager, !fm5_vf);
	MLX5_SET(cmd_hca_cap, general, ets, 1);
	MLX5_SET(cmd_hca_cap, general, max_tc, fm5_classes);
	MLX5_SET(cmd_hca_cap, general, qcam_reg, 1);
	MLX5_SET(cmd_hca_cap, general, pcam_reg, 1);
	MLX5_SET(cmd_hca_cap, general, max_wqe_sz_sq, 1024);
	MLX5_SET(cmd_hca_cap, general, log_max_current_uc_list, 7);
	MLX5_SET(cmd_hca_cap, general, log_max_current_mc_list, 10);
	MLX5_SET(cmd_hca_cap, general, log_max_vlan_list, 9);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, rss_ind_tbl_cap, 11);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, self_lb_en_modifiable, 1);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, wqe_inline_mode, 2);	/* headers need not be inline */
	steering(MLX5_ADDR_OF(flow_table_nic_cap, tables, flow_table_properties_nic_receive));
	steering(MLX5_ADDR_OF(flow_table_nic_cap, tables, flow_table_properties_nic_transmit));
}

/* Without nic_flow_table there is no mlx5e and no steering; netdev.c has the network device then. */
void fm5_roce_capabilities(void)
{
	void *general = fm5_capability(MLX5_CAP_GENERAL);
	void *ethernet = fm5_capability(MLX5_CAP_ETHERNET_OFFLOADS);
	void *roce = fm5_capability(MLX5_CAP_ROCE);

	MLX5_SET(cmd_hca_cap, general, port_type, MLX5_CAP_PORT_TYPE_ETH);
	MLX5_SET(cmd_hca_cap, general, eth_net_offloads, 1);
	MLX5_SET(cmd_hca_cap, general, roce, 1);
	MLX5_SET(cmd_hca_cap, general, log_max_tis_per_sq, 3);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, csum_cap, 1);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, vlan_cap, 1);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, wqe_vlan_insert, 1);
	MLX5_SET(per_protocol_networking_offload_caps, ethernet, max_lso_cap, 18);
	MLX5_SET(roce_cap, roce, l3_type, 6);
	MLX5_SET(roce_cap, roce, roce_version, 5);
	MLX5_SET(roce_cap, roce, r_roce_dest_udp_port, 4791);
	MLX5_SET(roce_cap, roce, r_roce_max_src_udp_port, 0xffff);
	MLX5_SET(roce_cap, roce, r_roce_min_src_udp_port, 0xc000);
	MLX5_SET(roce_cap, roce, roce_address_table_size, 16);
	if (fm5_eth == FM5_MLX5E)
		mlx5e_capabilities();
}

void fm5_query_nic_vport(struct fm5_command *c)
{
	void *v = MLX5_ADDR_OF(query_nic_vport_context_out, c->out, nic_vport_context);

	if (c->outlen < MLX5_ST_SZ_BYTES(query_nic_vport_context_out))
		return;
	MLX5_SET(nic_vport_context, v, roce_en, 1);
	MLX5_SET(nic_vport_context, v, mtu, fm5_eth == FM5_MLX5E ? fm5_port_mtu() : 1500);
	MLX5_SET64(nic_vport_context, v, system_image_guid, FM5_GUID);
	MLX5_SET64(nic_vport_context, v, node_guid, FM5_GUID);
	MLX5_SET64(nic_vport_context, v, port_guid, FM5_GUID);
	fm5_bits_set((u8 *)v + MLX5_BYTE_OFF(nic_vport_context, permanent_address), 16, 48, FM5_MAC);
}

void fm5_query_hca_vport(struct fm5_command *c)
{
	void *v = MLX5_ADDR_OF(query_hca_vport_context_out, c->out, hca_vport_context);

	MLX5_SET(hca_vport_context, v, has_smi, 1);
	MLX5_SET(hca_vport_context, v, port_physical_state, link_up ? PHYSICAL_LINK_UP : PHYSICAL_DISABLED);
	MLX5_SET(hca_vport_context, v, port_state, link_up ? PORT_ACTIVE : PORT_DOWN);
	MLX5_SET(hca_vport_context, v, vport_state, link_up ? PORT_ACTIVE : PORT_DOWN);
	MLX5_SET64(hca_vport_context, v, system_image_guid, FM5_GUID);
	MLX5_SET64(hca_vport_context, v, port_guid, FM5_GUID);
	MLX5_SET64(hca_vport_context, v, node_guid, FM5_GUID);
	MLX5_SET(hca_vport_context, v, cap_mask1, 0x2651e848);
	MLX5_SET(hca_vport_context, v, lid, 1);
	MLX5_SET(hca_vport_context, v, sm_lid, 1);
	MLX5_SET(hca_vport_context, v, subnet_timeout, 18);
}

void fm5_query_gid(struct fm5_command *c)
{
	const u64 index = fm5_bits_get(c->in, 112, 16);

	MLX5_SET(query_hca_vport_gid_out, c->out, gids_num, 1);
	fm5_note(c, "index=%llu", index);
	if (index == 0 || index == 0xffff) {
		fm5_bits_set(c->out + 16, 0, 64, 0xfe80000000000000ull);
		fm5_bits_set(c->out + 16, 64, 64, FM5_GUID);
	}
}

static void speed_register(struct fm5_command *c, void *data)
{
	if (c->outlen < 16 + MLX5_ST_SZ_BYTES(ptys_reg))
		return;
	if (fm5_eth) {
		MLX5_SET(ptys_reg, data, proto_mask, MLX5_PTYS_EN);
		MLX5_SET(ptys_reg, data, eth_proto_capability,
			 speeds[0].ethernet | speeds[1].ethernet | speeds[2].ethernet);
		MLX5_SET(ptys_reg, data, eth_proto_admin, speed->ethernet);
		MLX5_SET(ptys_reg, data, eth_proto_oper, speed->ethernet);
		return;
	}
	MLX5_SET(ptys_reg, data, ib_link_width_capability, FOUR_LANES);
	MLX5_SET(ptys_reg, data, ib_link_width_oper, FOUR_LANES);
	MLX5_SET(ptys_reg, data, ib_proto_capability, 0x3f);
	MLX5_SET(ptys_reg, data, ib_proto_oper, speed->infiniband);
}

void fm5_access_register(struct fm5_command *c)
{
	const u16 number = fm5_in(c, access_register_in, register_id);
	void *data = c->out + 16;

	fm5_note(c, "register=%#x", number);
	if (fm5_eth == FM5_MLX5E && c->op_mod == 0 && fm5_take_refusal(number, &c->status, &c->syndrome)) {
		fm5_note_more(c, " refused");
		return;
	}
	if (fm5_eth == FM5_MLX5E && fm5_port_register(c, number, c->op_mod == 0))
		return;
	switch (number) {
	case REGISTER_PMTU:
		MLX5_SET(pmtu_reg, data, max_mtu, 4096);
		MLX5_SET(pmtu_reg, data, admin_mtu, 4096);
		MLX5_SET(pmtu_reg, data, oper_mtu, 4096);
		break;
	case REGISTER_PTYS:
		speed_register(c, data);
		break;
	case REGISTER_PVLC:
		MLX5_SET(pvlc_reg, data, vl_hw_cap, 4);
		MLX5_SET(pvlc_reg, data, vl_admin, 4);
		MLX5_SET(pvlc_reg, data, vl_operational, 4);
		break;
	}
}

bool fm5_link_is_up(void)
{
	return link_up && (fm5_eth != FM5_MLX5E || fm5_port_is_up());
}

/*
 * INITIALIZED when it comes up: after ACTIVE the kernel asks the subnet manager something, and without a data path it
 * waits for the answer until the end of time, also when the device is removed. mlx5e waits for ACTIVE, and asks nobody.
 */
void fm5_link_event(void)
{
	u8 subtype = MLX5_PORT_CHANGE_SUBTYPE_DOWN;

	if (fm5_link_is_up())
		subtype = fm5_eth == FM5_MLX5E ? MLX5_PORT_CHANGE_SUBTYPE_ACTIVE : MLX5_PORT_CHANGE_SUBTYPE_INITIALIZED;
	fm5_port_event(subtype, 1);
}

void fm5_set_link(bool up)
{
	link_up = up;
	fm5_netdev_link(up);
	fm5_link_event();
}

static const struct speed *speed_of(unsigned int gbps)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].gbps == gbps)
			return &speeds[i];
	return NULL;
}

bool fm5_has_speed(unsigned int gbps)
{
	return speed_of(gbps);
}

/* As a retrained link: it goes down and comes back. */
void fm5_set_speed(unsigned int gbps)
{
	speed = speed_of(gbps);
	if (link_up) {
		fm5_set_link(false);
		fm5_set_link(true);
	}
}
