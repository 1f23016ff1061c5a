/* SPDX-License-Identifier: Apache-2.0 */
/* NICs. One that is down is named and not judged further. */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "doctor/judge.h"

enum {
	FAST_MBITS = 10000, /* from here on frames of 1500 bytes cost noticeable CPU time */
	JUMBO = 9000,
	USECS_MAX = 50,  /* of coalescing: as much as a whole read from good flash on a short way */
	RING_MIN = 1024, /* frames: 100 Gbit/s fills it in 0.7 ms with frames of 9000 bytes */
	QUEUES_ENOUGH = 8,
};

static const char *of(const struct doctor_nic *n)
{
	return n->name;
}

static void rate(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	doctor_number slot = link_mbits(n->pci.link.speed, n->pci.link.width);

	if (n->mbits < 0)
		report_add(r, DOCTOR_NIC_RATE, of(n), DOCTOR_UNKNOWN, "its line rate%s",
			   unseen_text(f, n->mbits));
	else if (slot < 0)
		report_add(r, DOCTOR_NIC_RATE, of(n), DOCTOR_UNKNOWN,
			   "%lld Mbit/s on the wire; what its slot passes on%s", (long long)n->mbits,
			   unseen_text(f, slot));
	else
		report_add(r, DOCTOR_NIC_RATE, of(n), slot < n->mbits ? DOCTOR_WARN : DOCTOR_PASS,
			   "%lld Gbit/s on the wire, %lld through its slot", (long long)(n->mbits / 1000),
			   (long long)(slot / 1000));
}

static void mtu(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	if (n->mtu < 0)
		report_add(r, DOCTOR_NIC_MTU, of(n), DOCTOR_UNKNOWN, "its MTU%s", unseen_text(f, n->mtu));
	else if (n->mtu >= JUMBO)
		report_add(r, DOCTOR_NIC_MTU, of(n), DOCTOR_PASS, "%lld", (long long)n->mtu);
	else if (n->mbits < 0)
		report_add(r, DOCTOR_NIC_MTU, of(n), DOCTOR_UNKNOWN,
			   "%lld; whether that is little depends on its line rate, which is not visible",
			   (long long)n->mtu);
	else if (n->mbits < FAST_MBITS)
		report_add(r, DOCTOR_NIC_MTU, of(n), DOCTOR_PASS, "%lld, enough at %lld Mbit/s",
			   (long long)n->mtu, (long long)n->mbits);
	else
		report_add(r, DOCTOR_NIC_MTU, of(n), DOCTOR_WARN, "%lld, at %lld Gbit/s", (long long)n->mtu,
			   (long long)(n->mbits / 1000));
}

static void coalesce(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	if (n->adaptive < 0 || n->rx_usecs < 0)
		report_add(r, DOCTOR_NIC_COALESCE, of(n), DOCTOR_UNKNOWN, "its interrupt coalescing%s",
			   f->system.captured ? unseen_text(f, DOCTOR_UNSEEN) : ": the driver does not tell");
	else if (n->adaptive)
		report_add(r, DOCTOR_NIC_COALESCE, of(n), DOCTOR_WARN,
			   "adaptive: a varying delay, %lld us at this moment", (long long)n->rx_usecs);
	else
		report_add(r, DOCTOR_NIC_COALESCE, of(n), n->rx_usecs > USECS_MAX ? DOCTOR_WARN : DOCTOR_PASS,
			   "%lld us, fixed", (long long)n->rx_usecs);
}

static void pause_frames(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	if (n->pause_rx < 0 || n->pause_tx < 0) {
		report_add(r, DOCTOR_NIC_PAUSE, of(n), DOCTOR_UNKNOWN, "pause frames%s",
			   f->system.captured ? unseen_text(f, DOCTOR_UNSEEN) : ": the driver does not tell");
	} else if (n->pause_rx != n->pause_tx) {
		report_add(r, DOCTOR_NIC_PAUSE, of(n), DOCTOR_WARN, "half: it %s, and does not %s",
			   n->pause_rx ? "obeys them" : "sends them", n->pause_rx ? "send them" : "obey them");
		report_mend(r, "set both or neither, as on the switch: ethtool -A %s rx on tx on", n->name);
	} else {
		report_add(r, DOCTOR_NIC_PAUSE, of(n), DOCTOR_PASS, "%s both ways", n->pause_rx ? "on" : "off");
	}
}

static void ring(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	if (n->ring < 0)
		report_add(r, DOCTOR_NIC_RING, of(n), DOCTOR_UNKNOWN, "its receive ring%s",
			   f->system.captured ? unseen_text(f, DOCTOR_UNSEEN) : ": the driver does not tell");
	else
		report_add(r, DOCTOR_NIC_RING, of(n),
			   n->ring < RING_MIN && n->ring < n->ring_max ? DOCTOR_WARN : DOCTOR_PASS,
			   "%lld entries of at most %lld", (long long)n->ring, (long long)n->ring_max);
}

