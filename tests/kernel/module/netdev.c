// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The network device of an Ethernet port: RoCE has its GIDs and its state from the one below the function. It stands for
 * the driver's own (mlx5e), for which this device has no data path. Packets vanish.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "fake_mlx5.h"

static struct net_device *device;

static int start(struct net_device *dev)
{
	netif_start_queue(dev);
	return 0;
}

static int stop(struct net_device *dev)
{
	netif_stop_queue(dev);
	return 0;
}

static netdev_tx_t transmit(struct sk_buff *packet, struct net_device *dev)
{
	dev_kfree_skb(packet);
	return NETDEV_TX_OK;
}

static const struct net_device_ops operations = {
	.ndo_open = start,
	.ndo_stop = stop,
	.ndo_start_xmit = transmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

int fm5_netdev_add(struct device *parent, bool link_up)
{
	u8 address[ETH_ALEN];
	int err;

	device = alloc_etherdev(0);
	if (!device)
		return -ENOMEM;
	SET_NETDEV_DEV(device, parent);
	device->netdev_ops = &operations;
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
