/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel, its settings, and this process's limits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "doctor/judge.h"

enum {
	IDLE_US_MAX = 50,       /* waking up takes as long as a read from good flash */
	FILES_MIN = 4096,       /* connections of a target with a hundred hosts, and room */
	MEMLOCK_MIN = 64 << 20, /* a staging ring of 32 MiB, twice */
	RTT_US = 200,           /* assumed of a network of one room where no target tells */
	WINDOW_FACTOR = 2,      /* half of a socket's buffer is the window; the rest is for overhead */
};

static void iommu(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_system *s = &f->system;
	const char *mode = "";

	for (size_t i = 0; i < f->gpu_count && !mode[0]; i++)
		mode = f->gpus[i].pci.iommu;
	for (size_t i = 0; i < f->nic_count && !mode[0]; i++)
		mode = f->nics[i].pci.iommu;
	if (s->iommus < 0)
		report_add(r, DOCTOR_IOMMU_MODE, NULL, DOCTOR_UNKNOWN, "the IOMMU%s", unseen_text(f, s->iommus));
	else if (s->iommus == 0 && s->hypervisor)
		report_add(r, DOCTOR_IOMMU_MODE, NULL, DOCTOR_UNKNOWN,
			   "this virtual machine has none; what its host does is not visible");
	else if (s->iommus == 0)
		report_add(r, DOCTOR_IOMMU_MODE, NULL, DOCTOR_PASS, "none in use");
	else if (!mode[0])
		report_add(r, DOCTOR_IOMMU_MODE, NULL, DOCTOR_UNKNOWN,
			   "in use; how it treats GPUs and NICs is not visible");
	else
		report_add(r, DOCTOR_IOMMU_MODE, NULL, strcmp(mode, "identity") == 0 ? DOCTOR_PASS : DOCTOR_WARN,
			   "in use, domain type %s", mode);
}

static void uring(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_system *s = &f->system;
	const char *mend = "boot Linux 5.13 or later; until then epoll is used, which is right and slower";

	if (s->uring_error < 0) {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_UNKNOWN, "whether it can be used%s",
			   unseen_text(f, s->uring_error));
		return;
	}
	if (s->uring_error == 0 && s->uring_lacks[0]) {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_PASS, "usable: %s; not %s", s->uring_features,
			   s->uring_lacks);
		return;
	}
	if (s->uring_error == 0) {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_PASS, "usable: %s", s->uring_features);
		return;
	}
	if (s->uring_disabled > 0) {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_WARN, "off: sysctl kernel.io_uring_disabled is %d",
			   (int)s->uring_disabled);
		mend = "sysctl -w kernel.io_uring_disabled=0, or join the group in kernel.io_uring_group";
	} else if (s->uring_error == ENOSYS) {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_WARN, "this kernel has none%s",
			   s->seccomp == 2 ? ", or a seccomp filter hides it" : "");
	} else if (s->seccomp == 2) {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_WARN, "a seccomp filter forbids it (%s)",
			   strerror((int)s->uring_error));
		mend = "allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp "
		       "profile";
	} else {
		report_add(r, DOCTOR_URING, NULL, DOCTOR_WARN, "refused: %s", strerror((int)s->uring_error));
		if (s->uring_error == ENOMEM)
			mend = "raise the limit of locked memory, against which kernels before 5.12 count it";
	}
	report_mend(r, "%s", mend);
}

static void limit(struct doctor_report *r, const struct doctor_facts *f, enum doctor_id id, doctor_number have,
		  doctor_number want, bool bytes)
{
	char text[FORMAT_MAX], least[FORMAT_MAX];

	if (have < 0) {
		report_add(r, id, NULL, DOCTOR_UNKNOWN, "the limit%s", unseen_text(f, have));
		return;
	}
	if (have == INT64_MAX) {
		report_add(r, id, NULL, DOCTOR_PASS, "unlimited");
		return;
	}
	if (bytes) {
		format_size((uint64_t)have, text, sizeof(text));
		format_size((uint64_t)want, least, sizeof(least));
	} else {
		snprintf(text, sizeof(text), "%lld", (long long)have);
		snprintf(least, sizeof(least), "%lld", (long long)want);
	}
	if (have < want)
		report_add(r, id, NULL, DOCTOR_WARN, "%s, less than %s", text, least);
	else
		report_add(r, id, NULL, DOCTOR_PASS, "%s", text);
}