static void queues(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	doctor_number have = n->channels > 0 ? n->channels : n->rx_queues, most = n->channels_max, want;

	if (have < 0) {
		report_add(r, DOCTOR_NIC_QUEUES, of(n), DOCTOR_UNKNOWN, "its receive queues%s",
			   unseen_text(f, have));
		return;
	}
	want = f->system.cpus > 0 ? MIN(f->system.cpus, (doctor_number)QUEUES_ENOUGH) : 1;
	if (have >= want)
		report_add(r, DOCTOR_NIC_QUEUES, of(n), f->system.cpus > 0 ? DOCTOR_PASS : DOCTOR_UNKNOWN,
			   "%lld receive queues%s", (long long)have,
			   f->system.cpus > 0 ? "" : "; how many CPUs there are is not visible");
	else if (most > 0 && have >= most)
		report_add(r, DOCTOR_NIC_QUEUES, of(n), DOCTOR_WARN,
			   "%lld receive queues, all it has, for %lld CPUs", (long long)have,
			   (long long)f->system.cpus);
	else
		report_add(r, DOCTOR_NIC_QUEUES, of(n), DOCTOR_WARN, "%lld receive queues for %lld CPUs",
			   (long long)have, (long long)f->system.cpus);
	if (most > 0 && have >= most && have < want)
		report_mend(r, "%s",
			    f->system.hypervisor ? "give the virtual NIC more queues (queues=N of its device)"
						 : "use a NIC with more queues");
}

static void irqs(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	if (n->irqs < 0)
		report_add(r, DOCTOR_NIC_IRQS, of(n), DOCTOR_UNKNOWN, "which CPUs its interrupts go to%s",
			   unseen_text(f, n->irqs));
	else if (n->irqs_far > 0)
		report_add(r, DOCTOR_NIC_IRQS, of(n), DOCTOR_WARN,
			   "%lld of %lld interrupts go to CPUs of another node", (long long)n->irqs_far,
			   (long long)n->irqs);
	else if (n->irq_cpus == 1 && n->irqs > 2 && f->system.cpus != 1)
		report_add(r, DOCTOR_NIC_IRQS, of(n), DOCTOR_WARN, "all %lld interrupts go to one CPU",
			   (long long)n->irqs);
	else if (!n->pci.local_cpus[0] && f->system.nodes != 1)
		report_add(r, DOCTOR_NIC_IRQS, of(n), DOCTOR_UNKNOWN,
			   "%lld interrupts go to %lld CPUs; whether those are its own is not visible",
			   (long long)n->irqs, (long long)n->irq_cpus);
	else
		report_add(r, DOCTOR_NIC_IRQS, of(n), DOCTOR_PASS, "%lld interrupts over %lld of its own CPUs",
			   (long long)n->irqs, (long long)n->irq_cpus);
}

static void nic(const struct doctor_facts *f, const struct doctor_nic *n, struct doctor_report *r)
{
	report_add(r, DOCTOR_NIC_PRESENT, of(n), DOCTOR_PASS, "%s%s%s%s%s",
		   n->pci.driver[0] ? n->pci.driver : "no driver visible", n->pci.bdf[0] ? " at " : "",
		   n->pci.bdf, n->rdma[0] ? ", RDMA device " : "", n->rdma);
	if (!n->state[0]) {
		report_add(r, DOCTOR_NIC_STATE, of(n), DOCTOR_UNKNOWN, "its state%s",
			   unseen_text(f, DOCTOR_UNSEEN));
	} else if (!nic_up(n)) {
		report_add(r, DOCTOR_NIC_STATE, of(n), DOCTOR_ABSENT, "%s: not judged further", n->state);
		return;
	} else {
		report_add(r, DOCTOR_NIC_STATE, of(n), strcmp(n->state, "up") == 0 ? DOCTOR_PASS : DOCTOR_UNKNOWN,
			   "%s", strcmp(n->state, "up") == 0 ? "up" : "its driver does not tell");
	}
	judge_link(r, f, DOCTOR_NIC_LINK, of(n), &n->pci.link, false);
	rate(f, n, r);
	judge_node(r, f, DOCTOR_NIC_NUMA, of(n), n->pci.node);
	mtu(f, n, r);
	coalesce(f, n, r);
	pause_frames(f, n, r);
	ring(f, n, r);
	queues(f, n, r);
	irqs(f, n, r);
}

void judge_nics(const struct doctor_facts *f, struct doctor_report *r)
{
	size_t up = 0;

	for (size_t i = 0; i < f->nic_count; i++) {
		up += !f->nics[i].state[0] || nic_up(&f->nics[i]);
		nic(f, &f->nics[i], r);
	}
	if (f->nic_count == 0 && f->system.sysfs)
		report_add(r, DOCTOR_NIC_PRESENT, NULL, DOCTOR_ABSENT,
			   "no network interface with a device behind it");
	else if (f->nic_count == 0)
		report_add(r, DOCTOR_NIC_PRESENT, NULL, DOCTOR_UNKNOWN, "network interfaces%s",
			   unseen_text(f, DOCTOR_UNSEEN));
	else if (up == 0)
		report_add(r, DOCTOR_NIC_STATE, NULL, DOCTOR_WARN, "none of %zu is up", f->nic_count);
}
