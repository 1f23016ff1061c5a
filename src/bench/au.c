/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/au.h"

void au_begin(struct au *a, uint64_t now)
{
	a->begun_ns = now;
	a->paused_ns = 0;
	a->first_ns = 0;
	a->block_compute_ns = 0;
	a->block_steps = 0;
}

void au_step(struct au *a, uint64_t load_ns, uint64_t stall_ns, uint64_t compute_ns)
{
	if (a->block_steps++ == 0) {
		a->first_ns = load_ns + compute_ns;
		a->first_wait_ns += stall_ns;
		return;
	}
	a->block_compute_ns += compute_ns;
	a->stall_ns += stall_ns;
}

void au_pause(struct au *a, uint64_t ns)
{
	a->paused_ns += ns;
}

void au_end(struct au *a, uint64_t now)
{
	uint64_t elapsed = now - a->begun_ns, off = a->paused_ns + a->first_ns;

	elapsed = elapsed > a->paused_ns ? elapsed - a->paused_ns : 0;
	a->elapsed_ns += elapsed;
	a->steps += a->block_steps;
	a->compute_ns += a->block_compute_ns;
	a->blocks += a->block_steps > 0;
	/* A clock that only counts whole ticks may make the rest of the block nothing. */
	if (a->block_steps < 2 || now - a->begun_ns <= off)
		return;
	a->mlperf_sum += (double)a->block_compute_ns / (double)(now - a->begun_ns - off);
	a->mlperf_blocks++;
	a->judged_ns += now - a->begun_ns - off;
	a->judged_steps += a->block_steps - 1;
}

bool au_mlperf(const struct au *a, double *ret)
{
	if (a->mlperf_blocks == 0)
		return false;
	*ret = a->mlperf_sum / (double)a->mlperf_blocks;
	return true;
}

bool au_storage(const struct au *a, double *ret)
{
	if (a->compute_ns + a->stall_ns == 0)
		return false;
	*ret = (double)a->compute_ns / (double)(a->compute_ns + a->stall_ns);
	return true;
}

bool au_mean(const struct au *ranks, unsigned int n, bool (*figure)(const struct au *a, double *ret),
	     double *ret)
{
	unsigned int have = 0;
	double sum = 0, one;

	for (unsigned int i = 0; i < n; i++) {
		if (!figure(&ranks[i], &one))
			continue;
		sum += one;
		have++;
	}
	if (have == 0)
		return false;
	*ret = sum / have;
	return true;
}
