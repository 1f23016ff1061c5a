/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where devices sit, through hwloc: which bridges are above each, and which NUMA node. hwloc reads a
 * copied tree as it reads this machine (HWLOC_FSROOT). Its own probes of GPUs are left out: they load
 * vendors' libraries, and start a GPU that nobody uses. So is libpciaccess, which leaks and tells nothing
 * that sysfs does not.
 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/gather.h"

static void address_of(hwloc_obj_t o, char bdf[DOCTOR_BDF_SIZE])
{
	const struct hwloc_pcidev_attr_s *a = &o->attr->pcidev;

	if (o->type == HWLOC_OBJ_BRIDGE)
		a = &o->attr->bridge.upstream.pci;
	snprintf(bdf, DOCTOR_BDF_SIZE, "%04x:%02x:%02x.%01x", a->domain, a->bus, a->dev, a->func);
}

/* A device on hwloc's map: its chain of bridges, and the node it belongs to if there is exactly one. */
static void place(hwloc_topology_t topo, struct doctor_facts *f, struct doctor_pci *p)
{
	hwloc_obj_t o = p->bdf[0] ? hwloc_get_pcidev_by_busidstring(topo, p->bdf) : NULL, up;

	if (!o)
		return;
	for (up = o->parent; up && up->type == HWLOC_OBJ_BRIDGE; up = up->parent) {
		const struct hwloc_bridge_attr_s *b = &up->attr->bridge;

		if (b->upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
			snprintf(p->host_bridge, sizeof(p->host_bridge), "%04x:%02x", b->downstream.pci.domain,
				 b->downstream.pci.secondary_bus);
			p->placed = true;
		} else if (p->depth < DOCTOR_CHAIN_MAX) {
			address_of(up, p->chain[p->depth]);
			doctor_bridge_get(f, p->chain[p->depth++]);
		} else {
			f->more = true;
		}
	}
	up = hwloc_get_non_io_ancestor_obj(topo, o);
	if (p->node < 0 && up && up->nodeset && hwloc_bitmap_weight(up->nodeset) == 1)
		p->node = hwloc_bitmap_first(up->nodeset);
}

static void blacklist(hwloc_topology_t topo)
{
	static const char *const probes[] = { "cuda", "nvml", "opencl", "gl", "levelzero", "rsmi", "pci", "x86" };

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		hwloc_topology_set_components(topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, probes[i]);
}

void gather_topology(const struct tree *t, struct doctor_facts *f)
{
	hwloc_topology_t topo;

	/* What hwloc thinks of the machine's firmware tables is not for our users' terminals. */
	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	if (t->root[0])
		setenv("HWLOC_FSROOT", t->root, 1);
	if (hwloc_topology_init(&topo) < 0)
		return;
	blacklist(topo);
	hwloc_topology_set_io_types_filter(topo, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (hwloc_topology_load(topo) == 0) {
		if (f->system.sysfs) {
			f->system.nodes = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
			f->system.cpus = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU);
		}
		for (size_t i = 0; i < f->gpu_count; i++)
			place(topo, f, &f->gpus[i].pci);
		for (size_t i = 0; i < f->nic_count; i++)
			place(topo, f, &f->nics[i].pci);
		for (size_t i = 0; i < f->disk_count; i++)
			place(topo, f, &f->disks[i].pci);
	}
	hwloc_topology_destroy(topo);
	if (t->root[0])
		unsetenv("HWLOC_FSROOT");
}
