/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a plan; see plan.h. Limits are drawn small, so that they are reached. */
#include "plan.h"

#include <inttypes.h>

#include "base/util.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static const char *const blow_names[BLOW_COUNT] = {
	[BLOW_POWER] = "power",         [BLOW_KILL] = "kill",
	[BLOW_RESTART] = "restart",     [BLOW_HOST_CRASH] = "host-crash",
	[BLOW_HOST_KILL] = "host-kill", [BLOW_HOST_RESET] = "host-reset",
	[BLOW_RESET] = "reset",         [BLOW_HOLE] = "hole",
	[BLOW_LINK] = "link",
};

const char *plan_blow_name(enum plan_blow b)
{
	return (unsigned int)b < BLOW_COUNT ? blow_names[b] : "?";
}

static bool one_in(struct rng *rng, unsigned int n)
{
	return rng_below(rng, n) == 0;
}

static uint32_t pick(struct rng *rng, const uint32_t *from, size_t n)
{
	return from[rng_below(rng, n)];
}

/* Evenly over orders of magnitude. */
static uint64_t scale(struct rng *rng, uint64_t min, uint64_t max)
{
	unsigned int doublings = 0;

	while (min << doublings < max)
		doublings++;
	max = MIN(max, min << rng_below(rng, doublings + 1));
	return rng_between(rng, max / 2 > min ? max / 2 : min, max);
}

static void draw_limits(struct plan *p, struct rng *rng)
{
	static const uint32_t mdts[] = { 4096, 8192, 16384, 65536, 1 << 20 };
	static const uint32_t in_capsule[] = { 0, 512, 4096, 8192, 16384 };
	static const uint32_t maxh2cdata[] = { 4096, 4100, 8192, 65536, 1 << 20 };
	static const uint32_t c2h_chunk[] = { 4096, 5000, 16384, 256 << 10 };
	struct target_config c;

	target_config_init(&c);
	p->limits = c.limits;
	p->limits.mdts = pick(rng, mdts, ARRAY_SIZE(mdts));
	p->limits.in_capsule = pick(rng, in_capsule, ARRAY_SIZE(in_capsule));
	p->limits.maxh2cdata = pick(rng, maxh2cdata, ARRAY_SIZE(maxh2cdata));
	p->limits.c2h_chunk = pick(rng, c2h_chunk, ARRAY_SIZE(c2h_chunk));
	p->limits.queue_depth = (uint32_t)scale(rng, 2, 128);
	p->limits.io_queues = (uint32_t)rng_between(rng, 1, 4);
	p->limits.namespaces = 8;
	p->limits.connections = 64;
	/* The least there may be, in half of all runs, so that commands find it empty. */
	p->limits.arena = (one_in(rng, 2) ? 8 : 64) * (uint64_t)MAX(p->limits.mdts, 1U << 18);
	p->limits.arena *= p->target_loops;
}

static void draw_host(struct plan *p, struct rng *rng)
{
	struct host_config *h = &p->host;

	host_config_init(h);
	h->queues = (unsigned int)rng_between(rng, 1, 4);
	h->depth = (unsigned int)scale(rng, 1, 64);
	h->hdgst = one_in(rng, 2);
	h->ddgst = one_in(rng, 2);
	h->sqflow = one_in(rng, 3);
	h->in_capsule = !one_in(rng, 3);
	h->hpda = one_in(rng, 4) ? (uint8_t)rng_below(rng, 32) : 0;
	h->kato_ns = one_in(rng, 8) ? 0 : scale(rng, S, 15 * S);
	h->connect_timeout_ns = scale(rng, S, 20 * S);
	h->admin_timeout_ns = scale(rng, S, 30 * S);
	h->io_timeout_ns = scale(rng, S, 60 * S);
	h->reconnect_min_ns = scale(rng, MS, 500 * MS);
	h->reconnect_max_ns = h->reconnect_min_ns + scale(rng, MS, 5 * S);
	h->loss_timeout_ns = one_in(rng, 6) ? scale(rng, S, 60 * S) : UINT64_MAX;
	h->retries = (unsigned int)rng_below(rng, 8);
	h->retry_first = true;
}

