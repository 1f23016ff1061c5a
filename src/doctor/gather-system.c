/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's settings, limits of this process, and how CPUs are run. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "doctor/gather.h"

struct look {
	const struct tree *t;
	struct doctor_system *s;
	doctor_number count, slow;
	bool hit;
};

/* ---- limits and the process ---------------------------------------------------------------- */

/* The soft limit in a line of /proc/self/limits: "Max locked memory   8388608   8388608   bytes". */
static doctor_number limit(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	unsigned long long v;

	if (!at)
		return DOCTOR_UNSEEN;
	at += strlen(name);
	at += strspn(at, " ");
	if (strncmp(at, "unlimited", 9) == 0)
		return INT64_MAX;
	if (sscanf(at, "%20llu", &v) != 1)
		return DOCTOR_UNSEEN;
	return v > INT64_MAX ? INT64_MAX : (doctor_number)v;
}

static void process(const struct tree *t, struct doctor_system *s)
{
	char text[8192];
	const char *at;
	unsigned int mode;

	if (tree_text(t, text, sizeof(text), "proc/self/limits") > 0) {
		s->memlock_bytes = limit(text, "Max locked memory");
		s->files = limit(text, "Max open files");
	}
	if (tree_text(t, text, sizeof(text), "proc/self/status") > 0) {
		at = strstr(text, "\nSeccomp:");
		if (at && sscanf(at, " Seccomp: %1u", &mode) == 1)
			s->seccomp = mode;
	}
}

