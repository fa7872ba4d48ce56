// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A PCI domain of its own with one bus and one function on it. */
#include <linux/msi.h>
#include <linux/pci.h>

#include "fake_mlx5.h"

#define DOMAIN		(0x1f00 + FM5_NUMBER)
#define SPACE_SIZE	4096

/* Where the capabilities are. */
#define POWER		0x40
#define EXPRESS		0x60
#define MSIX		0x9c

static u8 space[SPACE_SIZE], writable[SPACE_SIZE];

static void put8(int at, u8 value)
{
	space[at] = value;
}

static void put16(int at, u16 value)
{
	put8(at, value);
	put8(at + 1, value >> 8);
}

static void put32(int at, u32 value)
{
	put16(at, value);
	put16(at + 2, value >> 16);
}

static void allow(int at, int size, u32 mask)
{
	int i;

	for (i = 0; i < size; i++)
		writable[at + i] = mask >> (8 * i);
}

void fm5_pci_reset(void)
{
	int i;

	memset(space, 0, sizeof(space));
	memset(writable, 0, sizeof(writable));
	put16(PCI_VENDOR_ID, 0x15b3);
	put16(PCI_DEVICE_ID, fm5_vf ? 0x101e : 0x101d);
	put16(PCI_STATUS, PCI_STATUS_CAP_LIST);
	allow(PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
			      PCI_COMMAND_INTX_DISABLE);
	put16(PCI_CLASS_DEVICE, fm5_eth ? PCI_CLASS_NETWORK_ETHERNET : 0x0207);
	put8(PCI_CACHE_LINE_SIZE, 16);
	put32(PCI_BASE_ADDRESS_0, (u32)fm5_base | PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	put32(PCI_BASE_ADDRESS_1, (u64)fm5_base >> 32);
	allow(PCI_BASE_ADDRESS_0, 4, ~(u32)(FM5_BAR_SIZE - 1));
	allow(PCI_BASE_ADDRESS_1, 4, ~0);
	put16(PCI_SUBSYSTEM_VENDOR_ID, 0x15b3);
	put16(PCI_SUBSYSTEM_ID, 0x0083);
	put8(PCI_CAPABILITY_LIST, POWER);

	put8(POWER, PCI_CAP_ID_PM);
	put8(POWER + PCI_CAP_LIST_NEXT, EXPRESS);
	put16(POWER + PCI_PM_PMC, 3);
	put16(POWER + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);

	/* An endpoint integrated in the root complex: there is no port above it. */
	put8(EXPRESS, PCI_CAP_ID_EXP);
	put8(EXPRESS + PCI_CAP_LIST_NEXT, MSIX);
	put16(EXPRESS + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_RC_END << 4);
	put32(EXPRESS + PCI_EXP_DEVCAP, 2 | PCI_EXP_DEVCAP_RBER);
	allow(EXPRESS + PCI_EXP_DEVCTL, 2, 0x7fff);

	put8(MSIX, PCI_CAP_ID_MSIX);
	put16(MSIX + PCI_MSIX_FLAGS, FM5_VECTORS - 1);
	allow(MSIX + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(MSIX + PCI_MSIX_TABLE, FM5_MSIX_TABLE);
	put32(MSIX + PCI_MSIX_PBA, FM5_MSIX_PENDING);
	for (i = 0; i < FM5_VECTORS; i++)
		writel(PCI_MSIX_ENTRY_CTRL_MASKBIT,
		       fm5_bar + FM5_MSIX_TABLE + i * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL);
}

u16 fm5_msix_flags(void)
{
	return space[MSIX + PCI_MSIX_FLAGS] | space[MSIX + PCI_MSIX_FLAGS + 1] << 8;
}

static int read_space(struct pci_bus *bus, unsigned int function, int at, int size, u32 *value)
{
	int i;

	if (function != 0 || at + size > SPACE_SIZE) {
		*value = ~0u;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*value = 0;
	for (i = 0; i < size; i++)
		*value |= (u32)space[at + i] << (8 * i);
	return PCIBIOS_SUCCESSFUL;
}

static int write_space(struct pci_bus *bus, unsigned int function, int at, int size, u32 value)
{
	int i;

	if (function != 0 || at + size > SPACE_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	for (i = 0; i < size; i++) {
		const u8 mask = writable[at + i];

		space[at + i] = (space[at + i] & ~mask) | ((value >> (8 * i)) & mask);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops operations = { .read = read_space, .write = write_space };
static struct pci_sysdata sysdata = { .domain = DOMAIN, .node = NUMA_NO_NODE };
static struct resource window = {
	.name = KBUILD_MODNAME,
	.flags = IORESOURCE_MEM | IORESOURCE_MEM_64 | IORESOURCE_PREFETCH,
};
static struct resource bus_numbers = { .name = KBUILD_MODNAME " bus", .flags = IORESOURCE_BUS };
static struct pci_bus *bus;

static void add_netdev(void)
{
	struct pci_dev *function = pci_get_slot(bus, 0);

	if (!function || fm5_netdev_add(&function->dev, fm5_link_is_up()))
		fm5_log("there is no network device");
	pci_dev_put(function);
}

int fm5_pci_add(void)
{
	struct irq_domain *interrupts = fm5_interrupts_start();
	LIST_HEAD(resources);

	if (!interrupts)
		return -ENOMEM;
	window.start = fm5_base;
	window.end = fm5_base + FM5_BAR_SIZE - 1;
	pci_add_resource(&resources, &bus_numbers);
	pci_add_resource(&resources, &window);
	pci_lock_rescan_remove();
	bus = pci_create_root_bus(NULL, 0, &operations, &sysdata, &resources);
	if (!bus) {
		pci_unlock_rescan_remove();
		pci_free_resource_list(&resources);
		fm5_interrupts_stop();
		return -ENODEV;
	}
	dev_set_msi_domain(&bus->dev, interrupts);
	pci_scan_child_bus(bus);
	/* Claimed where it is: x86 assigns nothing within an e820 reservation, and the BAR lies in one. */
	pci_bus_claim_resources(bus);
	/* Before the driver finds the function: mlx5e, too, has its network device before mlx5_ib looks for one. */
	if (fm5_eth == FM5_ETHERNET)
		add_netdev();
	pci_bus_add_devices(bus);
	pci_unlock_rescan_remove();
	return 0;
}

/* The driver goes first, as pci_stop_root_bus() would do; it must not have the network device any more when that goes. */
static void release_driver(void)
{
	struct pci_dev *function = pci_get_slot(bus, 0);

	if (function)
		device_release_driver(&function->dev);
	pci_dev_put(function);
}

void fm5_pci_remove(void)
{
	pci_lock_rescan_remove();
	release_driver();
	fm5_netdev_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	bus = NULL;
	pci_unlock_rescan_remove();
	fm5_interrupts_stop();
}
