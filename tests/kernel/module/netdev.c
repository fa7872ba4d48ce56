// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The network device of an Ethernet port: RoCE has its GIDs and its state from the one below the function. It stands for
 * the driver's own (mlx5e), for which this device has no data path. Packets vanish. What mlx5e lets the NIC shape (mqprio, and
 * the traffic classes of DCB) is noted and told.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/kprobes.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/version.h>
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

/*
 * Before Linux 6.3 mlx5_ib looks for the function's network device among all there are. Since then it asks mlx5_core, which knows
 * the one that mlx5e has made. Here it is made to know this one, whenever it is asked: it forgets it as the driver is bound again.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
/* mlx5_core_uplink_netdev_event_replay(device) */
static int introduce(struct kprobe *probe, struct pt_regs *registers)
{
	struct mlx5_core_dev *asked = (void *)registers->di;

	if (asked->device == device->dev.parent)
		asked->mlx5e_res.uplink_netdev = device;
	return 0;
}

static struct kprobe question = { .symbol_name = "mlx5_core_uplink_netdev_event_replay", .pre_handler = introduce };

static int start_introducing(void)
{
	question.addr = NULL;	/* of the last time */
	question.flags = 0;
	return register_kprobe(&question);
}

static void stop_introducing(void)
{
	unregister_kprobe(&question);
}
#else
static int start_introducing(void)
{
	return 0;
}

static void stop_introducing(void)
{
}
#endif

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
	err = start_introducing();
	if (err) {
		free_netdev(device);
		device = NULL;
		return err;
	}
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
	stop_introducing();
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
