/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a target, as far as it was gone, and what the target says of itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "doctor/judge.h"

enum {
	RTT_US_MAX = 1000,        /* more than within one building */
	TRANSFER_MIN = 128 << 10, /* what a streaming reader asks for in one command */
	CAPSULE_MIN = 4096,       /* a small write, whole */
};

static const struct doctor_nic *nic_of(const struct doctor_facts *f)
{
	for (size_t i = 0; i < f->nic_count; i++) {
		if (f->target.interface[0] && strcmp(f->nics[i].name, f->target.interface) == 0)
			return &f->nics[i];
	}
	return NULL;
}

/* ---- the way ------------------------------------------------------------------------------- */

static void round_trip(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_target *t = &f->target;
	char command[64] = "";

	if (t->command_us >= 0)
		snprintf(command, sizeof(command), "; of a command, at best %lld us", (long long)t->command_us);
	if (t->rtt_us < 0)
		report_add(r, DOCTOR_TARGET_RTT, NULL, DOCTOR_UNKNOWN, "TCP does not tell%s", command);
	else
		report_add(r, DOCTOR_TARGET_RTT, NULL, t->rtt_us > RTT_US_MAX ? DOCTOR_WARN : DOCTOR_PASS,
			   "%lld us (+/- %lld) of TCP%s", (long long)t->rtt_us, (long long)t->rtt_var_us,
			   command);
}

static void locality(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	size_t near = 0, far = 0, unseen = 0;

	if (f->gpu_count == 0 || !n)
		return;
	for (size_t i = 0; i < f->gpu_count; i++) {
		int node = f->gpus[i].pci.node;

		if (f->system.nodes == 1 || (node >= 0 && node == n->pci.node))
			near++;
		else if (node >= 0 && n->pci.node >= 0)
			far++;
		else
			unseen++;
	}
	if (unseen == f->gpu_count)
		report_add(r, DOCTOR_TARGET_NUMA, n->name, DOCTOR_UNKNOWN,
			   "nodes of NIC and GPUs are not visible");
	else
		report_add(r, DOCTOR_TARGET_NUMA, n->name, near == 0 ? DOCTOR_WARN : DOCTOR_PASS,
			   "%zu of %zu GPUs are on its node%s", near, f->gpu_count,
			   far > 0 && near > 0 ? "; the others are better served through another NIC" : "");
}

static void leaves_by(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_target *t = &f->target;
	const struct doctor_nic *n = nic_of(f);

	if (t->loopback)
		report_add(r, DOCTOR_TARGET_INTERFACE, NULL, DOCTOR_PASS, "none: the target is on this machine");
	else if (!t->interface[0])
		report_add(r, DOCTOR_TARGET_INTERFACE, NULL, DOCTOR_UNKNOWN,
			   "which one packets leave by is not visible");
	else if (!n)
		report_add(r, DOCTOR_TARGET_INTERFACE, t->interface, DOCTOR_UNKNOWN,
			   "no hardware of its own (a bond, bridge or tunnel): what is below it is not visible");
	else if (n->pci.node >= 0)
		report_add(r, DOCTOR_TARGET_INTERFACE, n->name, DOCTOR_PASS, "on node %d", n->pci.node);
	else
		report_add(r, DOCTOR_TARGET_INTERFACE, n->name,
			   f->system.nodes == 1 ? DOCTOR_PASS : DOCTOR_UNKNOWN, "%s",
			   f->system.nodes == 1 ? "the machine has one node" : "its node is not visible");
	locality(f, n, r);
	if (t->path_mtu < 0)
		report_add(r, DOCTOR_TARGET_MTU, NULL, DOCTOR_UNKNOWN, "TCP does not tell");
	else if (n && n->mtu > 0 && t->path_mtu < n->mtu)
		report_add(r, DOCTOR_TARGET_MTU, NULL, DOCTOR_WARN, "%lld, less than the %lld of %s",
			   (long long)t->path_mtu, (long long)n->mtu, n->name);
	else
		report_add(r, DOCTOR_TARGET_MTU, NULL, DOCTOR_PASS, "%lld so far, segments of %lld",
			   (long long)t->path_mtu, (long long)t->mss);
}

/* ---- the controller ------------------------------------------------------------------------ */

static void sizes(const struct doctor_target *t, struct doctor_report *r)
{
	char text[FORMAT_MAX], other[FORMAT_MAX];

	if (t->mdts_bytes == 0)
		report_add(r, DOCTOR_TARGET_TRANSFER, NULL, DOCTOR_PASS, "MDTS sets no limit");
	else
		report_add(r, DOCTOR_TARGET_TRANSFER, NULL,
			   t->mdts_bytes < TRANSFER_MIN ? DOCTOR_WARN : DOCTOR_PASS, "%s in one command (MDTS)",
			   format_size(t->mdts_bytes, text, sizeof(text)));
	report_add(r, DOCTOR_TARGET_CAPSULE, NULL, t->in_capsule_bytes < CAPSULE_MIN ? DOCTOR_WARN : DOCTOR_PASS,
		   "%s of data in a capsule of %s (IOCCSZ)", format_size(t->in_capsule_bytes, text, sizeof(text)),
		   format_size(t->ioccsz_bytes, other, sizeof(other)));
}