static void draw_work(struct plan *p, struct rng *rng)
{
	static const uint64_t thinking[] = { 0, 0, 100000, 10 * MS, 200 * MS };

	p->ops = (unsigned int)scale(rng, 40, 400);
	p->slots = (unsigned int)scale(rng, 1, p->host.queues * p->host.depth + 4);
	p->slots = MIN(p->slots, 32U);
	p->max_nlb = (uint32_t)scale(rng, 1, MIN((uint64_t)p->limits.mdts / p->block, p->blocks));
	p->max_nlb = MIN(p->max_nlb, 65536 / p->block);
	p->weight_read = 1 + (unsigned int)rng_below(rng, 8);
	p->weight_write = 1 + (unsigned int)rng_below(rng, 8);
	p->weight_zero = (unsigned int)rng_below(rng, 3);
	p->weight_trim = (unsigned int)rng_below(rng, 3);
	p->weight_flush = (unsigned int)rng_below(rng, 3);
	p->fua_ppm = one_in(rng, 2) ? (uint32_t)rng_below(rng, 1000000) : 0;
	p->think_max_ns = thinking[rng_below(rng, ARRAY_SIZE(thinking))];
}

static void draw_blows(struct plan *p, struct rng *rng)
{
	for (int i = 0; i < BLOW_COUNT; i++)
		p->blow[i] = one_in(rng, 3);
	if (p->memory)
		p->blow[BLOW_POWER] = p->blow[BLOW_KILL] = p->blow[BLOW_RESTART] = false;
	p->blows = (unsigned int)scale(rng, 1, 8);
	p->blow_max_ns = scale(rng, MS, 5 * S);
	p->down_max_ns = scale(rng, MS, 20 * S);
	p->final_power_cut = !p->memory && one_in(rng, 2);
}

/*
 * A quarter of all runs is about one thing: operations that are late, on few blocks, while
 * associations end and begin. What comes late must not undo what was acknowledged meanwhile.
 */
static void draw_haste(struct plan *p, struct rng *rng)
{
	p->sim.ppm[SIM_NET_STALL] = (uint32_t)scale(rng, 5000, 100000);
	p->sim.ppm[SIM_FILE_SLOW] = (uint32_t)scale(rng, 5000, 300000);
	p->sim.stall_max_ns = scale(rng, 20 * MS, 5 * S);
	p->sim.slow_max_ns = scale(rng, 20 * MS, 5 * S);
	p->blocks = 8;
	p->max_nlb = MIN(p->max_nlb, 2U);
	p->ops = MAX(p->ops, 200U);
	p->host.reconnect_min_ns = MS;
	p->host.reconnect_max_ns = 20 * MS;
	p->think_max_ns = 0;
	p->blow[BLOW_HOST_KILL] = p->blow[BLOW_HOST_RESET] = p->blow[BLOW_RESET] = true;
	p->delay_ns = one_in(rng, 3) ? 0 : scale(rng, 10 * MS, 2 * S);
	p->blows = (unsigned int)rng_between(rng, 4, 20);
	p->blow_max_ns = scale(rng, 5 * MS, S);
	p->down_max_ns = scale(rng, MS, 100 * MS);
}

/* Faults that a test has to ask for: those need digests, or a node of its own. */
static void draw_more_faults(struct plan *p, struct rng *rng)
{
	uint32_t corrupt = (uint32_t)scale(rng, 20, 2000);
	uint32_t alloc = (uint32_t)scale(rng, 1000, 200000);

	if (p->host.hdgst && p->host.ddgst && one_in(rng, 3))
		p->sim.ppm[SIM_NET_CORRUPT] = corrupt;
	if (one_in(rng, 5)) {
		p->sim.ppm[SIM_ALLOC] = alloc;
		p->alloc_target = one_in(rng, 2);
		p->alloc_host = !p->alloc_target || one_in(rng, 3);
	}
}

/* In a third of all runs; with numbers of their own, so that the other plans stay as they are. */
static void draw_rivals(struct plan *p)
{
	struct rng rng;

	rng_init(&rng, p->seed ^ UINT64_C(0x726976616c73));
	if (!one_in(&rng, 3))
		return;
	p->rival_ops = (unsigned int)scale(&rng, 20, 300);
	p->rival_think_ns = one_in(&rng, 2) ? 0 : scale(&rng, 100000, 50 * MS);
	/* What one host does to itself is little. */
	p->hosts = one_in(&rng, 4) ? p->hosts : 2;
}

/*
 * Work must be able to finish: what is in flight at once has to go through a stream within the time
 * limit of a command, when nothing goes wrong. A stream carries a buffer per round trip.
 */
