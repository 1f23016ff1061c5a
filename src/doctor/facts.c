/* SPDX-License-Identifier: Apache-2.0 */
/* Facts before anything is known: every number unseen, every text empty. */
#include "doctor/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static void system_init(struct doctor_system *s)
{
	s->nodes = s->cpus = DOCTOR_UNSEEN;
	s->uring_error = s->uring_disabled = s->seccomp = DOCTOR_UNSEEN;
	s->memlock_bytes = s->files = DOCTOR_UNSEEN;
	s->governors = s->governors_slow = s->idle_us = s->irqbalance = DOCTOR_UNSEEN;
	s->huge_total = s->huge_free = DOCTOR_UNSEEN;
	s->iommus = s->tcp_rmem = s->tcp_wmem = s->nvme_tcp = DOCTOR_UNSEEN;
}

static void nvidia_init(struct doctor_nvidia *n)
{
	n->peermem = n->fs = DOCTOR_UNSEEN;
	n->libcuda = n->libcufile = n->libnvml = n->cuda_version = DOCTOR_UNSEEN;
	n->compat_allowed = n->compat_forced = n->p2pdma = DOCTOR_UNSEEN;
}

static void target_init(struct doctor_target *t)
{
	t->rtt_us = t->rtt_var_us = t->path_mtu = t->mss = DOCTOR_UNSEEN;
	t->command_us = t->direct_error = DOCTOR_UNSEEN;
}

struct doctor_facts *doctor_facts_new(void)
{
	struct doctor_facts *f = mem_calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	system_init(&f->system);
	nvidia_init(&f->nvidia);
	target_init(&f->target);
	return f;
}

void doctor_facts_free(struct doctor_facts *f)
{
	mem_free(f);
}

void doctor_pci_init(struct doctor_pci *p)
{
	*p = (struct doctor_pci){ .vendor = DOCTOR_UNSEEN, .node = -1 };
	p->link = (struct doctor_link){ DOCTOR_UNSEEN, DOCTOR_UNSEEN, DOCTOR_UNSEEN,
					DOCTOR_UNSEEN, DOCTOR_UNSEEN, DOCTOR_UNSEEN };
}

struct doctor_gpu *doctor_gpu_add(struct doctor_facts *f)
{
	struct doctor_gpu *g;

	if (f->gpu_count == DOCTOR_GPUS_MAX) {
		f->more = true;
		return NULL;
	}
	g = &f->gpus[f->gpu_count++];
	*g = (struct doctor_gpu){ .bar1_bytes = DOCTOR_UNSEEN };
	doctor_pci_init(&g->pci);
	return g;
}

struct doctor_nic *doctor_nic_add(struct doctor_facts *f)
{
	struct doctor_nic *n;

	if (f->nic_count == DOCTOR_NICS_MAX) {
		f->more = true;
		return NULL;
	}
	n = &f->nics[f->nic_count++];
	*n = (struct doctor_nic){ .mbits = DOCTOR_UNSEEN, .mtu = DOCTOR_UNSEEN };
	n->rx_queues = n->tx_queues = DOCTOR_UNSEEN;
	n->irqs = n->irqs_far = n->irq_cpus = DOCTOR_UNSEEN;
	n->adaptive = n->rx_usecs = n->pause_rx = n->pause_tx = DOCTOR_UNSEEN;
	n->ring = n->ring_max = n->channels = n->channels_max = DOCTOR_UNSEEN;
	doctor_pci_init(&n->pci);
	return n;
}

struct doctor_disk *doctor_disk_add(struct doctor_facts *f)
{
	struct doctor_disk *d;

	if (f->disk_count == DOCTOR_DISKS_MAX) {
		f->more = true;
		return NULL;
	}
	d = &f->disks[f->disk_count++];
	*d = (struct doctor_disk){ .rotational = DOCTOR_UNSEEN, .block_bytes = DOCTOR_UNSEEN };
	d->max_kib = d->max_hw_kib = DOCTOR_UNSEEN;
	doctor_pci_init(&d->pci);
	return d;
}

const struct doctor_bridge *doctor_bridge_find(const struct doctor_facts *f, const char *bdf)
{
	for (size_t i = 0; i < f->bridge_count; i++) {
		if (strcmp(f->bridges[i].bdf, bdf) == 0)
			return &f->bridges[i];
	}
	return NULL;
}

struct doctor_bridge *doctor_bridge_get(struct doctor_facts *f, const char *bdf)
{
	struct doctor_bridge *b;

	for (size_t i = 0; i < f->bridge_count; i++) {
		if (strcmp(f->bridges[i].bdf, bdf) == 0)
			return &f->bridges[i];
	}
	if (f->bridge_count == DOCTOR_BRIDGES_MAX) {
		f->more = true;
		return NULL;
	}
	b = &f->bridges[f->bridge_count++];
	b->acs = DOCTOR_UNSEEN;
	snprintf(b->bdf, sizeof(b->bdf), "%s", bdf);
	return b;
}