static void controller(const struct doctor_target *t, struct doctor_report *r)
{
	uint32_t v = t->version;
	char text[FORMAT_MAX];

	report_add(r, DOCTOR_TARGET_IDENTITY, NULL, DOCTOR_PASS, "%s, firmware %s, NVMe %u.%u", t->model,
		   t->firmware, v >> 16, v >> 8 & 0xff);
	if (!t->namespace_there)
		report_add(r, DOCTOR_TARGET_NAMESPACE, NULL, DOCTOR_FAIL, "there is no namespace %u", t->nsid);
	else
		report_add(r, DOCTOR_TARGET_NAMESPACE, NULL, DOCTOR_PASS, "%u: %s in blocks of %u", t->nsid,
			   format_size(t->size_bytes, text, sizeof(text)), t->block_bytes);
	sizes(t, r);
	if (t->queues == 0)
		report_add(r, DOCTOR_TARGET_QUEUES, NULL, DOCTOR_FAIL, "none of %u asked for", t->queues_asked);
	else
		report_add(r, DOCTOR_TARGET_QUEUES, NULL, t->queues < t->queues_asked ? DOCTOR_WARN : DOCTOR_PASS,
			   "%u of %u asked for, %u commands deep (%u asked for)", t->queues, t->queues_asked,
			   t->depth, t->depth_asked);
	report_add(r, DOCTOR_TARGET_DIGESTS, NULL, DOCTOR_PASS, "headers %s, data %s", t->hdgst ? "on" : "off",
		   t->ddgst ? "on" : "off");
	if (t->kato_ms == 0)
		report_add(r, DOCTOR_TARGET_KEEPALIVE, NULL, DOCTOR_WARN, "none");
	else
		report_add(r, DOCTOR_TARGET_KEEPALIVE, NULL, DOCTOR_PASS, "every %u ms at the latest",
			   t->kato_ms);
	if (t->cqt_ms == 0)
		report_add(r, DOCTOR_TARGET_QUIESCE, NULL, DOCTOR_WARN,
			   "it does not say when it has let go (CQT 0)");
	else
		report_add(r, DOCTOR_TARGET_QUIESCE, NULL, DOCTOR_PASS, "within %u ms (CQT)", t->cqt_ms);
}

/* A target of another make is no worse for it, so that is none to warn of. */
static void extension(const struct doctor_target *t, struct doctor_report *r)
{
	if (!t->extension)
		report_add(r, DOCTOR_TARGET_EXTENSION, NULL, DOCTOR_ABSENT,
			   "it does not say where within it commands are, which Penstock's does");
	else if (!t->times)
		report_add(r, DOCTOR_TARGET_EXTENSION, NULL, DOCTOR_WARN,
			   "it could say where within it commands are, and does not on this connection");
	else
		report_add(r, DOCTOR_TARGET_EXTENSION, NULL, DOCTOR_PASS,
			   "it says where within it commands are: queue, QoS, media");
}

static void remote(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_target *t = &f->target;

	if (t->reached == DOCTOR_NOWHERE) {
		report_add(r, DOCTOR_TARGET_ADDRESS, NULL, DOCTOR_FAIL, "%s", err_text(&t->err));
		return;
	}
	report_add(r, DOCTOR_TARGET_ADDRESS, NULL, DOCTOR_PASS, "%s", t->address);
	if (t->reached == DOCTOR_RESOLVED) {
		report_add(r, DOCTOR_TARGET_CONNECT, NULL, DOCTOR_FAIL, "TCP: %s", err_text(&t->err));
		return;
	}
	leaves_by(f, r);
	round_trip(f, r);
	if (t->reached == DOCTOR_CONNECTED) {
		report_add(r, DOCTOR_TARGET_CONNECT, NULL, DOCTOR_FAIL, "NVMe, over a TCP that works: %s",
			   err_text(&t->err));
		return;
	}
	report_add(r, DOCTOR_TARGET_CONNECT, NULL, DOCTOR_PASS, "an association with %s", t->subnqn);
	controller(t, r);
	extension(t, r);
}

/* ---- files --------------------------------------------------------------------------------- */

static void file(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_target *t = &f->target;
	int error = (int)t->direct_error;

	if (t->reached == DOCTOR_NOWHERE) {
		report_add(r, DOCTOR_TARGET_FILE, NULL, DOCTOR_FAIL, "%s", err_text(&t->err));
		report_mend(r, "check the path and its permissions");
		return;
	}
	report_add(r, DOCTOR_TARGET_FILE, NULL, t->disk[0] ? DOCTOR_PASS : DOCTOR_UNKNOWN, "%s, on %s%s",
		   t->filesystem[0] ? t->filesystem : "a file system that is not known",
		   t->disk[0] ? t->disk : "a device that is not visible",
		   t->disk[0] ? ", whose own findings are above" : "");
	if (error < 0)
		report_add(r, DOCTOR_TARGET_DIRECT, NULL, DOCTOR_UNKNOWN, "not tried");
	else if (error == 0)
		report_add(r, DOCTOR_TARGET_DIRECT, NULL, DOCTOR_PASS, "O_DIRECT is taken");
	else if (error == EINVAL)
		report_add(r, DOCTOR_TARGET_DIRECT, NULL, DOCTOR_WARN, "the file system refuses O_DIRECT");
	else
		report_add(r, DOCTOR_TARGET_DIRECT, NULL, DOCTOR_UNKNOWN, "could not be tried: %s",
			   strerror(error));
}

void judge_target(const struct doctor_facts *f, struct doctor_report *r)
{
	switch (f->target.kind) {
	case DOCTOR_TO_NONE:
		break;
	case DOCTOR_TO_TCP:
		remote(f, r);
		break;
	case DOCTOR_TO_FILE:
		file(f, r);
		break;
	}
}
