/* SPDX-License-Identifier: Apache-2.0 */
/* Facts in, findings out: above all, that nothing unseen passes. */
#include "doctor/judge.h"
#include "tests/tap.h"

static struct doctor_facts *f;
static struct doctor_report r;

static void judge(void)
{
	report_deinit(&r);
	doctor_judge(f, &r);
}

static const struct doctor_finding *get(enum doctor_id id)
{
	for (size_t i = 0; i < r.count; i++) {
		if (r.findings[i].id == id)
			return &r.findings[i];
	}
	return NULL;
}

static const char *status(enum doctor_id id)
{
	const struct doctor_finding *x = get(id);

	return x ? doctor_status_name(x->status) : "none";
}

static void fresh(void)
{
	doctor_facts_free(f);
	f = doctor_facts_new();
}

static void unseen(void)
{
	struct doctor_gpu *g;
	struct doctor_nic *n;
	struct doctor_disk *d;

	fresh();
	judge();
	is_u64(r.by_status[DOCTOR_PASS], 0, "of nothing seen, nothing passes");
	is_u64(r.by_status[DOCTOR_FAIL], 0, "and nothing fails");

	g = doctor_gpu_add(f);
	n = doctor_nic_add(f);
	d = doctor_disk_add(f);
	snprintf(g->pci.bdf, sizeof(g->pci.bdf), "0000:01:00.0");
	snprintf(n->name, sizeof(n->name), "eth0");
	snprintf(d->name, sizeof(d->name), "nvme0n1");
	d->nvme = true;
	judge();
	for (size_t i = 0; i < r.count; i++) {
		const struct doctor_finding *x = &r.findings[i];

		if (x->status == DOCTOR_PASS && x->id != DOCTOR_GPU_PRESENT && x->id != DOCTOR_NIC_PRESENT &&
		    x->id != DOCTOR_DISK_PRESENT)
			ok(false, "%s passes though it was not seen: %s", doctor_id_name(x->id), x->what);
	}
	is_u64(r.by_status[DOCTOR_PASS], 3, "of devices of which nothing is known, that they are there");
}

static void catalogue(void)
{
	for (int i = 0; i < DOCTOR_IDS; i++) {
		if (!doctor_entry((enum doctor_id)i)->why)
			ok(false, "%s says why it matters", doctor_id_name((enum doctor_id)i));
	}
	ok(true, "every id says why it matters");
}

static void links(void)
{
	struct doctor_link full = { 320, 16, 320, 16, 320, 16 }, narrow = { 320, 8, 320, 16, 320, 16 };
	struct doctor_link slot = { 160, 16, 320, 16, 160, 16 }, slow = { 25, 16, 320, 16, 320, 16 };
	struct doctor_nic *n;

	fresh();
	n = doctor_nic_add(f);
	snprintf(n->state, sizeof(n->state), "up");
	n->mbits = 200000;
	n->pci.link = full;
	judge();
	is_str(status(DOCTOR_NIC_LINK), "pass", "a link as fast as card and slot go");
	is_str(status(DOCTOR_NIC_RATE), "pass", "and faster than the wire");
	n->pci.link = narrow;
	judge();
	is_str(status(DOCTOR_NIC_LINK), "fail", "a link that came up narrow");
	n->pci.link = slot;
	judge();
	is_str(status(DOCTOR_NIC_LINK), "warn", "a slot slower than its card");
	n->pci.link = slow;
	judge();
	is_str(status(DOCTOR_NIC_LINK), "fail", "a NIC's link that came up slow");
	is_str(status(DOCTOR_NIC_RATE), "warn", "slower than the wire");
	is_i64(link_mbits(25, 1), 2000, "2.5 GT/s carries 2 Gbit/s");
	is_i64(link_mbits(80, 16), 126030, "8 GT/s x16 carries 126 Gbit/s");
	is_i64(link_mbits(DOCTOR_UNSEEN, 16), DOCTOR_UNSEEN, "what is not seen carries nothing known");
}

static void buffers(void)
{
	struct doctor_nic *n;

	fresh();
	n = doctor_nic_add(f);
	snprintf(n->state, sizeof(n->state), "up");
	snprintf(n->name, sizeof(n->name), "eth0");
	f->system.tcp_rmem = 6291456;
	judge();
	is_str(status(DOCTOR_TCP_RMEM), "unknown", "enough for a rate that is not known is not known");
	n->mbits = 100000;
	judge();
	is_str(status(DOCTOR_TCP_RMEM), "pass", "6 MiB do for 100 Gbit/s at 200 us");
	f->target.kind = DOCTOR_TO_TCP;
	f->target.reached = DOCTOR_CONNECTED;
	f->target.rtt_us = 1000;
	snprintf(f->target.interface, sizeof(f->target.interface), "eth0");
	judge();
	is_str(status(DOCTOR_TCP_RMEM), "warn", "but not at the millisecond that was measured");
	is_str(status(DOCTOR_TARGET_CONNECT), "fail", "TCP that works and NVMe that does not is a failure");
}

/* A target that is reached, of ours and of another make. */
static void extension(void)
{
	fresh();
	f->target.kind = DOCTOR_TO_TCP;
	f->target.reached = DOCTOR_LIVE;
	judge();
	is_str(status(DOCTOR_TARGET_EXTENSION), "absent", "another's target tells nothing, and is no worse for it");
	f->target.extension = true;
	judge();
	is_str(status(DOCTOR_TARGET_EXTENSION), "warn", "ours could, and did not agree to");
	f->target.times = true;
	judge();
	is_str(status(DOCTOR_TARGET_EXTENSION), "pass", "ours tells");
	f->target.reached = DOCTOR_CONNECTED;
	judge();
	is_str(status(DOCTOR_TARGET_EXTENSION), "none", "one that was not reached is not judged");
}

int main(void)
{
	catalogue();
	unseen();
	links();
	buffers();
	extension();
	report_deinit(&r);
	doctor_facts_free(f);
	return tap_done();
}
