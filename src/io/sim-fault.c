/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which faults there are, and how often. Swarm testing (Groce and others, 2012): a run has few
 * kinds of fault rather than all of them a little, because a fault that ends a connection every
 * few transfers hides whatever needs a connection to live longer.
 */
#include <inttypes.h>

#include "base/util.h"
#include "io/sim-impl.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/*
 * A kind exists in a run `exists` times in 100; then its chance is drawn evenly over the
 * exponents.
 */
struct fault_class {
	const char *name;
	uint32_t exists;
	uint32_t min_ppm, max_ppm;
};

static const struct fault_class classes[SIM_FAULT_COUNT] = {
	[SIM_NET_SHORT] = { "net-short", 50, 5000, 500000 },
	[SIM_NET_BYTE] = { "net-byte", 25, 1000, 100000 },
	[SIM_NET_STALL] = { "net-stall", 30, 500, 50000 },
	[SIM_NET_RESET] = { "net-reset", 35, 200, 10000 },
	[SIM_NET_HOLE] = { "net-hole", 20, 50, 3000 },
	[SIM_NET_CORRUPT] = { "net-corrupt", 0, 0, 0 },
	[SIM_NET_REFUSE] = { "net-refuse", 25, 20000, 400000 },
	[SIM_NET_SYN] = { "net-syn", 25, 20000, 400000 },
	[SIM_NET_EMFILE] = { "net-emfile", 20, 20000, 400000 },
	[SIM_NET_NOMEM] = { "net-nomem", 15, 20000, 300000 },
	[SIM_FILE_READ] = { "file-read", 25, 500, 50000 },
	[SIM_FILE_WRITE] = { "file-write", 25, 500, 50000 },
	[SIM_FILE_SYNC] = { "file-sync", 25, 5000, 300000 },
	[SIM_FILE_SPACE] = { "file-space", 15, 500, 50000 },
	[SIM_FILE_SHORT] = { "file-short", 25, 5000, 300000 },
	[SIM_FILE_SPLIT] = { "file-split", 40, 5000, 500000 },
	[SIM_FILE_SLOW] = { "file-slow", 40, 2000, 300000 },
	[SIM_FILE_BAD] = { "file-bad", 10, 200, 10000 },
	[SIM_NODE_PAUSE] = { "node-pause", 30, 30, 2000 },
	[SIM_NODE_CLOCK] = { "node-clock", 25, 30, 2000 },
	[SIM_LINK_DOWN] = { "link-down", 25, 20, 1000 },
	[SIM_ALLOC] = { "alloc", 0, 0, 0 },
};

const char *sim_fault_name(enum sim_fault f)
{
	return (unsigned int)f < SIM_FAULT_COUNT ? classes[f].name : "?";
}

/* ---- configuration --------------------------------------------------------------------------- */

void sim_config_calm(struct sim_config *c)
{
	*c = (struct sim_config){
		.net_min_ns = 5 * US,
		.net_max_ns = 50 * US,
		.disk_min_ns = 10 * US,
		.disk_max_ns = 100 * US,
		.inline_ppm = 250000,
		.stream_buffer = 256 * 1024,
		.sector = 512,
		.disk_cache = true,
		.disk_discard = true,
		.disk_direct = true,
		.connect_timeout_ns = 20 * S,
		.dead_peer_ns = 60 * S,
		.stall_max_ns = 2 * S,
		.slow_max_ns = 2 * S,
		.pause_max_ns = 2 * S,
		.clock_max_ns = 86400 * S,
		.link_down_max_ns = 5 * S,
	};
}

/* Evenly over orders of magnitude: 1 to 10 as likely as 1000 to 10000. */
static uint64_t draw_scale(struct rng *rng, uint64_t min, uint64_t max)
{
	unsigned int doublings = 0;

	while (min << doublings < max)
		doublings++;
	max = MIN(max, min << rng_below(rng, doublings + 1));
	return rng_between(rng, max / 2 > min ? max / 2 : min, max);
}