static void about(const struct tree *t, struct doctor_system *s)
{
	char text[8192];

	tree_text(t, s->kernel, sizeof(s->kernel), "proc/sys/kernel/osrelease");
	/* Flags of the first CPU are within the first few KB. */
	if (tree_text(t, text, sizeof(text), "proc/cpuinfo") > 0)
		s->hypervisor = strstr(text, " hypervisor") != NULL;
	s->container = tree_exists(t, ".dockerenv") || tree_exists(t, "run/.containerenv");
	s->sysfs = tree_exists(t, "sys/devices") && tree_exists(t, "sys/class");
	s->uring_disabled = tree_number(t, "proc/sys/kernel/io_uring_disabled");
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

/*
 * A policy that keeps its CPUs slow: any governor but performance. With hardware-managed states
 * "powersave" is only a name; the preference beside it is what counts.
 */
static void policy(const char *name, void *arg)
{
	struct look *l = arg;
	char governor[DOCTOR_NAME_SIZE], preference[DOCTOR_NAME_SIZE];
	bool slow;

	if (strncmp(name, "policy", 6) != 0 ||
	    tree_text(l->t, governor, sizeof(governor), "sys/devices/system/cpu/cpufreq/%s/scaling_governor",
		      name) <= 0)
		return;
	tree_text(l->t, preference, sizeof(preference),
		  "sys/devices/system/cpu/cpufreq/%s/energy_performance_preference", name);
	slow = strcmp(governor, "performance") != 0 && strcmp(preference, "performance") != 0;
	if (l->count == 0 || (slow && l->slow == 0))
		snprintf(l->s->governor, sizeof(l->s->governor), "%s", governor);
	l->count++;
	l->slow += slow;
}

static void frequencies(const struct tree *t, struct doctor_system *s)
{
	struct look l = { .t = t, .s = s };

	tree_list(t, "sys/devices/system/cpu/cpufreq", policy, &l);
	if (l.count == 0)
		return;
	s->governors = l.count;
	s->governors_slow = l.slow;
}

/* Of cpu0, for all CPUs have the same ones. */
static void idle_state(const char *name, void *arg)
{
	struct look *l = arg;
	doctor_number us;

#define STATE "sys/devices/system/cpu/cpu0/cpuidle/%s/"
	us = tree_number(l->t, STATE "latency", name);
	if (strncmp(name, "state", 5) != 0 || us < 0 || tree_number(l->t, STATE "disable", name) > 0 ||
	    us < l->s->idle_us)
		return;
	l->s->idle_us = us;
	tree_text(l->t, l->s->idle_name, sizeof(l->s->idle_name), STATE "name", name);
#undef STATE
}

static void idle(const struct tree *t, struct doctor_system *s)
{
	struct look l = { .t = t, .s = s };

	tree_text(t, s->idle_driver, sizeof(s->idle_driver), "sys/devices/system/cpu/cpuidle/current_driver");
	tree_list(t, "sys/devices/system/cpu/cpu0/cpuidle", idle_state, &l);
}

static void process_name(const char *name, void *arg)
{
	struct look *l = arg;
	char comm[DOCTOR_NAME_SIZE];

	if (!isdigit((unsigned char)name[0]) || l->hit)
		return;
	if (tree_text(l->t, comm, sizeof(comm), "proc/%s/comm", name) <= 0)
		return;
	l->count++;
	l->hit = strcmp(comm, "irqbalance") == 0;
}

/* Where other users' processes are hidden (hidepid, a PID namespace) not seeing it means nothing. */
static void irqbalance(const struct tree *t, struct doctor_system *s)
{
	struct look l = { .t = t, .s = s };
	char init[DOCTOR_NAME_SIZE];

	tree_list(t, "proc", process_name, &l);
	if (l.hit)
		s->irqbalance = 1;
	/* Kernel threads are children of process 2, which no container shows. */
	else if (tree_text(t, init, sizeof(init), "proc/2/comm") > 0 && strcmp(init, "kthreadd") == 0)
		s->irqbalance = 0;
}

/* ---- memory, network, modules -------------------------------------------------------------- */

static void memory(const struct tree *t, struct doctor_system *s)
{
	char text[DOCTOR_TEXT_SIZE];
	const char *begin, *end;

	if (tree_text(t, text, sizeof(text), "sys/kernel/mm/transparent_hugepage/enabled") > 0) {
		begin = strchr(text, '[');
		end = begin ? strchr(begin, ']') : NULL;
		if (end)
			snprintf(s->thp, sizeof(s->thp), "%.*s", (int)(end - begin - 1), begin + 1);
	}
#define HUGE "sys/kernel/mm/hugepages/hugepages-2048kB/"
	s->huge_total = tree_number(t, HUGE "nr_hugepages");
	s->huge_free = tree_number(t, HUGE "free_hugepages");
#undef HUGE
}

/* "4096 131072 6291456": least, default, most. */
static doctor_number most(const struct tree *t, const char *path)
{
	char text[DOCTOR_TEXT_SIZE];
	long long v;

	if (tree_text(t, text, sizeof(text), "%s", path) <= 0 || sscanf(text, "%*d %*d %18lld", &v) != 1 || v < 0)
		return DOCTOR_UNSEEN;
	return v;
}

static doctor_number nvme_tcp(const struct tree *t, const char *kernel)
{
	doctor_number loadable, builtin;

	if (tree_exists(t, "sys/module/nvme_tcp"))
		return 2;
	builtin = tree_contains(t, "/nvme-tcp.ko", "lib/modules/%s/modules.builtin", kernel);
	if (builtin == 1)
		return 2;
	loadable = tree_contains(t, "/nvme-tcp.ko", "lib/modules/%s/modules.dep", kernel);
	return loadable == 1 ? 1 : MAX(loadable, builtin);
}

static void count(const char *name, void *arg)
{
	(*(doctor_number *)arg)++;
}

void gather_system(const struct tree *t, struct doctor_system *s)
{
	about(t, s);
	process(t, s);
	tree_text(t, s->clock, sizeof(s->clock),
		  "sys/devices/system/clocksource/clocksource0/current_clocksource");
	tree_text(t, s->clocks, sizeof(s->clocks),
		  "sys/devices/system/clocksource/clocksource0/available_clocksource");
	frequencies(t, s);
	idle(t, s);
	irqbalance(t, s);
	memory(t, s);
	if (tree_exists(t, "sys/class/iommu")) {
		s->iommus = 0;
		tree_list(t, "sys/class/iommu", count, &s->iommus);
	}
	s->tcp_rmem = most(t, "proc/sys/net/ipv4/tcp_rmem");
	s->tcp_wmem = most(t, "proc/sys/net/ipv4/tcp_wmem");
	s->nvme_tcp = nvme_tcp(t, s->kernel);
}
