/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/judge.h"

#include <stdio.h>
#include <string.h>

void doctor_judge(const struct doctor_facts *f, struct doctor_report *r)
{
	judge_gpus(f, r);
	judge_paths(f, r);
	judge_nics(f, r);
	judge_disks(f, r);
	judge_system(f, r);
	judge_target(f, r);
	if (f->more)
		report_add(r, DOCTOR_LIMITS, NULL, DOCTOR_UNKNOWN,
			   "this machine has more devices than the %d GPUs, %d NICs, %d disks and %d bridges "
			   "looked at",
			   DOCTOR_GPUS_MAX, DOCTOR_NICS_MAX, DOCTOR_DISKS_MAX, DOCTOR_BRIDGES_MAX);
	report_sort(r);
}

/* ---- distance ------------------------------------------------------------------------------ */

const char *distance_text(enum distance d)
{
	static const char *const texts[] = {
		[DISTANCE_SWITCH] = "below the same PCIe switch",
		[DISTANCE_SWITCHES] = "several PCIe switches away",
		[DISTANCE_BRIDGE] = "through the same host bridge",
		[DISTANCE_NODE] = "on the same node, through the CPU",
		[DISTANCE_SYSTEM] = "on another node",
		[DISTANCE_UNKNOWN] = "at a distance that is not visible",
	};

	return texts[d];
}

/*
 * A switch is an upstream port with downstream ports below it, so devices below one switch have their
 * second bridge in common; functions of one card have their first.
 */
enum distance distance_between(const struct doctor_facts *f, const struct doctor_pci *a,
			       const struct doctor_pci *b, int *ret_a, int *ret_b)
{
	for (int i = 0; a->placed && b->placed && i < a->depth; i++) {
		for (int k = 0; k < b->depth; k++) {
			if (strcmp(a->chain[i], b->chain[k]) != 0)
				continue;
			*ret_a = i;
			*ret_b = k;
			return i <= 1 && k <= 1 ? DISTANCE_SWITCH : DISTANCE_SWITCHES;
		}
	}
	if (a->placed && b->placed && a->host_bridge[0] && strcmp(a->host_bridge, b->host_bridge) == 0)
		return DISTANCE_BRIDGE;
	if (!a->placed || !b->placed)
		return DISTANCE_UNKNOWN;
	if (f->system.nodes == 1 || (a->node >= 0 && a->node == b->node))
		return DISTANCE_NODE;
	return a->node >= 0 && b->node >= 0 ? DISTANCE_SYSTEM : DISTANCE_UNKNOWN;
}

/* ---- links --------------------------------------------------------------------------------- */

static doctor_number least(doctor_number a, doctor_number b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* "32.0 GT/s x16" */
static const char *link_text(char *text, size_t n, doctor_number speed, doctor_number width)
{
	snprintf(text, n, "%d.%d GT/s x%d", (int)(speed / 10), (int)(speed % 10), (int)width);
	return text;
}

doctor_number link_mbits(doctor_number speed, doctor_number width)
{
	if (speed < 0 || width < 0)
		return DOCTOR_UNSEEN;
	/* 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits with 242 of 256 bytes for packets. */
	if (speed <= 50)
		return speed * 100 * width * 8 / 10;
	if (speed <= 320)
		return speed * 100 * width * 128 / 130;
	return speed * 100 * width * 242 / 256;
}

void judge_link(struct doctor_report *r, const struct doctor_facts *f, enum doctor_id id, const char *subject,
		const struct doctor_link *l, bool idles)
{
	doctor_number speed = least(l->speed_max, l->port_speed), width = least(l->width_max, l->port_width);
	char now[32], could[32], card[32];

	if (l->speed < 0 || l->width < 0 || l->speed_max < 0 || l->width_max < 0) {
		report_add(r, id, subject, DOCTOR_UNKNOWN, "speed and width of its link%s",
			   unseen_text(f, l->speed));
		return;
	}
	link_text(now, sizeof(now), l->speed, l->width);
	link_text(could, sizeof(could), speed, width);
	link_text(card, sizeof(card), l->speed_max, l->width_max);
	if (l->width < width || (l->speed < speed && !idles)) {
		report_add(r, id, subject, DOCTOR_FAIL, "%s, though device and slot could do %s", now, could);
	} else if (l->speed < speed) {
		report_add(r, id, subject, DOCTOR_WARN,
			   "%s, though device and slot could do %s: idle, or degraded", now, could);
		report_mend(r, "look again while it works (GPUs slow their link down when idle); if it stays so, "
			       "reseat the card, or its riser");
	} else if (speed < l->speed_max || width < l->width_max) {
		report_add(r, id, subject, DOCTOR_WARN, "%s is all that its slot can do; the device could do %s",
			   now, card);
		report_mend(
			r, "move it to a slot that can do more, or look for a BIOS setting that limits this one");
	} else {
		report_add(r, id, subject, DOCTOR_PASS, "%s, all it can do", now);
	}
}

void judge_node(struct doctor_report *r, const struct doctor_facts *f, enum doctor_id id, const char *subject,
		int node)
{
	if (node >= 0)
		report_add(r, id, subject, DOCTOR_PASS, "on node %d", node);
	else if (f->system.nodes == 1)
		report_add(r, id, subject, DOCTOR_PASS, "the machine has one node");
	else
		report_add(r, id, subject, DOCTOR_UNKNOWN, "its node is not visible: sysfs does not say");
}

/* ---- odds and ends ------------------------------------------------------------------------- */

const char *unseen_text(const struct doctor_facts *f, doctor_number n)
{
	if (n == DOCTOR_DENIED)
		return ": not visible to this user";
	if (!f->system.sysfs)
		return ": not visible, there is no /sys here";
	if (f->system.captured)
		return ": not visible in a copied tree";
	if (f->system.hypervisor)
		return ": not visible from inside a virtual machine";
	return ": not visible";
}

bool kernel_since(const struct doctor_facts *f, unsigned int major, unsigned int minor)
{
	unsigned int a, b;

	if (sscanf(f->system.kernel, "%5u.%5u", &a, &b) != 2)
		return false;
	return a > major || (a == major && b >= minor);
}

/* The open kernel modules export dma-buf; it came to Linux's verbs with 5.12. */
doctor_number peer_memory(const struct doctor_facts *f)
{
	const struct doctor_nvidia *n = &f->nvidia;

	if (n->peermem == 1 || (n->open && kernel_since(f, 5, 12)))
		return 1;
	return n->peermem < 0 && !n->proc ? DOCTOR_UNSEEN : 0;
}

bool nic_up(const struct doctor_nic *n)
{
	/* Some drivers never tell; the kernel then says "unknown", and packets flow. */
	return strcmp(n->state, "up") == 0 || strcmp(n->state, "unknown") == 0;
}

doctor_number fastest_mbits(const struct doctor_facts *f)
{
	doctor_number best = DOCTOR_UNSEEN;

	for (size_t i = 0; i < f->nic_count; i++) {
		if (nic_up(&f->nics[i]) && f->nics[i].mbits > best)
			best = f->nics[i].mbits;
	}
	return best;
}