void sim_config_swarm(struct sim_config *c, uint64_t seed)
{
	struct rng rng;

	/* Not the stream that the world of the same seed draws from. */
	rng_init(&rng, seed ^ UINT64_C(0x73776172));
	sim_config_calm(c);
	c->net_min_ns = draw_scale(&rng, 1 * US, 1 * MS);
	c->net_max_ns = c->net_min_ns + draw_scale(&rng, 1 * US, 20 * MS);
	c->disk_min_ns = draw_scale(&rng, 1 * US, 1 * MS);
	c->disk_max_ns = c->disk_min_ns + draw_scale(&rng, 1 * US, 50 * MS);
	c->turn_late_ppm = rng_below(&rng, 2) ? (uint32_t)rng_below(&rng, 300000) : 0;
	c->turn_max_ns = draw_scale(&rng, 1 * US, 5 * MS);
	c->inline_ppm = (uint32_t)rng_below(&rng, 3) * 500000;
	c->scribble = true;
	c->stream_buffer = (size_t)draw_scale(&rng, 512, 512 * 1024);
	c->sector = rng_below(&rng, 2) ? 512 : 4096;
	c->disk_cache = rng_below(&rng, 4) != 0;
	c->disk_discard = rng_below(&rng, 4) != 0;
	c->disk_direct = rng_below(&rng, 2) != 0;
	c->stall_max_ns = draw_scale(&rng, 1 * MS, 20 * S);
	c->slow_max_ns = draw_scale(&rng, 1 * MS, 20 * S);
	c->pause_max_ns = draw_scale(&rng, 1 * MS, 20 * S);
	c->link_down_max_ns = draw_scale(&rng, 1 * MS, 60 * S);
	for (int i = 0; i < SIM_FAULT_COUNT; i++) {
		const struct fault_class *class = &classes[i];
		uint64_t ppm =
			class->min_ppm ? draw_scale(&rng, class->min_ppm, class->max_ppm) : 0;

		if (rng_below(&rng, 100) < class->exists)
			c->ppm[i] = (uint32_t)ppm;
	}
}

void sim_config_print(const struct sim_config *c, FILE *to)
{
	fprintf(to,
		"net=%" PRIu64 "-%" PRIu64 "us disk=%" PRIu64 "-%" PRIu64 "us buffer=%zu sector=%u",
		c->net_min_ns / US, c->net_max_ns / US, c->disk_min_ns / US, c->disk_max_ns / US,
		c->stream_buffer, c->sector);
	fprintf(to, " cache=%d discard=%d direct=%d", c->disk_cache, c->disk_discard,
		c->disk_direct);
	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		if (c->ppm[i])
			fprintf(to, " %s=%u", classes[i].name, c->ppm[i]);
	fputc('\n', to);
}

/* ---- faults at any time ---------------------------------------------------------------------- */

static struct sim_node *some_node(struct sim *sim)
{
	return sim->nodes[rng_below(&sim->rng, sim->node_count)];
}

void sim_weather(struct sim *sim)
{
	const struct sim_config *c = &sim->config;
	struct sim_node *a, *b;

	if (sim_fault(sim, SIM_NODE_PAUSE, NULL))
		sim_node_pause(some_node(sim), rng_below(&sim->rng, c->pause_max_ns + 1));
	if (sim_fault(sim, SIM_NODE_CLOCK, NULL)) {
		int64_t ns = (int64_t)rng_below(&sim->rng, c->clock_max_ns + 1);

		sim_node_clock(some_node(sim), sim_coin(sim) ? ns : -ns);
	}
	if (sim_fault(sim, SIM_LINK_DOWN, NULL)) {
		a = some_node(sim);
		b = some_node(sim);
		sim_link_down(a, b, rng_below(&sim->rng, c->link_down_max_ns + 1));
	}
}

void sim_heal(struct sim *sim)
{
	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		sim->config.ppm[i] = 0;
	sim->weather = false;
	sim->cut_count = 0;
	for (unsigned int i = 0; i < sim->node_count; i++) {
		sim->nodes[i]->paused_until = 0;
		sim_disk_heal(sim->nodes[i]);
	}
	sim_did(sim, SIM_DID_HEAL, NULL, 0, 0, 0);
}
