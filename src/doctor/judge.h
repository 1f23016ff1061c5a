/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts in, findings out; pure. The rule above all rules: what was not seen is DOCTOR_UNKNOWN and says
 * why, and is never a pass. A finding says what is, in figures; why it matters and how to mend it is in
 * the catalogue, or in report_mend() where the machine decides it.
 */
#ifndef DOCTOR_JUDGE_H
#define DOCTOR_JUDGE_H

#include "doctor/facts.h"
#include "doctor/finding.h"

/* All of it, sorted. */
void doctor_judge(const struct doctor_facts *f, struct doctor_report *r);

void judge_gpus(const struct doctor_facts *f, struct doctor_report *r);
void judge_paths(const struct doctor_facts *f, struct doctor_report *r);
void judge_nics(const struct doctor_facts *f, struct doctor_report *r);
void judge_disks(const struct doctor_facts *f, struct doctor_report *r);
void judge_system(const struct doctor_facts *f, struct doctor_report *r);
void judge_target(const struct doctor_facts *f, struct doctor_report *r);

/* ---- what they share ----------------------------------------------------------------------- */

/* How far two PCI devices are apart, nearest first. In brackets what other tools call it. */
enum distance {
	DISTANCE_SWITCH,   /* below one switch (PIX) */
	DISTANCE_SWITCHES, /* several switches between them, and no CPU (PXB) */
	DISTANCE_BRIDGE,   /* through the same host bridge of one CPU (PHB) */
	DISTANCE_NODE,     /* through two host bridges of one node (NODE) */
	DISTANCE_SYSTEM,   /* between two nodes (SYS) */
	DISTANCE_UNKNOWN,
};

const char *distance_text(enum distance d);
/* @ret_a, @ret_b, for the first two distances: how many bridges of each chain are below the common one. */
enum distance distance_between(const struct doctor_facts *f, const struct doctor_pci *a,
			       const struct doctor_pci *b, int *ret_a, int *ret_b);

/* How fast and wide the link is, against what it could be. @idles: it slows down when it has nothing to do. */
void judge_link(struct doctor_report *r, const struct doctor_facts *f, enum doctor_id id, const char *subject,
		const struct doctor_link *l, bool idles);
/* Whether the device's node is known. */
void judge_node(struct doctor_report *r, const struct doctor_facts *f, enum doctor_id id, const char *subject,
		int node);
/* Mbit/s that a link of that speed and width carries, after its line code. */
doctor_number link_mbits(doctor_number speed, doctor_number width);

/* "(not visible in a virtual machine)" and the like: why something is unknown. */
const char *unseen_text(const struct doctor_facts *f, doctor_number n);
/* Is the kernel at least that new? False when its version is not known. */
bool kernel_since(const struct doctor_facts *f, unsigned int major, unsigned int minor);
/* Is there a driver, or a kernel, by which a peer device can address GPU memory? 1, 0 or UNSEEN. */
doctor_number peer_memory(const struct doctor_facts *f);
bool nic_up(const struct doctor_nic *n);
/* The fastest line rate of a NIC that is up; UNSEEN. */
doctor_number fastest_mbits(const struct doctor_facts *f);

#endif