static void widen_streams(struct plan *p)
{
	uint64_t bytes = (uint64_t)p->slots * p->max_nlb * p->block;
	uint64_t trips = p->host.io_timeout_ns / (2 * (p->sim.net_max_ns + p->sim.turn_max_ns));
	uint64_t least = 4 * bytes / MAX(trips, UINT64_C(1));

	p->sim.stream_buffer = MAX(p->sim.stream_buffer, (size_t)least);
}

void plan_draw(struct plan *p, uint64_t seed)
{
	static const uint32_t blocks[] = { 8, 32, 64, 256 };
	struct rng rng;

	*p = (struct plan){ .seed = seed };
	sim_config_swarm(&p->sim, seed);
	rng_init(&rng, seed ^ UINT64_C(0x706c616e));
	p->hosts = one_in(&rng, 3) ? 2 : 1;
	p->target_loops = one_in(&rng, 3) ? 2 : 1;
	p->memory = one_in(&rng, 6);
	p->direct = one_in(&rng, 2);
	p->delay_ns = one_in(&rng, 8) ? scale(&rng, MS, S) : 0;
	p->block = one_in(&rng, 2) ? 512 : 4096;
	p->blocks = pick(&rng, blocks, ARRAY_SIZE(blocks));
	draw_limits(p, &rng);
	draw_host(p, &rng);
	draw_work(p, &rng);
	draw_blows(p, &rng);
	if (one_in(&rng, 4))
		draw_haste(p, &rng);
	/* A delay lasts: it is no fault that heals. */
	p->host.io_timeout_ns = MAX(p->host.io_timeout_ns, 4 * p->delay_ns);
	draw_rivals(p);
	widen_streams(p);
	draw_more_faults(p, &rng);
}

void plan_print(const struct plan *p, FILE *to)
{
	const struct target_limits *l = &p->limits;
	const struct host_config *h = &p->host;

	fprintf(to,
		"plan %" PRIu64 ": hosts=%u loops=%u store=%s direct=%d delay=%" PRIu64
		"ms block=%u blocks=%" PRIu64 "\n",
		p->seed, p->hosts, p->target_loops, p->memory ? "memory" : "file", p->direct,
		p->delay_ns / MS, p->block, p->blocks);
	fprintf(to,
		"  target: mdts=%u in_capsule=%u maxh2cdata=%u c2h_chunk=%u depth=%u queues=%u "
		"arena=%" PRIu64 "\n",
		l->mdts, l->in_capsule, l->maxh2cdata, l->c2h_chunk, l->queue_depth, l->io_queues,
		l->arena);
	fprintf(to,
		"  host: queues=%u depth=%u hdgst=%d ddgst=%d sqflow=%d in_capsule=%d hpda=%u "
		"retries=%u",
		h->queues, h->depth, h->hdgst, h->ddgst, h->sqflow, h->in_capsule, h->hpda,
		h->retries);
	fprintf(to,
		" kato=%" PRIu64 "ms io=%" PRIu64 "ms loss=%" PRId64 "ms reconnect=%" PRIu64
		"-%" PRIu64 "ms\n",
		h->kato_ns / MS, h->io_timeout_ns / MS,
		h->loss_timeout_ns == UINT64_MAX ? -1 : (int64_t)(h->loss_timeout_ns / MS),
		h->reconnect_min_ns / MS, h->reconnect_max_ns / MS);
	fprintf(to,
		"  work: ops=%u slots=%u max_nlb=%u mix=%u/%u/%u/%u/%u fua=%u think=%" PRIu64
		"us\n",
		p->ops, p->slots, p->max_nlb, p->weight_read, p->weight_write, p->weight_zero,
		p->weight_trim, p->weight_flush, p->fua_ppm, p->think_max_ns / 1000);
	if (p->rival_ops)
		fprintf(to, "  rivals: ops=%u think=%" PRIu64 "us\n", p->rival_ops, p->rival_think_ns / 1000);
	fprintf(to, "  blows: %u within %" PRIu64 "ms, down %" PRIu64 "ms:", p->blows,
		p->blow_max_ns / MS, p->down_max_ns / MS);
	for (int i = 0; i < BLOW_COUNT; i++)
		if (p->blow[i])
			fprintf(to, " %s", blow_names[i]);
	fprintf(to, "%s%s%s\n  ", p->final_power_cut ? " final-power-cut" : "",
		p->alloc_target ? " alloc-target" : "", p->alloc_host ? " alloc-host" : "");
	sim_config_print(&p->sim, to);
}
