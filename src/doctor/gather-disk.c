/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices that are hardware: NVMe by its controller, others by their queue. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "doctor/gather.h"

struct look {
	const struct tree *t;
	struct doctor_facts *f;
	char found[DOCTOR_NAME_SIZE];
};

/* "none [mq-deadline] kyber": the one in brackets, or the only one. */
static void selected(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (end) {
		*end = 0;
		memmove(text, begin + 1, strlen(begin + 1) + 1);
	}
}

/* "nvme3": a controller, and not a namespace of it. */
static bool is_controller(const char *name)
{
	if (strncmp(name, "nvme", 4) != 0 || !isdigit((unsigned char)name[4]))
		return false;
	return name[4 + strspn(name + 4, "0123456789")] == 0;
}

static void controller(const char *name, void *arg)
{
	struct look *l = arg;

	if (!l->found[0] && is_controller(name))
		snprintf(l->found, sizeof(l->found), "%s", name);
}

/*
 * With native multipath a namespace lies below its subsystem, beside links to its controllers; without,
 * below its controller.
 */
static void nvme(const struct tree *t, struct doctor_disk *d)
{
	struct look l = { .t = t };
	char above[DOCTOR_TEXT_SIZE];

	d->nvme = true;
	snprintf(above, sizeof(above), "sys/block/%s/device", d->name);
	tree_link(t, l.found, sizeof(l.found), "%s", above);
	if (!is_controller(l.found)) {
		l.found[0] = 0;
		tree_list(t, above, controller, &l);
	}
	if (!l.found[0])
		return;
	tree_text(t, d->transport, sizeof(d->transport), "sys/class/nvme/%s/transport", l.found);
	tree_text(t, d->model, sizeof(d->model), "sys/class/nvme/%s/model", l.found);
	if (strcmp(d->transport, "pcie") == 0)
		tree_bdf(t, d->pci.bdf, "sys/class/nvme/%s", l.found);
}

static void disk(const char *name, void *arg)
{
	const struct look *l = arg;
	const struct tree *t = l->t;
	struct doctor_disk *d;

	/* Loop devices, RAM disks and mappings have no device below them. */
	if (strlen(name) >= DOCTOR_NAME_SIZE || !tree_exists(t, "sys/block/%s/device", name))
		return;
	d = doctor_disk_add(l->f);
	if (!d)
		return;
	snprintf(d->name, sizeof(d->name), "%s", name);
	if (strncmp(name, "nvme", 4) == 0) {
		nvme(t, d);
	} else {
		tree_bdf(t, d->pci.bdf, "sys/block/%s", name);
		tree_text(t, d->model, sizeof(d->model), "sys/block/%s/device/model", name);
	}
	gather_pci(t, &d->pci);
	tree_text(t, d->scheduler, sizeof(d->scheduler), "sys/block/%s/queue/scheduler", name);
	selected(d->scheduler);
	tree_text(t, d->cache, sizeof(d->cache), "sys/block/%s/queue/write_cache", name);
	d->rotational = tree_number(t, "sys/block/%s/queue/rotational", name);
	d->block_bytes = tree_number(t, "sys/block/%s/queue/logical_block_size", name);
	d->max_kib = tree_number(t, "sys/block/%s/queue/max_sectors_kb", name);
	d->max_hw_kib = tree_number(t, "sys/block/%s/queue/max_hw_sectors_kb", name);
}

void gather_disks(const struct tree *t, struct doctor_facts *f)
{
	struct look l = { .t = t, .f = f };

	tree_list(t, "sys/block", disk, &l);
}
