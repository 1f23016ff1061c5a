/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling in the facts. From the tree: what sysfs and procfs say, which an ordinary user may read for
 * the most part. From hwloc: where devices sit. Live: what only the running kernel can be asked.
 * Nothing here changes anything, and nothing here judges.
 */
#ifndef DOCTOR_GATHER_H
#define DOCTOR_GATHER_H

#include "doctor/tree.h"

/* All of the machine. @root: "" for this one. -ENOENT or -ENOTDIR when @root is no directory; -ENOMEM. */
int gather_machine(const char *root, struct doctor_facts *f, struct err *err);

/* gather-system.c */
void gather_system(const struct tree *t, struct doctor_system *s);
/* gather-gpu.c: GPUs, and NVIDIA's modules and libraries */
void gather_gpus(const struct tree *t, struct doctor_facts *f);
/* gather-nic.c */
void gather_nics(const struct tree *t, struct doctor_facts *f);
/* gather-disk.c */
void gather_disks(const struct tree *t, struct doctor_facts *f);
/* gather-pci.c: everything that sysfs has of p->bdf; bridges come from topology.c */
void gather_pci(const struct tree *t, struct doctor_pci *p);
void gather_bridges(const struct tree *t, struct doctor_facts *f);
/* topology.c: the bridges above each device and its node, through hwloc */
void gather_topology(const struct tree *t, struct doctor_facts *f);
/* live.c: what only the running kernel tells */
void gather_live(struct doctor_facts *f);

#endif
