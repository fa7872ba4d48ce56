// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * fake_mlx5: an mlx5 device made of memory, for the kernel's own mlx5_core and mlx5_ib. See fake_mlx5.h for the parts
 * and control.c for what can be asked of it.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "fake_mlx5.h"

ulong fm5_base = 0x10000000 + FM5_NUMBER * FM5_BAR_SIZE;
module_param_named(base, fm5_base, ulong, 0444);
MODULE_PARM_DESC(base, "physical address of 64 MiB that memmap= keeps from the kernel");

bool fm5_vf;
module_param_named(vf, fm5_vf, bool, 0444);
MODULE_PARM_DESC(vf, "a virtual function (15b3:101e) instead of a physical one (15b3:101d)");

uint fm5_eth;
module_param_named(eth, fm5_eth, uint, 0444);
MODULE_PARM_DESC(eth, "0: InfiniBand; 1: Ethernet with RoCE; 2: the same, with the driver's own network device (mlx5e)");

uint fm5_classes = 8;
module_param_named(classes, fm5_classes, uint, 0444);
MODULE_PARM_DESC(classes, "with eth=2, traffic classes of the port");

static bool plugged = true;
module_param(plugged, bool, 0444);
MODULE_PARM_DESC(plugged, "whether the function is there from the start, or from \"plug\" on");

void __iomem *fm5_bar;

static struct workqueue_struct *plugs;
static bool present;

static void plug(void)
{
	int err;

	if (present)
		return;
	fm5_firmware_power_on();
	err = fm5_pci_add();
	present = !err;
	if (err)
		fm5_log("plug fails: %d", err);
	else
		fm5_log("plugged");
}

/* As hot-unplug: the driver's remove() still talks to the device. */
static void unplug(void)
{
	if (!present)
		return;
	fm5_pci_remove();
	present = false;
	fm5_log("unplugged");
}

static void do_plug(struct work_struct *work)
{
	plug();
}

static void do_unplug(struct work_struct *work)
{
	unplug();
}

static DECLARE_WORK(plug_work, do_plug);
static DECLARE_WORK(unplug_work, do_unplug);

/* Not in the caller: it may be the process that answers the commands of the driver's probe() and remove(). */
int fm5_plug_later(enum fm5_plug what)
{
	queue_work(plugs, what == FM5_PLUG ? &plug_work : &unplug_work);
	return 0;
}

static int __init fm5_init(void)
{
	int err = -ENOMEM;

	if (page_is_ram(fm5_base >> PAGE_SHIFT)) {
		pr_err("%#lx is memory of the kernel: boot with memmap=64M$%#lx\n", fm5_base, fm5_base);
		return -EBUSY;
	}
	fm5_bar = ioremap(fm5_base, FM5_BAR_SIZE);
	if (!fm5_bar)
		return -ENOMEM;
	plugs = alloc_ordered_workqueue(KBUILD_MODNAME, 0);
	if (!plugs)
		goto unmap;
	err = fm5_log_start();
	if (err)
		goto no_log;
	fm5_firmware_power_on();
	err = fm5_delegate_start();
	if (err)
		goto no_delegate;
	err = fm5_firmware_start();
	if (err)
		goto no_firmware;
	err = fm5_control_start();
	if (err)
		goto no_control;
	if (plugged) {
		plug();
		if (!present) {
			err = -ENODEV;
			goto not_plugged;
		}
	}
	return 0;

not_plugged:
	fm5_control_stop();
no_control:
	fm5_firmware_stop();
no_firmware:
	fm5_delegate_stop();
no_delegate:
	fm5_log_stop();
no_log:
	destroy_workqueue(plugs);
unmap:
	iounmap(fm5_bar);
	return err;
}

static void __exit fm5_exit(void)
{
	fm5_control_stop();
	destroy_workqueue(plugs);
	unplug();
	fm5_firmware_stop();
	fm5_delegate_stop();
	fm5_log_stop();
	iounmap(fm5_bar);
}

module_init(fm5_init);
module_exit(fm5_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("An mlx5 device made of memory, for tests of programs that control RDMA");
