// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Interrupts: the data of a message in the MSI-X table is a number of our own domain, and we raise it there. */
#include <linux/bitmap.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <linux/pci.h>

#include "fake_mlx5.h"

#define NUMBERS 64

static DECLARE_BITMAP(used, NUMBERS);
static DEFINE_SPINLOCK(lock);
static struct fwnode_handle *base_node, *msi_node;
static struct irq_domain *base_domain, *msi_domain;

static void compose(struct irq_data *data, struct msi_msg *message)
{
	message->address_lo = 0xfee00000;	/* nobody looks at it */
	message->address_hi = 0;
	message->data = data->hwirq;
}

static void nothing(struct irq_data *data)
{
}

static int set_affinity(struct irq_data *data, const struct cpumask *mask, bool force)
{
	irq_data_update_effective_affinity(data, cpumask_of(cpumask_first_and(mask, cpu_online_mask)));
	return IRQ_SET_MASK_OK_DONE;
}

static struct irq_chip base_chip = {
	.name = KBUILD_MODNAME,
	.irq_compose_msi_msg = compose,
	.irq_ack = nothing,
	.irq_mask = nothing,
	.irq_unmask = nothing,
	.irq_set_affinity = set_affinity,
};

static void release(struct irq_domain *domain, unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct irq_data *data = irq_domain_get_irq_data(domain, first + i);

		if (data)
			clear_bit(data->hwirq, used);
	}
	irq_domain_free_irqs_common(domain, first, count);
}

static int allocate(struct irq_domain *domain, unsigned int first, unsigned int count, void *argument)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		unsigned long number;

		spin_lock(&lock);
		number = find_first_zero_bit(used, NUMBERS);
		if (number < NUMBERS)
			set_bit(number, used);
		spin_unlock(&lock);
		if (number >= NUMBERS) {
			release(domain, first, i);
			return -ENOSPC;
		}
		irq_domain_set_info(domain, first + i, number, &base_chip, NULL, handle_simple_irq, NULL, NULL);
	}
	return 0;
}

static const struct irq_domain_ops base_operations = { .alloc = allocate, .free = release };

static struct irq_chip msi_chip = {
	.name = KBUILD_MODNAME "-msix",
	.irq_mask = pci_msi_mask_irq,
	.irq_unmask = pci_msi_unmask_irq,
	.irq_ack = irq_chip_ack_parent,
};

static struct msi_domain_info msi_info = {
	.flags = MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS | MSI_FLAG_PCI_MSIX,
	.chip = &msi_chip,
};

/* The domain for the function's bus; NULL: there is no memory. */
struct irq_domain *fm5_interrupts_start(void)
{
	base_node = irq_domain_alloc_named_fwnode(KBUILD_MODNAME);
	msi_node = irq_domain_alloc_named_fwnode(KBUILD_MODNAME "-msix");
	if (!base_node || !msi_node)
		goto no_domain;
	base_domain = irq_domain_create_hierarchy(NULL, 0, NUMBERS, base_node, &base_operations, NULL);
	if (!base_domain)
		goto no_domain;
	msi_domain = pci_msi_create_irq_domain(msi_node, &msi_info, base_domain);
	if (msi_domain)
		return msi_domain;
	irq_domain_remove(base_domain);
no_domain:
	if (msi_node)
		irq_domain_free_fwnode(msi_node);
	if (base_node)
		irq_domain_free_fwnode(base_node);
	return NULL;
}

void fm5_interrupts_stop(void)
{
	irq_domain_remove(msi_domain);
	irq_domain_remove(base_domain);
	irq_domain_free_fwnode(msi_node);
	irq_domain_free_fwnode(base_node);
}

void fm5_interrupt(unsigned int vector)
{
	void __iomem *entry = fm5_bar + FM5_MSIX_TABLE + vector * PCI_MSIX_ENTRY_SIZE;
	const u16 flags = fm5_msix_flags();
	unsigned long saved;
	int i;

	if (vector >= FM5_VECTORS || !(flags & PCI_MSIX_FLAGS_ENABLE) || (flags & PCI_MSIX_FLAGS_MASKALL)) {
		fm5_log("interrupt %u is lost: MSI-X flags %#x", vector, flags);
		return;
	}
	/* A masked vector would be pending until the kernel unmasks it, which it does soon or not at all. */
	for (i = 0; i < 1000 && (readl(entry + PCI_MSIX_ENTRY_VECTOR_CTRL) & PCI_MSIX_ENTRY_CTRL_MASKBIT); i++)
		cpu_relax();
	local_irq_save(saved);
	generic_handle_domain_irq(base_domain, readl(entry + PCI_MSIX_ENTRY_DATA));
	local_irq_restore(saved);
}
