/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/verdict.h"

#include <stdio.h>

#include "base/parse.h"
#include "base/util.h"

/* Above this share of the time of the threads that do I/O, the CPU has nothing left to give. */
#define CPU_FULL 0.9

const char *bench_part_name(int part)
{
	static const char *const names[BENCH_PARTS] = {
		"client_queue", "network", "target_queue", "qos", "media", "staging", "wakeup", "remote",
	};

	return names[part];
}

const char *bench_part_words(int part)
{
	static const char *const words[BENCH_PARTS] = {
		"waiting on this side to be sent",
		"on the network",
		"waiting in the target",
		"held back by the target's limits",
		"in the storage medium",
		"in the copy to the accelerator",
		"waking up this program",
		"at the far end and on the way there, which it does not tell apart",
	};

	return words[part];
}

uint64_t bench_part(const struct pst_timing *t, int part)
{
	const uint64_t parts[BENCH_PARTS] = {
		t->client_queue, t->network, t->target_queue, t->qos,
		t->media,	 t->staging, t->wakeup,	      t->remote,
	};

	return parts[part];
}

static uint64_t sum_of(const struct pst_timing *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < BENCH_PARTS; i++)
		sum += bench_part(t, i);
	return sum;
}

const char *verdict_split(const struct pst_timing *t, char *buf, size_t n)
{
	bool used[BENCH_PARTS] = { false };
	uint64_t sum = sum_of(t);
	size_t len = 0;

	buf[0] = 0;
	for (int round = 0; round < BENCH_PARTS && sum > 0; round++) {
		int best = -1;

		for (int i = 0; i < BENCH_PARTS; i++) {
			if (!used[i] && (best < 0 || bench_part(t, i) > bench_part(t, best)))
				best = i;
		}
		used[best] = true;
		if (bench_part(t, best) * 100 < sum || len >= n)
			break;
		len += (size_t)snprintf(buf + len, n - len, "%s%s %.0f %%", len ? ", " : "", bench_part_name(best),
					100.0 * (double)bench_part(t, best) / (double)sum);
	}
	return buf;
}

const char *verdict_most(const char *what, const struct pst_timing *t, char *buf, size_t n)
{
	uint64_t sum = sum_of(t);
	int most = 0;

	buf[0] = 0;
	for (int i = 1; i < BENCH_PARTS; i++)
		most = bench_part(t, i) > bench_part(t, most) ? i : most;
	if (sum > 0 && bench_part(t, most) * 2 >= sum)
		snprintf(buf, n, " %s spends most of its time (%.0f %%) %s.", what,
			 100.0 * (double)bench_part(t, most) / (double)sum, bench_part_words(most));
	return buf;
}

/* ---- micro --------------------------------------------------------------------------------- */

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

/* What an I/O mostly waits for, as a sentence; nothing where no part stands out. */
static void limit(const struct micro_options *o, const struct micro_result *r, char *buf, size_t n)
{
	const struct bench_result *all = &r->all;
	double threads = (double)all->ns * r->threads;
	double busy = threads > 0 ? (double)(all->cost.cpu.user_ns + all->cost.cpu.system_ns) / threads : 0;

	if (o->rate && per_second(all->ops, all->ns) >= 0.99 * (double)o->rate)
		snprintf(buf, n, " It kept the rate that was asked for.");
	else if (busy >= CPU_FULL)
		snprintf(buf, n, " This machine's CPU limits: %u thread%s doing I/O kept %.1f CPUs busy.", r->threads,
			 r->threads == 1 ? "" : "s", busy * r->threads);
	else
		verdict_most("An I/O", &all->split, buf, n);
}

const char *verdict_micro(const struct micro_options *o, const struct micro_result *r, char *buf, size_t n)
{
	char rate[FORMAT_MAX], p99[FORMAT_MAX], limits[256];
	uint64_t ns = r->all.ns;

	if (r->all.ops == 0) {
		snprintf(buf, n, "Nothing was measured.");
		return buf;
	}
	limit(o, r, limits, sizeof(limits));
	snprintf(buf, n, "%.0f IOPS, %s/s, p99 %s, over the path '%s'.%s", per_second(r->all.ops, ns),
		 format_size((uint64_t)per_second(r->all.bytes, ns), rate, sizeof(rate)),
		 format_duration(hist_percentile(&r->all.latency, 99), p99, sizeof(p99)),
		 pst_path_name(bench_main_path(r->all.path_bytes)), limits);
	return buf;
}

/* ---- training ------------------------------------------------------------------------------ */

const char *verdict_train(const struct train_options *o, const struct train_result *r, char *buf, size_t n)
{
	double waited = r->compute_ns + r->stall_ns
				? 100.0 * (double)r->stall_ns / (double)(r->compute_ns + r->stall_ns)
				: 0;
	char who[48] = "The accelerator", parts[160];

	if (o->accelerators > 1)
		snprintf(who, sizeof(who), "The %u accelerators", o->accelerators);
	if (!r->has_au)
		snprintf(buf, n, "%s did too few steps to say how long %s.", who,
			 o->accelerators > 1 ? "they waited" : "it waited");
	else if (waited < 0.05)
		snprintf(buf, n, "%s waited less than 0.1 %% of the time.", who);
	else
		snprintf(buf, n, "%s waited %.1f %% of the time, on: %s", who, waited,
			 verdict_split(&r->all.split, parts, sizeof(parts)));
	return buf;
}

const char *verdict_calibration(const struct calibration *c, char *buf, size_t n)
{
	char step[FORMAT_MAX];

	snprintf(buf, n,
		 "Of a step of %s the accelerator computes %.1f %%, waits %.1f %% for data to be fetched and %.1f %% "
		 "for it to be prepared; %.1f %% is overhead.",
		 format_duration((uint64_t)(c->step * 1e9), step, sizeof(step)), 100 * c->compute / c->step,
		 100 * c->fetch / c->step, 100 * c->preparation / c->step, 100 * c->overhead / c->step);
	return buf;
}
