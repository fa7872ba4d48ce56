// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The network device of an Ethernet port: RoCE has its GIDs and its state from the one below the function. It stands for
 * the driver's own (mlx5e), for which this device has no data path. Packets vanish. What mlx5e lets the NIC shape (mqprio, and
 * the traffic classes of DCB) is noted and told.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/dcbnl.h>
#include <net/pkt_cls.h>

#include "fake_mlx5.h"

#define TX_QUEUES 4

static struct net_device *device;
static struct ieee_ets traffic_classes;
static struct ieee_maxrate max_rates;

static int start(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
	return 0;
}

static int stop(struct net_device *dev)
{
	netif_tx_stop_all_queues(dev);
	return 0;
}

static netdev_tx_t transmit(struct sk_buff *packet, struct net_device *dev)
{
	dev_kfree_skb(packet);
	return NETDEV_TX_OK;
}

static int offload(struct net_device *dev, enum tc_setup_type type, void *data)
{
	struct tc_mqprio_qopt_offload *mqprio = data;

	if (type != TC_SETUP_QDISC_MQPRIO)
		return -EOPNOTSUPP;
	mqprio->qopt.hw = TC_MQPRIO_HW_OFFLOAD_TCS;
	return netdev_set_num_tc(dev, mqprio->qopt.num_tc);
}

static int get_traffic_classes(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = traffic_classes;
	return 0;
}

static int set_traffic_classes(struct net_device *dev, struct ieee_ets *ets)
{
	traffic_classes = *ets;
	return 0;
}

static int get_max_rates(struct net_device *dev, struct ieee_maxrate *rates)
{
	*rates = max_rates;
	return 0;
}

static int set_max_rates(struct net_device *dev, struct ieee_maxrate *rates)
{
	max_rates = *rates;
	return 0;
}

static u8 dcb_mode(struct net_device *dev)
{
	return DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
}

static const struct dcbnl_rtnl_ops dcb_operations = {
	.ieee_getets = get_traffic_classes,
	.ieee_setets = set_traffic_classes,
	.ieee_getmaxrate = get_max_rates,
	.ieee_setmaxrate = set_max_rates,
	.getdcbx = dcb_mode,
};

/* As mlx5e has them when nobody has set any. */
static void reset_traffic_classes(void)
{
	int i;

	memset(&traffic_classes, 0, sizeof(traffic_classes));
	memset(&max_rates, 0, sizeof(max_rates));
	traffic_classes.ets_cap = IEEE_8021QAZ_MAX_TCS;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		traffic_classes.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
		traffic_classes.tc_tx_bw[i] = 100;
		traffic_classes.prio_tc[i] = i;
	}
}

static const struct net_device_ops operations = {
	.ndo_open = start,
	.ndo_stop = stop,
	.ndo_start_xmit = transmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_setup_tc = offload,
};

int fm5_netdev_add(struct device *parent, bool link_up)
{
	u8 address[ETH_ALEN];
	int err;

	device = alloc_etherdev_mqs(0, TX_QUEUES, 1);
	if (!device)
		return -ENOMEM;
	SET_NETDEV_DEV(device, parent);
	device->netdev_ops = &operations;
	device->dcbnl_ops = &dcb_operations;
	reset_traffic_classes();
	u64_to_ether_addr(FM5_MAC, address);
	eth_hw_addr_set(device, address);
	fm5_netdev_link(link_up);
	rtnl_lock();
	err = register_netdevice(device);
	if (!err)
		err = dev_open(device, NULL);
	rtnl_unlock();
	if (err)
		fm5_netdev_remove();
	return err;
}

void fm5_netdev_remove(void)
{
	if (!device)
		return;
	if (device->reg_state == NETREG_REGISTERED)
		unregister_netdev(device);
	free_netdev(device);
	device = NULL;
}

void fm5_netdev_link(bool up)
{
	if (!device)
		return;
	if (up)
		netif_carrier_on(device);
	else
		netif_carrier_off(device);
}
