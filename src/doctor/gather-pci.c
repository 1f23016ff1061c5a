/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs says of a PCI device: link, driver, node, IOMMU; and of bridges: ACS. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "doctor/gather.h"
#include "doctor/pci-config.h"

#define DEVICES "sys/bus/pci/devices"

enum { WIDTH_MAX = 32 }; /* lanes; sysfs shows 63 or 255 where there is no link */

/* "16.0 GT/s PCIe", "2.5 GT/s", "Unknown". */
static doctor_number speed(const struct tree *t, const char *bdf, const char *file)
{
	unsigned int whole, tenth = 0;
	char text[DOCTOR_NAME_SIZE];
	int n;

	if (tree_text(t, text, sizeof(text), DEVICES "/%s/%s", bdf, file) <= 0)
		return DOCTOR_UNSEEN;
	n = sscanf(text, "%5u.%1u GT/s", &whole, &tenth);
	if (n < 1 || !strstr(text, "GT/s") || whole == 0)
		return DOCTOR_UNSEEN;
	return 10 * (doctor_number)whole + (n == 2 ? (doctor_number)tenth : 0);
}

static doctor_number width(const struct tree *t, const char *bdf, const char *file)
{
	doctor_number w = tree_number(t, DEVICES "/%s/%s", bdf, file);

	return w < 1 || w > WIDTH_MAX ? DOCTOR_UNSEEN : w;
}

static void link_of(const struct tree *t, const char *bdf, struct doctor_link *l)
{
	l->speed = speed(t, bdf, "current_link_speed");
	l->width = width(t, bdf, "current_link_width");
	l->speed_max = speed(t, bdf, "max_link_speed");
	l->width_max = width(t, bdf, "max_link_width");
	/* The entry is a symbolic link into the tree of devices, where the port is the directory above. */
	l->port_speed = speed(t, bdf, "../max_link_speed");
	l->port_width = width(t, bdf, "../max_link_width");
}

/* Sysfs writes "-1" where the firmware did not say. */
static int node_of(const struct tree *t, const char *bdf)
{
	doctor_number n = tree_number(t, DEVICES "/%s/numa_node", bdf);

	return n < 0 || n > INT16_MAX ? -1 : (int)n;
}

void gather_pci(const struct tree *t, struct doctor_pci *p)
{
	const char *bdf = p->bdf;

	if (!bdf[0])
		return;
	p->vendor = tree_number(t, DEVICES "/%s/vendor", bdf);
	tree_link(t, p->driver, sizeof(p->driver), DEVICES "/%s/driver", bdf);
	p->node = node_of(t, bdf);
	link_of(t, bdf, &p->link);
	tree_text(t, p->iommu, sizeof(p->iommu), DEVICES "/%s/iommu_group/type", bdf);
	tree_text(t, p->local_cpus, sizeof(p->local_cpus), DEVICES "/%s/local_cpulist", bdf);
}

void gather_bridges(const struct tree *t, struct doctor_facts *f)
{
	uint8_t *config = mem_alloc(PCICFG_SIZE);

	for (size_t i = 0; config && i < f->bridge_count; i++) {
		struct doctor_bridge *b = &f->bridges[i];
		int64_t n = tree_bytes(t, config, PCICFG_SIZE, DEVICES "/%s/config", b->bdf);

		b->acs = n < 0 ? tree_unseen((int)-n) : pcicfg_acs(config, (size_t)n);
	}
	mem_free(config);
}