static void clock_source(const struct doctor_facts *f, struct doctor_report *r)
{
	static const char *const fast[] = { "tsc", "arch_sys_counter", "kvm-clock",
					    "hyperv_clocksource_tsc_page" };
	const char *c = f->system.clock;

	if (!c[0]) {
		report_add(r, DOCTOR_CLOCK, NULL, DOCTOR_UNKNOWN, "the clock source%s",
			   unseen_text(f, DOCTOR_UNSEEN));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fast); i++) {
		if (strcmp(c, fast[i]) == 0) {
			report_add(r, DOCTOR_CLOCK, NULL, DOCTOR_PASS, "%s, read without a system call", c);
			return;
		}
	}
	report_add(r, DOCTOR_CLOCK, NULL, DOCTOR_WARN, "%s, of %s", c, f->system.clocks);
	if (strstr(f->system.clocks, "tsc"))
		report_mend(r, "echo tsc > current_clocksource, in /sys/devices/system/clocksource/clocksource0");
}

static void cpus(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_system *s = &f->system;

	if (s->governors < 0)
		report_add(r, DOCTOR_GOVERNOR, NULL, DOCTOR_UNKNOWN, "how CPUs are clocked%s",
			   unseen_text(f, s->governors));
	else if (s->governors_slow > 0)
		report_add(r, DOCTOR_GOVERNOR, NULL, DOCTOR_WARN, "%s on %lld of %lld", s->governor,
			   (long long)s->governors_slow, (long long)s->governors);
	else
		report_add(r, DOCTOR_GOVERNOR, NULL, DOCTOR_PASS, "%s, for performance", s->governor);

	if (s->idle_us < 0 && (strcmp(s->idle_driver, "none") != 0 || s->hypervisor))
		report_add(r, DOCTOR_IDLE, NULL, DOCTOR_UNKNOWN, "idle states%s", unseen_text(f, s->idle_us));
	else if (s->idle_us < 0)
		report_add(r, DOCTOR_IDLE, NULL, DOCTOR_PASS, "none in use");
	else if (s->hypervisor && s->idle_us <= IDLE_US_MAX)
		report_add(r, DOCTOR_IDLE, NULL, DOCTOR_UNKNOWN,
			   "%s, %lld us, is the deepest here; those of the host below are not visible",
			   s->idle_name[0] ? s->idle_name : "unnamed", (long long)s->idle_us);
	else
		report_add(r, DOCTOR_IDLE, NULL, s->idle_us > IDLE_US_MAX ? DOCTOR_WARN : DOCTOR_PASS,
			   "the deepest in use, %s, takes %lld us to leave",
			   s->idle_name[0] ? s->idle_name : "unnamed", (long long)s->idle_us);

	if (s->irqbalance < 0)
		report_add(r, DOCTOR_IRQBALANCE, NULL, DOCTOR_UNKNOWN,
			   "other processes are not visible from here");
	else if (s->irqbalance > 0)
		report_add(r, DOCTOR_IRQBALANCE, NULL, DOCTOR_WARN, "runs");
	else
		report_add(r, DOCTOR_IRQBALANCE, NULL, DOCTOR_PASS,
			   "does not run: interrupts stay where they are put");
}

