/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces that are hardware (virtual machines' ones included): what sysfs says of them, and
 * which CPUs their interrupts go to. What takes a system call to learn is in live.c.
 */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

#include "doctor/gather.h"

struct look {
	const struct tree *t;
	struct doctor_facts *f;
	struct doctor_nic *nic;
};

static void queue(const char *name, void *arg)
{
	struct look *l = arg;

	if (strncmp(name, "rx-", 3) == 0)
		l->nic->rx_queues++;
	else if (strncmp(name, "tx-", 3) == 0)
		l->nic->tx_queues++;
}

static void queues(const struct tree *t, struct doctor_nic *n)
{
	struct look l = { .t = t, .nic = n };
	char path[DOCTOR_TEXT_SIZE];

	snprintf(path, sizeof(path), "sys/class/net/%s/queues", n->name);
	if (!tree_exists(t, "%s", path))
		return;
	n->rx_queues = n->tx_queues = 0;
	tree_list(t, path, queue, &l);
}

static void rdma(const char *name, void *arg)
{
	struct look *l = arg;

	if (!l->nic->rdma[0])
		snprintf(l->nic->rdma, sizeof(l->nic->rdma), "%s", name);
}

struct irqs {
	const struct tree *t;
	struct doctor_nic *nic;
	hwloc_bitmap_t local, used, one;
};

/* Where the kernel sends it now; older ones only say where it may go. */
static void irq(const char *name, void *arg)
{
	struct irqs *q = arg;
	char text[1024];

	if (tree_text(q->t, text, sizeof(text), "proc/irq/%s/effective_affinity_list", name) <= 0 &&
	    tree_text(q->t, text, sizeof(text), "proc/irq/%s/smp_affinity_list", name) <= 0)
		return;
	if (hwloc_bitmap_list_sscanf(q->one, text) < 0)
		return;
	q->nic->irqs++;
	if (!hwloc_bitmap_iszero(q->local) && !hwloc_bitmap_intersects(q->one, q->local))
		q->nic->irqs_far++;
	hwloc_bitmap_or(q->used, q->used, q->one);
}

static void irqs(const struct tree *t, struct doctor_nic *n)
{
	struct irqs q = { .t = t, .nic = n };
	char path[DOCTOR_TEXT_SIZE];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/msi_irqs", n->pci.bdf);
	if (!n->pci.bdf[0] || !tree_exists(t, "%s", path))
		return;
	q.local = hwloc_bitmap_alloc();
	q.used = hwloc_bitmap_alloc();
	q.one = hwloc_bitmap_alloc();
	if (q.local && q.used && q.one) {
		hwloc_bitmap_list_sscanf(q.local, n->pci.local_cpus);
		n->irqs = n->irqs_far = 0;
		tree_list(t, path, irq, &q);
		n->irq_cpus = hwloc_bitmap_weight(q.used);
		/* An interrupt line of each was there, and where none of them goes could be read. */
		if (n->irqs == 0)
			n->irqs = n->irqs_far = n->irq_cpus = DOCTOR_UNSEEN;
	}
	hwloc_bitmap_free(q.local);
	hwloc_bitmap_free(q.used);
	hwloc_bitmap_free(q.one);
}

static void interface(const char *name, void *arg)
{
	const struct look *outer = arg;
	const struct tree *t = outer->t;
	struct look l = *outer;
	char path[DOCTOR_TEXT_SIZE];
	struct doctor_nic *n;

	/* Bridges, tunnels, bonds and the loopback have no device. */
	if (strlen(name) >= DOCTOR_NAME_SIZE || !tree_exists(t, "sys/class/net/%s/device", name))
		return;
	n = l.nic = doctor_nic_add(outer->f);
	if (!n)
		return;
	snprintf(n->name, sizeof(n->name), "%s", name);
	tree_bdf(t, n->pci.bdf, "sys/class/net/%s/device", name);
	gather_pci(t, &n->pci);
	tree_text(t, n->state, sizeof(n->state), "sys/class/net/%s/operstate", name);
	/* EINVAL where there is no link, and -1 where the device does not know. */
	n->mbits = tree_number(t, "sys/class/net/%s/speed", name);
	n->mtu = tree_number(t, "sys/class/net/%s/mtu", name);
	queues(t, n);
	snprintf(path, sizeof(path), "sys/class/net/%s/device/infiniband", name);
	tree_list(t, path, rdma, &l);
	n->rdma_seen = true;
	irqs(t, n);
}

void gather_nics(const struct tree *t, struct doctor_facts *f)
{
	struct look l = { .t = t, .f = f };

	tree_list(t, "sys/class/net", interface, &l);
}