static void pages(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_system *s = &f->system;

	if (!s->thp[0] && s->huge_total <= 0)
		report_add(r, DOCTOR_HUGEPAGES, NULL, DOCTOR_UNKNOWN, "huge pages%s",
			   unseen_text(f, s->huge_total));
	else if (strcmp(s->thp, "never") == 0 && s->huge_total <= 0)
		report_add(r, DOCTOR_HUGEPAGES, NULL, DOCTOR_WARN, "transparent ones off, and none reserved");
	else
		report_add(r, DOCTOR_HUGEPAGES, NULL, DOCTOR_PASS,
			   "transparent ones: %s; reserved: %lld of 2 MiB", s->thp[0] ? s->thp : "not visible",
			   (long long)(s->huge_total > 0 ? s->huge_total : 0));
}

/* ---- buffers of TCP ------------------------------------------------------------------------ */

/* What counts is the NIC that the target is reached by, and its round trip; without one, the fastest and RTT_US. */
static void way(const struct doctor_facts *f, doctor_number *ret_mbits, doctor_number *ret_rtt)
{
	const struct doctor_target *t = &f->target;

	*ret_mbits = fastest_mbits(f);
	*ret_rtt = t->rtt_us > 0 && !t->loopback ? t->rtt_us : RTT_US;
	for (size_t i = 0; i < f->nic_count; i++) {
		if (t->interface[0] && strcmp(f->nics[i].name, t->interface) == 0)
			*ret_mbits = f->nics[i].mbits;
	}
}

static void buffer(const struct doctor_facts *f, struct doctor_report *r, enum doctor_id id, const char *name,
		   doctor_number have)
{
	char text[FORMAT_MAX], most[FORMAT_MAX];
	doctor_number mbits, rtt, want;

	if (have < 0) {
		report_add(r, id, NULL, DOCTOR_UNKNOWN, "the largest buffer%s", unseen_text(f, have));
		return;
	}
	way(f, &mbits, &rtt);
	format_size((uint64_t)have, text, sizeof(text));
	if (mbits < 0) {
		report_add(r, id, NULL, DOCTOR_UNKNOWN,
			   "%s; whether that is enough depends on the NIC's line rate, which is not visible",
			   text);
		return;
	}
	/* Mbit/s times microseconds is bits. */
	want = mbits * rtt / 8 * WINDOW_FACTOR;
	report_add(r, id, NULL, have < want ? DOCTOR_WARN : DOCTOR_PASS,
		   "%s, for %lld Mbit/s at %lld us: %s is needed", text, (long long)mbits, (long long)rtt,
		   format_size((uint64_t)want, most, sizeof(most)));
	report_mend(r, "sysctl -w net.ipv4.%s='4096 131072 %lld', or spread over more queues", name,
		    (long long)want);
}

static void module(const struct doctor_facts *f, struct doctor_report *r)
{
	switch (f->system.nvme_tcp) {
	case 2:
		report_add(r, DOCTOR_NVME_TCP, NULL, DOCTOR_PASS, "loaded, or part of the kernel");
		break;
	case 1:
		report_add(r, DOCTOR_NVME_TCP, NULL, DOCTOR_PASS, "can be loaded: modprobe nvme-tcp");
		break;
	case 0:
		report_add(r, DOCTOR_NVME_TCP, NULL, DOCTOR_ABSENT, "this kernel has no module nvme-tcp");
		break;
	default:
		report_add(r, DOCTOR_NVME_TCP, NULL, DOCTOR_UNKNOWN,
			   "not loaded; the kernel's modules are not visible");
	}
}

void judge_system(const struct doctor_facts *f, struct doctor_report *r)
{
	iommu(f, r);
	uring(f, r);
	limit(r, f, DOCTOR_MEMLOCK, f->system.memlock_bytes, MEMLOCK_MIN, true);
	limit(r, f, DOCTOR_FILES, f->system.files, FILES_MIN, false);
	clock_source(f, r);
	cpus(f, r);
	pages(f, r);
	buffer(f, r, DOCTOR_TCP_RMEM, "tcp_rmem", f->system.tcp_rmem);
	buffer(f, r, DOCTOR_TCP_WMEM, "tcp_wmem", f->system.tcp_wmem);
	module(f, r);
}
